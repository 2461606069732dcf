"""Invoices, letters and forms drawn by reportlab, made into pixels by pdfium."""

from collections.abc import Callable
from io import BytesIO
from pathlib import Path

import pypdfium2
from PIL import Image
from reportlab.lib.colors import HexColor
from reportlab.lib.utils import simpleSplit
from reportlab.pdfbase import pdfmetrics
from reportlab.pdfbase.ttfonts import TTFont
from reportlab.pdfgen.canvas import Canvas

from tests.foreign.record import STEP, Drawn, Paper, UnfitError

SIZES = ((392, 504), (364, 504), (420, 448), (448, 420), (336, 560))
FONTS = Path("/usr/share/fonts/truetype")
#: face to its bold cut; the first two are the PDF's own, not in the file
FACES = {
    "Helvetica": "Helvetica-Bold",
    "Times-Roman": "Times-Bold",
    "Vera": "VeraBd",
    "Lato": "Lato-Bold",
    "NotoSans": "NotoSans-Bold",
    "NotoSerif": "NotoSerif-Bold",
    "JetBrainsMono": "JetBrainsMono-Bold",
    "Quicksand": "Quicksand-Bold",
}
FILES = {
    "Vera": "Vera.ttf",  # comes with reportlab
    "VeraBd": "VeraBd.ttf",
    "Lato": FONTS / "lato/Lato-Regular.ttf",
    "Lato-Bold": FONTS / "lato/Lato-Bold.ttf",
    "NotoSans": FONTS / "noto/NotoSans-Regular.ttf",
    "NotoSans-Bold": FONTS / "noto/NotoSans-Bold.ttf",
    "NotoSerif": FONTS / "noto/NotoSerif-Regular.ttf",
    "NotoSerif-Bold": FONTS / "noto/NotoSerif-Bold.ttf",
    "JetBrainsMono": FONTS / "jetbrains-mono/JetBrainsMono-Regular.ttf",
    "JetBrainsMono-Bold": FONTS / "jetbrains-mono/JetBrainsMono-Bold.ttf",
    "Quicksand": FONTS / "quicksand/Quicksand-Medium.ttf",
    "Quicksand-Bold": FONTS / "quicksand/Quicksand-Bold.ttf",
}
ACCENTS = ("#003f5c", "#7a1f3d", "#2f6b3a", "#444444", "#a05a00", "#4b2a85")
Align = str  # "left", "right" or "center"


