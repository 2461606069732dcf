"""Invoices: seller, customer, number and dates, a table of what is charged, sums, account."""

from collections.abc import Callable

from glance.documents.canvas import Colour
from glance.documents.kinds.grid import (
    PADDING,
    Anchor,
    Column,
    Paint,
    boxed,
    draw_grid,
    fits,
    needs,
    plain,
    ruled,
    striped,
)
from glance.documents.kinds.parts import (
    Make,
    dashes,
    distinct,
    fitting,
    heading,
    lines_left,
    pair,
)
from glance.documents.sheet import Align, Ask, Cell, Sheet, TooFullError
from glance.documents.values import Value, number_in

TASK = "docvqa"
SIZES = ((336, 504), (364, 532), (392, 448), (392, 504), (448, 448), (504, 392))
HELD_OUT = {"validation": "grid", "test": "slip"}
Labelled = tuple[str, Make, str, str]  # label, maker of its value, key, type of question
TITLES = ("Invoice", "INVOICE", "Bill", "Tax invoice")


def _seller(s: Sheet, align: Align = "left", ink: Colour | None = None, top: float = 1.5) -> None:
    heading(s, s.cell(fitting(s, s.v.company, s.right - s.left), "seller"), align, top, ink=ink)
    s.ask("seller", "seller")


def _customer(s: Sheet, label: str = "Bill to|Customer|To|Sold to") -> None:
    """The customer under a label, with an address where there is room for one."""
    wide = s.right - s.left
    s.flow(s.rng.choice(label.split("|")), ink=s.shade(0.7))
    make = s.rng.choice((s.v.person, s.v.company))
    s.flow(s.cell(fitting(s, make, wide), "customer"))
    s.ask("customer", "customer")
    if lines_left(s) > 9:
        s.flow(s.cell(fitting(s, s.v.street, wide), "street"))
        s.flow(s.cell(fitting(s, s.v.city, wide), "city"))
        s.ask("address", "street", "city", nouns="the address of the customer")
        names = "the customer with the address|the customer and the full address"
        s.ask("fact", "customer", "street", "city", nouns=names)


def _labelled(s: Sheet) -> tuple[Labelled, ...]:
    """Number and dates for layouts that set the label apart from the value."""
    return (
        ("Number", s.v.code, "number", "invoice"),
        ("Date", s.v.date, "date", "date"),
        ("Due", s.v.date, "due", "due_date"),
    )


def _facts(s: Sheet, align: Align = "split", due: bool = True) -> None:
    """Number, date and, if wanted, due date, a line each."""
    pair(s, "No.|Number|Invoice no.", s.v.code, "number", align)
    pair(s, "Date|Issued|Dated", s.v.date, "date", align)
    s.ask("invoice", "number")
    s.ask("date", "date")
    if due:
        pair(s, "Due|Pay by|Due date", s.v.date, "due", align)
        s.ask("due_date", "due")


def _charges(s: Sheet, paint: Paint, tail: float, tall: float = 1.0) -> None:
    """The table of items; quantity and unit price only where they fit.

    It leaves the last `tail` lines free and asks for items, amounts, rows and the highest amount.
    """
    count = max(2, min(2 + round(5 * s.room), int((lines_left(s) - tail - tall) / tall)))
    keys = range(count)
    last = _column(s, "Amount|Total|Sum", distinct(s, s.v.amount, count, s.width), "amount")
    space = s.right - s.left - needs(s, last) - 2 * PADDING * s.size
    items = distinct(s, s.v.item, count, space)
    table = [_column(s, "Item|Article|Description", items, "item", "left"), last]
    for heads, key, make in (
        ("Qty|No.|Pcs", "count", lambda: Value(str(s.rng.randint(1, 60)))),
        ("Price|Each|Unit", "price", lambda: s.v.amount(40)),
    ):
        more = _column(s, heads, [make() for _ in keys], key)
        if not fits(s, [*table, more]) or s.rng.random() < 0.3:
            break
        table.insert(-1, more)
        nouns = {"count": "the quantity of {0}|the number of {0}", "price": "the unit price of {0}"}
        kind = "quantity" if key == "count" else "price"
        n = s.rng.randrange(count)
        s.ask(kind, f"{key}{n}", nouns=nouns[key].format(items[n].text))
    draw_grid(s, table, paint, tall)
    for column in table:
        s.values.extend(c.text for c in column.cells)
    n = s.rng.randrange(count)
    s.ask("price", f"amount{n}", nouns=f"the amount for {items[n].text}")
    s.ask("items", *[f"item{k}" for k in keys])
    s.ask("prices", *[(f"item{k}", f"amount{k}") for k in keys])
    for n in s.rng.sample(keys, 2 if len(table) > 3 else 0):
        names = f"the row of {items[n].text}|the whole line for {items[n].text}"
        s.ask("row", *[c.cells[n].key for c in table], nouns=names)
    if s.rng.random() < 0.4:
        return
    n = max(keys, key=lambda k: number_in(last.cells[k].text))
    amount = Ask(s.task, "price", ("its amount", "the amount for it"), ((f"amount{n}",),))
    names = "the item with the highest amount|the largest item"
    s.ask("label_of", f"item{n}", nouns=names, then=amount)


