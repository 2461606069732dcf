"""Letters, memos, e-mails, notices and postcards: blocks of lines around prose."""

from collections.abc import Callable

from glance.documents.kinds.parts import fitting, heading, lines_left, row
from glance.documents.kinds.prose import prose
from glance.documents.sheet import Align, Ask, At, Cell, Sheet
from glance.documents.values import Value

TASK = "docvqa"
SIZES = ((364, 336), (392, 364), (336, 392), (364, 280), (448, 392), (336, 504))

_CLOSINGS = "Yours sincerely,|Kind regards,|Best wishes,|Yours faithfully,|With thanks,".split("|")


def _put(s: Sheet, make: Callable[[], Value], key: str, align: Align = "left") -> Value:
    """A value on a line of its own."""
    value = fitting(s, make, s.right - s.left)
    s.flow(s.cell(value, key), align=align)
    return value


def _sender(s: Sheet, align: Align, lines: int) -> None:
    """The company that writes and, with `lines` to spare, how to reach it."""
    _put(s, s.v.company, "sender", align)
    reach = {"phone": s.v.phone, "email": s.v.email, "website": s.v.website}
    keys = s.rng.sample(sorted(reach), max(0, min(lines, round(2 * s.room))))
    for key in keys:
        _put(s, reach[key], key, align)
        s.ask(key, key)
    s.ask("sender", "sender")
    if keys:
        s.ask("details", "sender", *keys, nouns="the sender with all its contact details")


def _recipient(s: Sheet, address: bool) -> Value:
    who = _put(s, s.v.person, "recipient")
    after = None
    if address:
        _put(s, s.v.street, "street")
        _put(s, s.v.city, "city")
        where = ("street", "city")
        s.ask("address", where, nouns="the address|the full address|the recipient's address")
        s.ask("details", ("recipient", *where), nouns="the recipient with the full address")
        after = Ask(s.task, "address", ("their address", "the address of that person"), (where,))
    s.ask("recipient", "recipient", then=after)
    return who


def _greeting(s: Sheet, who: Value) -> None:
    """A greeting by the recipient's name, which is already on the page."""
    words = who.text.split()
    s.flow(s.rng.choice((f"Dear {words[0]},", f"Hello {words[0]},", "Dear Sir or Madam,")), gap=0.3)


def _signed(s: Sheet, closing: bool = True) -> None:
    if closing:
        s.flow(s.rng.choice(_CLOSINGS), gap=0.3)
    _put(s, s.v.person, "signature")
    s.ask("signature", "signature")


def _business(s: Sheet) -> None:
    """Sender at one side, recipient under it, reference, greeting, prose, signature."""
    spare = lines_left(s) - 8
    side: Align = s.rng.choice(("right", "right", "left"))
    _sender(s, side, spare - 1)
    if spare > 0:
        _put(s, s.v.date, "date", side)
        s.ask("date", "date")
    who = _recipient(s, spare > 2)
    if spare > 4 and s.rng.random() < 0.7:
        label = s.rng.choice(("Ref:", "Our ref.", "Reference:"))
        s.flow(label, s.cell(s.v.code(4, 8), "reference"), gap=0.3)
        s.ask("reference", "reference")
    if spare > -1:
        _greeting(s, who)
    prose(s, keep=2 if spare > 1 else 1, skip="email phone website")
    _signed(s, closing=spare > 1)


