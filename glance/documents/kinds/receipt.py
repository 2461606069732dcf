"""Till receipts: merchant, items with prices, total and payment; also fuel and parking slips."""

from collections.abc import Callable

from glance.documents.canvas import Colour
from glance.documents.kinds.grid import Column, draw_grid, ruled
from glance.documents.kinds.parts import dashes, distinct, fitting, heading, lines_left, pair, row
from glance.documents.sheet import Align, Ask, At, Cell, Sheet
from glance.documents.values import Value, number_in

TASK = "docvqa"
SIZES = ((308, 420), (308, 504), (336, 448), (336, 560), (392, 448), (448, 364))
HELD_OUT = {"validation": "boxed", "test": "bill"}


def _shop(s: Sheet, align: Align, address: bool, ink: Colour | None = None) -> None:
    """Merchant and, if wanted, the address."""
    wide = s.right - s.left
    heading(s, s.cell(fitting(s, s.v.company, wide), "merchant"), align, ink=ink)
    s.ask("merchant", "merchant")
    if address:
        s.flow(s.cell(fitting(s, s.v.street, wide), "street"), align=align, ink=ink)
        s.flow(s.cell(fitting(s, s.v.city, wide), "city"), align=align, ink=ink)
        s.ask("address", "street", "city")
        names = "the shop with its address|the name and address of the shop"
        s.ask("fact", "merchant", "street", "city", nouns=names)


def _when(s: Sheet, align: Align = "split", ink: Colour | None = None) -> None:
    """Date and time on one line, or on two where the column is narrow."""
    wide = s.right - s.left
    date, time = fitting(s, s.v.date, wide), fitting(s, s.v.time, wide)
    cells = s.cell(date, "date"), s.cell(time, "time")
    if s.measure(f"{date.text}   {time.text}") <= wide:
        s.flow(*cells, align=align, ink=ink)
    else:
        for cell in cells:
            s.flow(cell, align="left" if align == "split" else align, ink=ink)
    s.ask("date", "date")
    s.ask("time", "time")


def _goods(s: Sheet, tail: float, each: float = 1.0, taken: float = 0.0) -> list[tuple[Cell, Cell]]:
    """Items and prices that fill the lines above the last `tail`, `each` lines an item.

    `taken` is the width in px that other columns need.
    """
    count = max(2, min(2 + round(7 * s.room), int((lines_left(s) - tail) / each)))
    prices = distinct(s, lambda: s.v.amount(60), count, s.right - s.left)
    space = s.right - s.left - taken - max(s.measure(p.text) for p in prices) - s.size
    items = distinct(s, s.v.item, count, space)
    named = [f"the price of {i.text}|the price for {i.text}" for i in items]
    n = s.rng.randrange(count)
    s.ask("price", f"price{n}", nouns=named[n])
    s.ask("items", *[f"item{n}" for n in range(count)])
    s.ask("prices", *[(f"item{n}", f"price{n}") for n in range(count)])
    if s.rng.random() < 0.6:
        pick, word = s.rng.choice(((max, "most expensive"), (min, "cheapest")))
        n = pick(range(count), key=lambda k: number_in(prices[k].text))
        price = Ask(s.task, "price", ("its price", "the price of it"), ((f"price{n}",),))
        s.ask("label_of", f"item{n}", nouns=f"the {word} item|the {word} thing", then=price)
    pairs = enumerate(zip(items, prices, strict=True))
    return [(s.cell(i, f"item{n}"), s.cell(p, f"price{n}")) for n, (i, p) in pairs]


def _total(s: Sheet, largest: float = 1.0, ink: Colour | None = None) -> None:
    """The total, bold and up to `largest` body sizes high."""
    label = s.rng.choice(("Total", "TOTAL", "Sum", "To pay"))
    value = s.cell(fitting(s, s.v.amount, s.right - s.left - s.measure(label + "   ")), "total")
    wide = s.measure(f"{label}   {value.text}", bold=True)
    scale = max(1.0, min(largest, 38 / s.size, (s.right - s.left) / wide))
    s.flow(label, value, align="split", scale=scale, bold=True, ink=ink)
    s.ask("total", "total")


def roll(s: Sheet) -> None:
    """The classic till roll: all centred above, prices at the right, dashes between."""
    _shop(s, "center", lines_left(s) > 8 and s.room > 0.1)
    if lines_left(s) > 9 and s.rng.random() < 0.3:
        pair(s, "Tel|Phone", s.v.phone, "phone", "center")
        s.ask("phone", "phone")
    _when(s)
    dashes(s, s.y + 3)
    s.y += 7
    for item, price in _goods(s, tail=2.5):
        s.flow(item, price, align="split")
    dashes(s, s.y + 3)
    s.y += 7
    _total(s, 1.5)
    if lines_left(s) > 1 and s.rng.random() < 0.7:
        pair(s, "Card|CARD", lambda: s.v.code(8, 10), "card")
        s.ask("card", "card")
    elif lines_left(s) > 2:
        pair(s, "Cash|Paid|Given", s.v.amount, "paid")
        pair(s, "Change|Back", lambda: s.v.amount(40), "change")
        s.ask("paid", "paid")
        s.ask("change", "change")
    if lines_left(s) > 1:
        s.flow(s.rng.choice(("Thank you", "Goodbye", "Please come again")), align="center", gap=0.3)