class Sheet(Paper):
    """One PDF page, filled from the top; a point is a pixel, y grows downwards."""

    def __init__(self, seed: str) -> None:
        super().__init__(seed)
        r = self.rng
        self.face = r.choice(list(FACES))
        for face in (self.face, FACES[self.face]):
            if face in FILES:
                pdfmetrics.registerFont(TTFont(face, FILES[face]))
        self.size = r.randint(12, 15)
        self.width, self.height = r.choice(SIZES)
        self.left = r.randint(14, 28)
        self.right = self.width - self.left
        self.y = float(r.randint(14, 26))
        self.pitch = self.size * r.uniform(1.25, 1.55)
        self.accent = HexColor(r.choice(ACCENTS))
        self.lines: list[str] = []
        self.file = BytesIO()
        self.canvas = Canvas(self.file, (self.width, self.height), pageCompression=1)

    def row(self, *parts: tuple[float, str, Align], bold: bool = False, scale: float = 1.0) -> None:
        """One visual line: texts at x in px; UnfitError when they do not fit."""
        size = min(22, round(self.size * scale))
        font = FACES[self.face] if bold else self.face
        self.y += self.pitch * scale
        self.canvas.setFont(font, size)
        edge = 3.0
        for x, text, align in parts:
            wide = pdfmetrics.stringWidth(text, font, size)
            start = {"left": x, "right": x - wide, "center": x - wide / 2}[align]
            if start < edge or start + wide > self.width - 3:
                raise UnfitError("line")
            edge = start + wide + 0.4 * size
            self.canvas.drawString(start, self.height - self.y, text)
        if self.y > self.height - 8:
            raise UnfitError("page")
        self.lines.append(" ".join(text for _, text, _ in parts))

    def split(self, label: str, text: str, bold: bool = False, scale: float = 1.0) -> None:
        """A label at the left and a text at the right."""
        self.row((self.left, label, "left"), (self.right, text, "right"), bold=bold, scale=scale)

    def flow(
        self, text: str, align: Align = "left", bold: bool = False, scale: float = 1.0
    ) -> None:
        """A text broken into lines as wide as the page."""
        size = min(22, round(self.size * scale))
        font = FACES[self.face] if bold else self.face
        x = {"left": self.left, "right": self.right, "center": self.width / 2}[align]
        for part in simpleSplit(text, font, size, self.right - self.left):
            self.row((x, part, align), bold=bold, scale=scale)

    def gap(self, lines: float = 0.5) -> None:
        self.y += lines * self.pitch

    def rule(self, width: float = 0.7) -> None:
        """A line across, under the last text."""
        self.canvas.setLineWidth(width)
        self.canvas.setStrokeColor(self.accent)
        y = self.height - self.y - 0.4 * self.size
        self.canvas.line(self.left, y, self.right, y)
        self.gap(0.35)

    def bar(self, high: float) -> None:
        """A filled band across the page, from the top to `high` px; text on it is white."""
        self.canvas.setFillColor(self.accent)
        self.canvas.rect(0, self.height - high, self.width, high, stroke=0, fill=1)
        self.canvas.setFillColor(HexColor("#ffffff"))

    def ink(self, colour: str = "#000000") -> None:
        self.canvas.setFillColor(HexColor(colour))

    def image(self) -> Image.Image:
        """The page in pixels, cut soon after its text."""
        self.canvas.showPage()
        self.canvas.save()
        page = pypdfium2.PdfDocument(self.file.getvalue())[0]
        finer = self.rng.choice((1, 1, 2))  # some are drawn larger and then made smaller
        image = page.render(scale=finer).to_pil().convert("RGB")
        image = image.resize((self.width, self.height), Image.Resampling.LANCZOS)
        low = min(self.height, -int(-(self.y + self.size) // STEP) * STEP)
        return image.crop((0, 0, self.width, low))


def _goods(s: Sheet, n: int) -> list[tuple[str, str]]:
    """Items and prices, and questions about them."""
    items = list({s.v.item().text: None for _ in range(n)})
    prices = [s.v.amount().text for _ in items]
    i = s.rng.randrange(len(items))
    s.ask("price", prices[i], nouns=f"the price of {items[i]}|the price for {items[i]}")
    s.ask("items", *items)
    return list(zip(items, prices, strict=True))


def plain_invoice(s: Sheet) -> None:
    seller, street, city = s.v.company().text, s.v.street().text, s.v.city().text
    number, date, total = s.v.code().text, s.v.date().text, s.v.amount(900).text
    s.canvas.setFillColor(s.accent)
    s.flow(seller, bold=True, scale=1.4)
    s.ink()
    s.flow(street)
    s.flow(city)
    s.gap()
    s.split("Invoice", number)
    s.split("Date", date)
    s.rule()
    for item, price in _goods(s, s.rng.randint(2, 5)):
        s.split(item, price)
    s.rule()
    s.split("Total", total, bold=True, scale=1.2)
    s.ask("seller", seller)
    s.ask("address", street, city)
    s.ask("invoice", number)
    s.ask("date", date)
    s.ask("total", total)


def band_invoice(s: Sheet) -> None:
    """The seller on a filled band, columns with a quantity, tax, and the account at the foot."""
    s.y = 0.0
    seller, customer = s.v.company().text, s.v.person().text
    due, account = s.v.date().text, s.v.account().text
    tax, total = s.v.amount(90).text, s.v.amount(900).text
    s.bar(1.9 * s.pitch * 1.3)
    s.flow(seller, bold=True, scale=1.3)
    s.ink()
    s.y = 1.9 * s.pitch * 1.3
    s.split("Customer", customer)
    s.split("Due date", due)
    s.gap()
    middle = s.left + 0.68 * (s.right - s.left)
    s.row(
        (s.left, "Item", "left"), (middle, "Qty", "right"), (s.right, "Price", "right"), bold=True
    )
    s.rule(1.2)
    for item, price in _goods(s, s.rng.randint(2, 4)):
        count = str(s.rng.randint(1, 40))
        s.row((s.left, item, "left"), (middle, count, "right"), (s.right, price, "right"))
    s.rule()
    s.split("Tax", tax)
    s.split("Total", total, bold=True)
    s.gap()
    s.flow(account)
    s.ask("seller", seller)
    s.ask("customer", customer)
    s.ask("due_date", due)
    s.ask("tax", tax)
    s.ask("total", total)
    s.ask("account", account)


def letter(s: Sheet) -> None:
    sender, person, city = s.v.company().text, s.v.person().text, s.v.city().text
    date, subject, body = s.v.date().text, s.v.words(2, 4).text, s.v.sentence(12, 18).text
    name = s.v.person().text
    s.flow(sender, "right", bold=True)
    s.flow(date, "right")
    s.gap()
    s.flow(person)
    s.flow(city)
    s.gap()
    s.flow(subject, bold=True)
    s.gap()
    s.flow(f"{body[0].upper()}{body[1:]}.")
    s.gap()
    s.flow(s.rng.choice(("Yours sincerely,", "Kind regards,", "Best wishes,")))
    s.flow(name)
    s.ask("sender", sender)
    s.ask("date", date)
    s.ask("recipient", person)
    s.ask("subject", subject)
    s.ask("signature", name)


def reminder(s: Sheet) -> None:
    """A centred heading, a letter with an amount due, and a phone number at the foot."""
    sender, phone, number = s.v.company().text, s.v.phone().text, s.v.code().text
    due, day, body = s.v.amount(900).text, s.v.date().text, s.v.sentence(8, 13).text
    s.canvas.setFillColor(s.accent)
    s.flow("Payment reminder", "center", bold=True, scale=1.35)
    s.ink()
    s.rule(1.5)
    s.flow(sender, "center")
    s.gap()
    s.flow(f"{body[0].upper()}{body[1:]}.")
    s.gap()
    s.split("Invoice", number)
    s.split("Amount due", due, bold=True)
    s.split("Due date", day)
    s.gap()
    s.flow(f"Tel {phone}", "center")
    s.ask("sender", sender)
    s.ask("invoice", number)
    s.ask("due", due)
    s.ask("due_date", day)
    s.ask("phone", phone)


ENTRIES = (
    ("Name", "name", "person"),
    ("Date of birth", "birth", "date"),
    ("Street", "street", "street"),
    ("Phone", "phone", "phone"),
    ("Email", "email", "email"),
    ("Reference", "reference", "code"),
    ("Employer", "employer", "company"),
    ("Website", "website", "website"),
)


def _entries(s: Sheet, n: int) -> list[tuple[str, str]]:
    found = []
    for label, type_, make in s.rng.sample(ENTRIES, n):
        text: str = getattr(s.v, make)().text
        s.ask(type_, text)
        found.append((label, text))
    return found


def grid_form(s: Sheet) -> None:
    """A ruled grid: labels in a tinted column, entries beside them."""
    title = s.v.headline(2, 3).text
    s.ask("title", title)
    s.flow(title, bold=True, scale=1.25)
    s.gap(0.3)
    middle = s.left + 0.36 * (s.right - s.left)
    high = s.pitch * 1.35
    for label, text in _entries(s, s.rng.randint(4, 7)):
        y = s.height - s.y - high
        s.canvas.setFillColor(HexColor("#dde3ea"))
        s.canvas.rect(s.left, y, middle - s.left, high, stroke=0, fill=1)
        s.canvas.setStrokeColor(s.accent)
        s.canvas.rect(s.left, y, s.right - s.left, high)
        s.ink()
        s.row((s.left + 5, label, "left"), (middle + 6, text, "left"))
        s.gap(0.35)


def lined_form(s: Sheet) -> None:
    """Entries on lines, and options with boxes, one of them crossed."""
    s.flow(s.rng.choice(("Application", "Registration", "Order form")), "center", True, 1.4)
    for label, text in _entries(s, s.rng.randint(3, 5)):
        s.split(f"{label}:", text)
        s.rule(0.4)
    options = list({s.v.item().text: None for _ in range(3)})
    ticked = s.rng.randrange(len(options))
    s.gap()
    for i, option in enumerate(options):
        s.row((s.left + 22, option, "left"))
        y, side = s.height - s.y - 1, s.size * 0.8
        s.canvas.setStrokeColor(HexColor("#000000"))
        s.canvas.rect(s.left + 2, y, side, side)
        if i == ticked:
            s.canvas.setLineWidth(1.5)
            s.canvas.line(s.left + 2, y, s.left + 2 + side, y + side)
            s.canvas.line(s.left + 2, y + side, s.left + 2 + side, y)
    s.ask("ticked", options[ticked])
    s.ask("options", *options)


LAYOUTS: dict[str, tuple[str, Callable[[Sheet], None]]] = {
    "plain_invoice": ("invoice", plain_invoice),
    "letter": ("letter", letter),
    "grid_form": ("form", grid_form),
    "band_invoice": ("invoice", band_invoice),
    "reminder": ("letter", reminder),
    "lined_form": ("form", lined_form),
}


def draw(layout: str, seed: str) -> tuple[Drawn, Paper]:
    """A page; raises UnfitError when its text does not fit."""
    sheet = Sheet(seed)
    kind, make = LAYOUTS[layout]
    make(sheet)
    return Drawn(kind, layout, sheet.face, sheet.size, sheet.image(), sheet.lines), sheet