def _letterhead(s: Sheet) -> None:
    """A company's name and particulars across the top, over a rule or on a band."""
    name = fitting(s, s.v.company, s.right - s.left, 1.1)
    band = s.rng.random() < 0.4
    top, ink = s.y, None
    if band:
        s.draw.rectangle((0, 0, s.width, top + s.pitch(1.6) + 3), fill=s.shade(0.85))
        ink = s.paper
    heading(s, s.cell(name, "sender"), s.rng.choice(("left", "center")), ink=ink)
    s.y = max(s.y, top + s.pitch(1.6) + 4) if band else s.y
    s.ask("sender", "sender")
    if lines_left(s) > 6:
        reach = fitting(s, s.rng.choice((s.v.phone, s.v.website)), (s.right - s.left) * 0.6)
        key = "website" if "." in reach.text else "phone"
        s.flow(s.cell(reach, key), align=s.rng.choice(("right", "center")))
        s.ask(key, key)
        s.ask("details", "sender", key, nouns="the sender and how to reach it")
    if not band:
        s.rule(s.y + 1)
    s.y += 0.5 * s.size
    spare = lines_left(s) - 5
    who = _recipient(s, spare > 3)
    if spare > 0:
        _put(s, s.v.date, "date", s.rng.choice(("left", "right")))
        s.ask("date", "date")
    if spare > 1:
        _greeting(s, who)
    prose(s, keep=1 if spare < 2 else 2, skip="website phone")
    _signed(s, closing=spare > 1)


def _labelled(s: Sheet, lines: list[tuple[str, Callable[[], Value], str]], mark: str) -> None:
    """Lines such as "To: somebody", their values one under the other; each is asked for."""
    edge = s.left + max(s.measure(f"{label}{mark}") for label, _, _ in lines) + 0.6 * s.size
    for label, make, key in lines:
        value = s.cell(fitting(s, make, s.right - edge), key)
        row(s, At(s.left, Cell(label + mark, key=f"{key} label")), At(edge, value))
        s.ask(key, key)
    heads = tuple((f"{key} label", key) for _, _, key in lines)
    s.ask("details", *heads, nouns="all lines at the top with their labels|the lines at the top")


def _memo(s: Sheet) -> None:
    """Lines for to, from, date and subject between rules, then prose."""
    heading(s, Cell(s.rng.choice(("MEMO", "Memorandum", "Internal note")), key="title"))
    s.ask("title", "title")
    lines: list[tuple[str, Callable[[], Value], str]] = [
        ("To", s.v.person, "recipient"),
        ("From", s.v.person, "sender"),
        ("Date", s.v.date, "date"),
        (s.rng.choice(("Subject", "Re")), lambda: s.v.headline(2, 3), "subject"),
    ]
    count = max(2, min(4, lines_left(s) - 3))
    if s.rng.random() < 0.5:
        s.rule(s.y)
        s.y += 3
    _labelled(s, [x for i, x in enumerate(lines) if i < count - 1 or i == 3], ":")
    s.rule(s.y + 2)
    s.y += 0.5 * s.size
    prose(s, most=5)


def _email(s: Sheet) -> None:
    """A printed e-mail: the subject on a bar, header lines, prose, the writer's name."""
    tall = s.pitch(1.2) + 8
    s.draw.rectangle((0, 0, s.width, tall), fill=s.shade(s.rng.choice((0.1, 0.2))))
    s.y = 4.0
    subject = fitting(s, lambda: s.v.headline(2, 4), s.right - s.left, 1.15)
    heading(s, s.cell(subject, "subject"), largest=1.15)
    s.ask("subject", "subject", nouns="the subject|the subject of the e-mail")
    s.y = tall + 4
    lines = [
        ("From", s.v.email, "sender"),
        ("To", s.v.email, "recipient"),
        ("Sent", s.v.date, "date"),
        ("Time", s.v.time, "time"),
    ]
    room = lines_left(s)
    _labelled(s, lines[: max(1, min(4, room - 4))], s.rng.choice((":", "")))
    s.ask("email", "sender", nouns="the email address of the sender|the sender's e-mail")
    s.rule(s.y + 2)
    s.y += 0.5 * s.size
    signed = room > 6
    prose(s, keep=int(signed) + 1, most=4, skip="email time")
    if signed:
        _signed(s, closing=lines_left(s) > 2)