def columns(s: Sheet) -> None:
    """Left-aligned, with a table of quantity, item and price."""
    _shop(s, "left", lines_left(s) > 9)
    pair(s, "No.|Receipt|Bill", s.v.code, "number", "left")
    s.ask("number", "number")
    counts = [str(s.rng.randint(1, 12)) for _ in range(10)]
    goods = _goods(s, tail=3.5, taken=s.measure("Qty") + 2.4 * s.size)
    quantities = [Cell(c, True, f"count{n}") for n, c in enumerate(counts[: len(goods)])]
    n = s.rng.randrange(len(goods))
    item = goods[n][0].text
    s.ask("quantity", f"count{n}", nouns=f"the quantity of {item}|the number of {item} bought")
    head = s.rng.choice((("Qty", "Item", "Price"), ("No", "Article", "Sum"), ("x", "What", "Each")))
    table = [
        Column(Cell(head[0]), tuple(quantities)),
        Column(Cell(head[1]), tuple(g[0] for g in goods)),
        Column(Cell(head[2]), tuple(g[1] for g in goods), "right"),
    ]
    draw_grid(s, table, ruled)
    s.y += 0.3 * s.size
    _total(s)
    if lines_left(s) > 1 and s.rng.random() < 0.4:
        s.y += 0.3 * s.size
        _when(s)


def panel(s: Sheet) -> None:
    """The shop on a dark panel: at the left of wide pages, else across the top."""
    deep = s.height - 2
    beside = s.width > s.height and s.measure("0" * 26) < s.width
    if beside:
        edge = s.left + 0.42 * (s.right - s.left)
        s.draw.rectangle((0, 0, edge, deep), fill=s.ink)
        with s.column(s.left, edge - 0.5 * s.size, s.margin):
            _shop(s, "left", address=True, ink=s.paper)
            s.y += s.size
            _when(s, "left", ink=s.paper)
        s.left, s.y = edge + s.size, s.margin
    else:
        address = lines_left(s) > 9
        low = s.y + s.pitch(1.6) + s.pitch() * (3.5 if address else 1.5)
        s.draw.rectangle((0, 0, s.width, low), fill=s.ink)
        _shop(s, "left", address, ink=s.paper)
        s.flow(s.cell(fitting(s, s.v.date, s.right - s.left), "date"), ink=s.paper)
        s.ask("date", "date")
        s.y = low + 0.5 * s.size
    for item, price in _goods(s, tail=2):
        s.flow(item, price, align="split")
    s.rule(s.y + 2)
    s.y += 0.5 * s.size
    _total(s, 1.3)


def boxed(s: Sheet) -> None:
    """Everything in a frame, the total in a shaded box, a bar code with its number below."""
    s.frame((4, 4, s.width - 5, s.height - 5))
    s.left, s.right, s.bottom = s.left + 4, s.right - 4, s.bottom - 8
    s.y = 8
    _shop(s, "center", lines_left(s) > 9)
    s.rule(s.y, 4, s.width - 5)
    s.y += 0.4 * s.size
    for item, price in _goods(s, tail=3.5 + 30 / s.pitch()):
        s.flow(item, price, align="split")
    s.y += 0.3 * s.size
    s.frame((s.left - 4, s.y, s.right + 4, s.y + s.pitch() + 4), fill=s.shade(0.12))
    s.y += 2
    _total(s)
    s.y += 0.6 * s.size
    _bars(s, 22)
    value = fitting(s, lambda: s.v.code(7, 10), s.right - s.left)
    s.flow(s.cell(value, "number"), align="center")
    s.ask("number", "number")


def _bars(s: Sheet, high: float) -> None:
    """A bar code as wide as half the column."""
    x, stop = s.left + 0.25 * (s.right - s.left), s.left + 0.75 * (s.right - s.left)
    while x < stop:
        wide = s.rng.randint(1, 3)
        s.draw.rectangle((x, s.y, x + wide - 1, s.y + high), fill=s.ink)
        x += wide + s.rng.randint(1, 3)
    s.y += high + 2