def _column(
    s: Sheet, heads: str, values: list[Value], key: str, anchor: Anchor = "right"
) -> Column:
    cells = tuple(Cell(v.text, v.composed, f"{key}{n}") for n, v in enumerate(values))
    return Column(Cell(s.rng.choice(heads.split("|"))), cells, anchor)


def _sums(s: Sheet, parts: bool) -> None:
    """The total at the right, under subtotal and tax if wanted."""
    wide = s.right - s.left
    left = max(s.left, min(s.left + 0.45 * wide, s.right - 20 * s.measure("0")))
    with s.column(left, s.right):
        if parts:
            pair(s, "Subtotal|Net", s.v.amount, "subtotal")
            pair(s, "Tax|VAT|Tax 19%|VAT 20%", lambda: s.v.amount(80), "tax")
            s.ask("subtotal", "subtotal")
            s.ask("tax", "tax")
            s.rule(s.y)
            s.y += 0.2 * s.size
        label = s.rng.choice(("Total", "TOTAL", "Sum"))
        room = s.right - s.left - s.measure(label + "   ", bold=True)
        s.flow(label, s.cell(fitting(s, s.v.amount, room), "total"), align="split", bold=True)
        s.ask("total", "total")
        names = "the seller, number, date and total|the seller with number, date and sum"
        s.ask("fact", "seller", "number", "date", "total", nouns=names)


def _account(s: Sheet) -> None:
    """The seller's bank account at the cursor, its label above it where the line is short."""
    label = s.rng.choice(("Account", "IBAN", "Bank", "Pay to"))
    account = fitting(s, s.v.account, s.right - s.left)
    if s.measure(f"{label}  {account.text}") < s.right - s.left:
        s.flow(label, s.cell(account, "account"))
    else:
        s.flow(s.cell(account, "account"))
    s.ask("account", "account")
    names = "the seller, the account and the sum to pay|the account with its holder and the total"
    s.ask("fact", "seller", "account", "total", nouns=names)


def _end(s: Sheet, gap: float = 0.4, before_account: float = 0.0) -> None:
    """Sums and, where there is room, the account; spaces in font sizes."""
    s.y += gap * s.size
    _sums(s, lines_left(s) > 4 and s.rng.random() < 0.5)
    if lines_left(s) > 1:
        s.y += before_account * s.size
        _account(s)


def classic(s: Sheet) -> None:
    """Seller at the left, title and numbers at the right, a ruled table."""
    half = (s.left + s.right) / 2
    if s.measure("0" * 36) < s.right - s.left:
        top = s.y
        with s.column(s.left, half - s.size, top):
            _seller(s)
            _customer(s)
        end = s.y
        with s.column(half + s.size, s.right, top):
            heading(s, s.rng.choice(TITLES), "right")
            _facts(s, due=s.rng.random() < 0.5)
        s.y = max(s.y, end)
    else:
        heading(s, s.rng.choice(TITLES))
        _seller(s, top=1.0)
        _facts(s, due=False)
        _customer(s)
    s.y += 0.5 * s.size
    _charges(s, ruled, tail=3)
    _end(s, before_account=0.3)


def banner(s: Sheet) -> None:
    """A dark band with title and seller, a striped table."""
    s.draw.rectangle((0, 0, s.width, s.y + s.pitch(1.5) + s.pitch() * 1.2), fill=s.ink)
    heading(s, s.rng.choice(TITLES), largest=1.5, ink=s.paper)
    _seller(s, ink=s.paper, top=1.0)
    s.y += 0.6 * s.size
    _facts(s, "left", due=s.rng.random() < 0.4)
    _customer(s)
    s.y += 0.4 * s.size
    _charges(s, striped, tail=2.5, tall=1.1)
    _end(s)