def _notice(s: Sheet) -> None:
    """A framed notice with a centred heading."""
    s.left, s.right, s.bottom = s.left + 6, s.right - 6, s.height - 10
    s.y = 12.0
    heading(s, Cell(s.rng.choice(("NOTICE", "Please note", "To all guests")), key="title"),
            "center", 1.8)  # fmt: skip
    s.ask("title", "title")
    if lines_left(s) > 5:
        subject = fitting(s, lambda: s.v.headline(2, 3), s.right - s.left)
        s.flow(s.cell(subject, "subject"), align="center", bold=True, gap=0.2)
        s.ask("subject", "subject", nouns="the subject|the subject of the notice")
    foot = lines_left(s) > 4
    prose(s, keep=3 if foot else 0, most=4, gap=0.4)
    if foot:
        s.y += 0.4 * s.size
        _put(s, s.v.date, "date", "right")
        _put(s, s.v.company, "sender", "right")
        s.ask("date", "date")
        s.ask("sender", "sender")
    low = s.y + s.rng.uniform(2, 5)
    s.frame((3, 3, s.width - 4, low))
    s.frame((0, 0, s.width - 1, low + 3))


def _columns(s: Sheet) -> None:
    """References in a row of columns under the sender, as offices print them."""
    _sender(s, "center", lines_left(s) - 9)
    s.y += 0.4 * s.size
    middle = s.left + (s.right - s.left) * 0.5
    labels = [s.rng.choice(("Our ref.", "Ref.")), s.rng.choice(("Date", "Our date"))]
    row(s, At(s.left, Cell(labels[0])), At(middle, Cell(labels[1])), ink=s.shade(0.75))
    code = fitting(s, lambda: s.v.code(4, 8), middle - s.left - s.size)
    date = fitting(s, s.v.date, s.right - middle)
    row(s, At(s.left, s.cell(code, "reference")), At(middle, s.cell(date, "date")))
    s.rule(s.y + 1)
    s.y += 0.5 * s.size
    after = Ask(s.task, "date", ("the date beside it", "the date that goes with it"), (("date",),))
    s.ask("reference", "reference", then=after)
    s.ask("date", "date")
    spare = lines_left(s) - 5
    who = _recipient(s, spare > 3)
    if spare > 1:
        _greeting(s, who)
    prose(s, keep=2 if spare > 2 else 1, skip="phone email website")
    _signed(s, closing=spare > 2)


def _postcard(s: Sheet) -> None:
    """A card: the message on one half, stamp and address on the other."""
    upright = s.height > s.width
    if upright:
        cut = s.height * 0.6
        s.bottom = cut
    else:
        cut = s.width * 0.54
        s.right = cut - 6
    if lines_left(s) > 4:
        _put(s, s.v.date, "date")
        s.ask("date", "date")
    prose(s, keep=1, most=3, skip="phone email website due due_date card order")
    _put(s, s.v.first_name, "signature")
    s.ask("signature", "signature")
    side = 2.4 * s.size
    if upright:
        s.draw.line((s.left, cut + 4, s.right, cut + 4), fill=s.shade(0.5))
        s.bottom, s.y = s.height - 4, cut + 10
        stamp = (s.width - 10 - side, cut + 10, s.width - 10, cut + 10 + 1.2 * side)
    else:
        s.draw.line((cut, 10, cut, s.height - 10), fill=s.shade(0.5))
        s.left, s.right = cut + 8, s.width - 8.0
        stamp = (s.width - 10 - side, 10, s.width - 10, 10 + 1.2 * side)
        s.y = max(stamp[3] + 0.5 * s.size, s.height * 0.35)
    s.frame(stamp, s.shade(0.2))
    _recipient(s, address=True)


LAYOUTS: dict[str, Callable[[Sheet], None]] = {
    "business": _business,
    "letterhead": _letterhead,
    "memo": _memo,
    "email": _email,
    "notice": _notice,
    "columns": _columns,
    "postcard": _postcard,
}
HELD_OUT = {"validation": "columns", "test": "postcard"}