def bill(s: Sheet) -> None:
    """A table's bill: each item over the line with how many of it and the price."""
    _shop(s, "left", lines_left(s) > 10)
    pair(s, "Table|Seat|Desk", lambda: _small(s, 60), "table")
    s.ask("fact", "table", nouns="the table|the number of the table")
    s.rule(s.y)
    s.y += 0.3 * s.size
    for n, (item, price) in enumerate(_goods(s, tail=3, each=2)):
        s.flow(item)
        count = s.cell(_small(s, 9), f"count{n}")
        row(s, At(s.left + s.size, Cell("x")), At(s.left + 2 * s.size, count),
            At(s.right, price, "right"))  # fmt: skip
        if n == 0:
            s.ask("quantity", "count0", nouns=f"the quantity of {item.text}")
    s.rule(s.y)
    s.y += 0.3 * s.size
    _total(s, 1.4)
    pair(s, "Served by|Waiter|By", s.v.first_name, "waiter", "left")
    s.ask("fact", "waiter", nouns="the waiter|the person who served")


def _small(s: Sheet, high: int) -> Value:
    return Value(str(s.rng.randint(1, high)))


def fuel(s: Sheet) -> None:
    """A pump's slip: label and value a line, the sum large in a frame."""
    _shop(s, "center", lines_left(s) > 10)
    _when(s)
    dashes(s, s.y + 3)
    s.y += 8
    pair(s, "Pump|Column", lambda: _small(s, 16), "pump")
    pair(s, "Fuel|Product|Grade", s.v.item, "grade")
    pair(s, "Litres|Volume", lambda: Value(f"{s.rng.randint(50, 699) / 10}"), "litres")
    if s.room > 0.3:
        pair(s, "Per litre|Rate", lambda: Value(f"{s.rng.randint(90, 260) / 100:.2f}"), "rate")
        s.ask("fact", "rate", nouns="the price of a litre|the rate")
    s.ask("fact", "grade", "litres", "total", "card",
          nouns="the fuel, its volume, the sum and the card|the fuel with litres, sum and card",
          )  # fmt: skip
    litres = Ask(s.task, "fact", ("its volume", "the litres of it"), (("litres",),))
    s.ask("fact", "grade", nouns="the fuel|the product", then=litres)
    names = "the shop with date, time and sum|the shop, the date, the time and the sum"
    s.ask("fact", "merchant", "date", "time", "total", nouns=names)
    s.ask("fact", "pump", nouns="the pump|the number of the pump")
    s.y += 0.4 * s.size
    s.frame((s.left - 4, s.y, s.right + 4, s.y + s.pitch(1.5) + 6))
    s.y += 3
    _total(s, 1.5)
    s.y += 0.6 * s.size
    pair(s, "Card|CARD", lambda: s.v.code(8, 10), "card")
    s.ask("card", "card")


def parking(s: Sheet) -> None:
    """A parking ticket: a dark title bar and the time it runs out, very large."""
    title = s.rng.choice(("Parking", "PARKING TICKET", "Park and pay", "Pay and display"))
    s.draw.rectangle((0, 0, s.width, s.y + s.pitch(1.6)), fill=s.ink)
    heading(s, title, "center", ink=s.paper)
    s.y += 0.6 * s.size
    wide = s.right - s.left
    s.flow(s.cell(fitting(s, s.v.street, wide), "street"), align="center")
    s.flow(s.cell(fitting(s, s.v.city, wide), "city"), align="center")
    s.ask("address", "street", "city")
    s.flow(s.rng.choice(("Valid until", "Expires", "Leave by")), align="center", gap=0.6)
    heading(s, s.cell(fitting(s, s.v.time, wide), "until"), "center", largest=2.0)
    s.flow(s.cell(fitting(s, s.v.date, wide), "valid"), align="center")
    names = "the time it runs out|the time the ticket ends"
    s.ask("time", "until", nouns=names)
    s.ask("valid", "valid")
    s.ask("fact", "valid", "until", "street", "city",
          nouns="the end of the parking time and the place|the date, time and place of the ticket",
          )  # fmt: skip
    dashes(s, s.y + 3)
    s.y += 8
    pair(s, "Plate|Car|Vehicle", lambda: s.v.code(5, 7), "plate")
    pair(s, "Bay|Zone|Space", lambda: _small(s, 320), "bay")
    pair(s, "Fee|Paid", lambda: s.v.amount(30), "fee")
    s.ask("fee", "fee")
    s.ask("fact", "plate", "bay", "fee", "valid", "until",
          nouns="the car, its place, the fee and the end of the time|all about the parked car",
          )  # fmt: skip
    fee = Ask(s.task, "fee", ("its fee", "the fee for it"), (("fee",),))
    s.ask("fact", "plate", nouns="the number plate|the plate of the car", then=fee)


LAYOUTS: dict[str, Callable[[Sheet], None]] = {
    "roll": roll,
    "columns": columns,
    "panel": panel,
    "boxed": boxed,
    "bill": bill,
    "fuel": fuel,
    "parking": parking,
}
