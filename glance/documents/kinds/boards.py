"""Signs that list things: prices, places, floors, bus lines."""

from glance.documents.kinds.backdrop import backdrop, plate_colours
from glance.documents.kinds.mounting import EDGE, hang, lines_under, row_of, value_of, width_of
from glance.documents.kinds.parts import distinct
from glance.documents.sheet import Ask, Cell, Sheet
from glance.documents.values import Value, number_in


def prices(s: Sheet) -> None:
    """A board of things and their prices."""
    count = max(2, min(5, lines_under(s, 1.6) - 1, 2 + round(4 * s.room)))
    dear = s.measure("EUR 10.00    ")
    names = distinct(s, s.v.item, count, s.width - 5 * EDGE - dear)
    prices = distinct(s, lambda: s.v.amount(30), count, dear)
    rows = [row_of(s, Cell(s.rng.choice(("MENU", "Today", "Our prices", "Specials"))), largest=1.6)]
    for i, (name, price) in enumerate(zip(names, prices, strict=True)):
        cells = s.cell(name, f"item {i}"), s.cell(price, f"price {i}")
        rows.append(row_of(s, *cells, align="split"))
        of = name.text.lower()
        s.ask("price", f"price {i}", nouns=f"the price of {of}|the price for {of}")
    worth = [number_in(p.text) for p in prices]
    for type_, best, word in (("highest", max, "dearest"), ("lowest", min, "cheapest")):
        i = worth.index(best(worth))
        then = Ask(s.task, "price", ("its price", "the price of it"), ((f"price {i}",),))
        nouns = f"the {word} thing|the thing with the {type_} price"
        s.ask(type_, f"item {i}", nouns=nouns, then=then)
    s.ask("prices", *((f"item {i}", f"price {i}") for i in range(count)))
    hang(s, rows, corner=s.rng.choice((0, 4)))


def arrows(s: Sheet) -> None:
    """Signposts to several places, each on its own plate, with distances."""
    s.canvas.ink = backdrop(s)
    high = s.pitch() + 1.6 * EDGE + 6
    count = max(2, min(5, int((s.height - 2 * EDGE) / high), 2 + round(3 * s.room)))
    places = distinct(s, lambda: s.v.headline(1, 2), count, s.width * 0.5)
    unit = s.rng.choice(("km", "min", "m"))
    far = distinct(s, lambda: s.v.quantity(90, unit), count, s.width * 0.3)
    worth = [number_in(f.text) for f in far]
    post = s.width * s.rng.uniform(0.3, 0.7)
    s.draw.rectangle((post - 4, 0, post + 4, s.height), fill=(120, 115, 110))
    colours, right = plate_colours(s.rng), s.rng.random() < 0.5
    top = EDGE
    for i, (place, distance) in enumerate(zip(places, far, strict=True)):
        cells = s.cell(place, f"place {i}"), s.cell(distance, f"far {i}")
        row = row_of(s, *cells, align="split")
        wide = min(s.width - 4.5 * EDGE, width_of(s, row) + (4 + 6 * s.rng.random()) * EDGE)
        left = EDGE + 12 if not right else s.width - EDGE - 12 - wide
        tip, side = (left + wide, left + wide + 12) if right else (left, left - 12)
        low = top + high - 6
        points = [(tip, top), (side, (top + low) / 2), (tip, low)]
        s.draw.polygon(points, fill=colours[0])
        s.draw.rectangle((left, top, left + wide, low), fill=colours[0])
        s.left, s.right, s.y, s.bottom = left + EDGE, left + wide - EDGE, top + 0.7 * EDGE, low
        s.flow(*row.cells, align="split", ink=colours[1])
        s.ask("value_of", f"far {i}", nouns=f"the distance to {place.text}")
        top += high
    for type_, best, word in (("lowest", min, "nearest"), ("highest", max, "farthest")):
        i = worth.index(best(worth))
        then = Ask(s.task, "value_of", ("its distance", "how far it is"), ((f"far {i}",),))
        s.ask(type_, f"place {i}", nouns=f"the {word} place|the place that is {word}", then=then)
    signs = [(f"place {i}", f"far {i}") for i in range(count)]
    s.ask("all_values", *signs, nouns="all places with their distances")
    s.ask("message", tuple(key for sign in signs for key in sign))
    s.ask("labels", *(f"place {i}" for i in range(count)), nouns="all places|the places named")


def floors(s: Sheet) -> None:
    """A directory at a building's door: who is on which floor."""
    count = max(2, min(6, lines_under(s, 1.4) - 1, 2 + round(4 * s.room)))
    type_, make = s.rng.choice((("employer", s.v.company), ("name", s.v.person)))
    names = distinct(s, make, count, s.width - 6 * EDGE - s.measure("00    "))
    rows = [row_of(s, Cell(s.rng.choice(("Directory", "Floors", "Offices"))), largest=1.4)]
    for i, (floor, name) in enumerate(zip(s.rng.sample(range(1, 30), count), names, strict=True)):
        cells = s.cell(Value(str(floor)), f"floor {i}"), s.cell(name, f"name {i}")
        rows.append(row_of(s, *cells, align="left"))
        s.ask("value_of", f"floor {i}", nouns=f"the floor of {name.text}")
        s.ask(type_, f"name {i}", nouns=f"the name on floor {floor}")
        if i in (0, count - 1):
            then = Ask(s.task, "value_of", ("the floor they are on",), ((f"floor {i}",),))
            place = "last" if i else "first"
            s.ask(type_, f"name {i}", nouns=f"the {place} name on the sign", then=then)
    floors = ((f"floor {i}", f"name {i}") for i in range(count))
    s.ask("all_values", *floors, nouns="all floors with their names")
    hang(s, rows)


def stop(s: Sheet) -> None:
    """A bus stop: its name, and lines with where they go and when."""
    stop = value_of(s, s.v.road, "title")
    rows = [row_of(s, stop, largest=1.5)]
    count = max(2, min(4, lines_under(s, 1.5) - 1, 2 + round(3 * s.room)))
    room = s.width - 6 * EDGE - s.measure("000        00:00 pm")
    places = distinct(s, lambda: s.v.headline(1, 1), count, room)
    for i, (place, n) in enumerate(zip(places, s.rng.sample(range(1, 400), count), strict=True)):
        line, time = s.cell(Value(str(n)), f"line {i}"), s.cell(s.v.time(), f"time {i}")
        rows.append(row_of(s, line, s.cell(place, f"place {i}"), time, align="left"))
        to = place.text
        then = Ask(s.task, "time", ("the time it leaves", "its time"), ((f"time {i}",),))
        s.ask("value_of", f"line {i}", nouns=f"the line to {to}|the bus to {to}", then=then)
        s.ask("time", f"time {i}", nouns=f"the time of the bus to {to}|the time of line {n}")
    groups = ((f"line {i}", f"place {i}", f"time {i}") for i in range(count))
    s.ask("all_values", *groups, nouns="all lines with places and times")
    s.ask("title", "title", nouns="the name of the stop|the stop")
    hang(s, rows, corner=6)