def sidebar(s: Sheet) -> None:
    """A shaded column at the left for the facts; at large sizes a shaded block at the top."""
    wide = 17 * s.measure("0")
    if wide < 0.4 * s.width:
        s.draw.rectangle((0, 0, s.left + wide, s.height), fill=s.shade(0.12))
        with s.column(s.left, s.left + wide - s.size * 0.5, s.margin):
            heading(s, s.rng.choice(TITLES))
            for label, make, key, kind in _labelled(s):
                s.flow(label, gap=0.5, ink=s.shade(0.75))
                s.flow(s.cell(fitting(s, make, s.right - s.left), key))
                s.ask(kind, key)
        s.left, s.y = s.left + wide + s.size, s.margin
    else:
        s.draw.rectangle((0, 0, s.width, s.y + s.pitch() * 3.1), fill=s.shade(0.12))
        heading(s, s.rng.choice(TITLES), largest=1.0)
        _facts(s, due=False)
        s.y += 0.4 * s.size
    _seller(s, top=1.3)
    _customer(s)
    s.y += 0.4 * s.size
    _charges(s, plain, tail=2)
    _end(s, gap=0.3)


def grid(s: Sheet) -> None:
    """Everything in boxes: the facts in a table of one row, the charges in another."""
    heading(s, s.rng.choice(TITLES), "center")
    _seller(s, "center", top=1.0)
    s.y += 0.4 * s.size
    facts: list[Column] = []
    customer: Labelled = ("Customer", s.v.person, "customer", "customer")
    for label, make, key, kind in (*_labelled(s), customer):
        value = fitting(s, make, s.right - s.left)
        more = Column(Cell(label), (Cell(value.text, value.composed, key),))
        if fits(s, [*facts, more]):
            facts.append(more)
            s.values.append(value.text)
            s.ask(kind, key)
    if "date" not in [c.cells[0].key for c in facts]:
        raise TooFullError("facts")
    draw_grid(s, facts, boxed)
    names = "the invoice number and all that stands beside it|all facts in the top boxes"
    s.ask("fact", *[c.cells[0].key for c in facts], nouns=names)
    s.y += 0.6 * s.size
    _charges(s, boxed, tail=2, tall=1.2)
    _end(s)


def plainly(s: Sheet) -> None:
    """No table lines: a centred head, label and value a line, items with amounts, sums below."""
    _seller(s, "center", top=1.8)
    s.flow(s.rng.choice(TITLES), align="center", ink=s.shade(0.8))
    s.rule(s.y)
    s.y += 0.4 * s.size
    _facts(s, due=s.rng.random() < 0.4)
    pair(s, "For|To|Customer", s.v.person, "customer")
    s.ask("customer", "customer")
    s.rule(s.y)
    s.y += 0.4 * s.size
    _charges(s, plain, tail=2.5)
    s.rule(s.y)
    _end(s)


def slip(s: Sheet) -> None:
    """A short invoice over a slip to pay with: payee, account, reference and sum in a frame."""
    heading(s, s.rng.choice(TITLES))
    _facts(s, "left", due=s.rng.random() < 0.3)
    pair(s, "For|To|Customer", s.v.person, "customer", "left")
    s.ask("customer", "customer")
    s.y += 0.3 * s.size
    _charges(s, ruled, tail=5)
    dashes(s, s.y + 0.4 * s.size)
    s.y += 0.8 * s.size
    s.frame((s.left - 3, s.y, s.right + 3, s.y + s.pitch() * 4 + 6), fill=s.shade(0.08))
    s.y += 4
    _seller(s, top=1.0)
    s.flow(s.cell(fitting(s, s.v.account, s.right - s.left), "account"))
    pair(s, "Ref|Reference", s.v.code, "reference")
    pair(s, "Total|Sum|Amount due", s.v.amount, "total")
    s.ask("account", "account")
    s.ask("reference", "reference")
    s.ask("total", "total")
    names = "the payee, the account and the sum|the account with its holder and the sum"
    s.ask("fact", "seller", "account", "total", nouns=names)


LAYOUTS: dict[str, Callable[[Sheet], None]] = {
    "classic": classic,
    "banner": banner,
    "sidebar": sidebar,
    "grid": grid,
    "plainly": plainly,
    "slip": slip,
}
