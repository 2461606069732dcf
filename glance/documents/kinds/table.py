"""Tables: grids of values under a heading row, timetables, price lists and rankings."""

from collections.abc import Callable, Sequence

from glance.documents.canvas import Colour
from glance.documents.kinds.grid import (
    PADDING,
    Anchor,
    Column,
    Paint,
    boxed,
    draw_grid,
    edges_of,
    fits,
    plain,
    ruled,
    striped,
)
from glance.documents.kinds.parts import distinct, fitting, heading, lines_left, pair, row
from glance.documents.sheet import Ask, At, Cell, Sheet, TooFullError
from glance.documents.values import Value, number_in

TASK = "docvqa"
SIZES = ((308, 392), (336, 336), (392, 280), (392, 392), (448, 336), (504, 336))
HELD_OUT = {"validation": "ranking", "test": "boxed"}


def _title(s: Sheet, centred: bool = False) -> None:
    """A heading of a few words, larger where it fits."""
    title = fitting(s, lambda: s.v.headline(2, 5), s.right - s.left)
    heading(s, s.cell(title, "title"), "center" if centred else "left", 1.5)
    s.ask("title", "title")
    s.y += 0.3 * s.size


def _column(head: str, values: Sequence[Value], n: int, anchor: Anchor = "left") -> Column:
    """Column `n`: its heading has the key h`n`, its cells c`n`_0, c`n`_1 and so on."""
    cells = tuple(Cell(v.text, v.composed, f"c{n}_{i}") for i, v in enumerate(values))
    return Column(Cell(head, key=f"h{n}"), cells, anchor)


def _subjects(s: Sheet, rows: int) -> Column:
    """The first column: what the rows are about."""
    v = s.v
    heads, make = s.rng.choice(
        (
            ("Item|Product|Article", v.item),
            ("Member|Clerk|Player", v.first_name),
            ("Company|Supplier", v.company),
            ("Person|Guest", v.person),
        )
    )
    values = distinct(s, make, rows, 0.6 * (s.right - s.left))
    return _column(s.rng.choice(heads.split("|")), values, 0)


def _add_columns(s: Sheet, table: list[Column], most: int) -> None:
    """Add columns of different sorts while they fit, numbers at the right."""
    v, rows = s.v, len(table[0].cells)
    sorts: list[tuple[str, Callable[[], Value], Anchor]] = [
        ("Price|Cost|Fee", v.amount, "right"),
        ("Stock|Sold|Units", v.count, "right"),
        ("Share|Rate|Growth", v.percent, "right"),
        ("Code|Key|Mark", lambda: v.code(3, 6), "left"),
        ("Date|Since|Begun", v.date, "left"),
        ("Start|Opens", v.time, "left"),
        ("Owner|Leader|Agent", v.first_name, "left"),
    ]
    s.rng.shuffle(sorts)
    for heads, make, anchor in sorts:
        if len(table) > most:
            break
        values = distinct(s, make, rows, s.width)
        column = _column(s.rng.choice(heads.split("|")), values, len(table), anchor)
        if fits(s, [*table, column]):
            table.append(column)
    if len(table) < 2:
        raise TooFullError("table")


def _rows(s: Sheet, tail: float = 0.0, tall: float = 1.0) -> int:
    """How many rows to show above the last `tail` lines."""
    return max(2, min(3 + round(5 * s.room), int((lines_left(s) - tail) / tall) - 1))


def _ask(s: Sheet, table: list[Column]) -> None:
    """Cells, rows, columns and what is highest or lowest in a column of numbers."""
    s.values.extend(c.text for column in table for c in column.cells)
    r, rows = s.rng, range(len(table[0].cells))
    names, subject = [c.text for c in table[0].cells], table[0].head.text.lower()
    for n in r.sample(rows, min(len(rows), r.randint(2, 3))):
        column = r.choice(table[1:])
        head = column.head.text.lower()
        nouns = f"the {head} of {names[n]}|the {head} for {names[n]}"
        s.ask("cell", column.cells[n].key, nouns=nouns)
    n, other = r.sample(rows, 2)
    if len(table) > 2:
        nouns = f"the row of {names[n]}|the whole row for {names[n]}"
        s.ask("row", *[c.cells[n].key for c in table], nouns=nouns)
    two = [tuple(c.cells[k].key for c in table) for k in (n, other)]
    s.ask("row", *two, nouns=f"the rows of {names[n]} and {names[other]}")
    column = r.choice(table[1:])
    head = column.head.text.lower()
    if r.random() < 0.3:
        nouns = f"every {head}|the column {head}"
        s.ask("column", *[c.key for c in column.cells], nouns=nouns)
    both = [(a.key, b.key) for a, b in zip(table[0].cells, column.cells, strict=True)]
    nouns = f"the {head} of every {subject}|every {subject} with its {head}"
    s.ask("all_values", *both, nouns=nouns)
    nouns = f"every {subject}|all that stands in the first column"
    s.ask("labels", *[c.key for c in table[0].cells], nouns=nouns)
    numbers = [c for c in table[1:] if c.anchor == "right"]
    if numbers:
        _ask_extreme(s, table[0], r.choice(numbers))


def _ask_extreme(s: Sheet, subjects: Column, column: Column) -> None:
    """Which row is highest or lowest in a column of numbers, and then its number."""
    pick, word = s.rng.choice(((max, "highest"), (min, "lowest")))
    n = pick(range(len(column.cells)), key=lambda k: number_in(column.cells[k].text))
    head, subject = column.head.text.lower(), subjects.head.text.lower()
    nouns = f"its {head}", f"the {head} of it"
    then = Ask(s.task, "value_of", nouns, ((column.cells[n].key,),))
    names = f"the {subject} with the {word} {head}|the {subject} whose {head} is {word}"
    s.ask("label_of", subjects.cells[n].key, nouns=names, then=then)


def _body(s: Sheet, paint: Paint, tall: float, tail: float = 0.0) -> None:
    """A table of subjects and their values under one heading row."""
    table = [_subjects(s, _rows(s, tail, tall))]
    _add_columns(s, table, s.rng.choice((1, 2, 3, 4)))
    draw_grid(s, table, paint, tall)
    s.ask("columns", *[c.head.key for c in table])
    _ask(s, table)


def ruled_table(s: Sheet) -> None:
    """Title, thin rules, the source below."""
    _title(s)
    _body(s, ruled, 1.1, tail=1.5)
    s.y += 0.4 * s.size
    pair(s, "Source:|From:", s.v.company, "source", "left")
    s.ask("source", "source")


def striped_table(s: Sheet) -> None:
    """A centred title over a dark heading and shaded rows."""
    _title(s, centred=True)
    _body(s, striped, 1.2)


def open_table(s: Sheet) -> None:
    """No lines, wide rows, a sentence before the table."""
    _title(s)
    s.flow(s.cell(s.v.sentence(4, 7)), align="wrap")
    s.y += 0.4 * s.size
    _body(s, plain, 1.3)


def boxed_table(s: Sheet) -> None:
    """Cells in boxes, the caption with a number below."""
    s.y += 0.5 * s.size
    _body(s, boxed, 1.2, tail=1.5)
    s.y += 0.4 * s.size
    caption = fitting(s, lambda: s.v.headline(2, 4), s.right - s.left - s.measure("Table 00: "))
    s.flow(f"Table {s.rng.randint(1, 99)}:", s.cell(caption, "title"), align="center")
    s.ask("title", "title")


def merged(s: Sheet) -> None:
    """Headings in two rows: a name over each pair of columns."""
    _title(s)
    rows = _rows(s, tail=1, tall=1.15)
    subs = s.rng.choice((("Sales", "Stock"), ("Plan", "Result"), ("Min", "Max")))
    table = [_subjects(s, rows)]
    for _ in range(2):
        pairs = [
            _column(sub, distinct(s, lambda: _count(s), rows, s.width), len(table) + i, "right")
            for i, sub in enumerate(subs)
        ]
        if fits(s, [*table, *pairs]):
            table += pairs
    if len(table) < 3:
        raise TooFullError("table")
    edges, top = edges_of(s, table), s.y
    spans = [(edges[n], edges[n + 2]) for n in range(1, len(table), 2)]
    narrow = min(b - a for a, b in spans) - 2 * PADDING * s.size
    groups = distinct(s, s.v.first_name, len(spans), narrow)
    row(s, *[At((a + b) / 2, s.cell(g, f"group{n}"), "center")
             for n, (g, (a, b)) in enumerate(zip(groups, spans, strict=True))])  # fmt: skip
    for a, b in spans:
        s.draw.line((a + 4, s.y, b - 4, s.y), fill=s.shade(0.7))
    s.draw.line((edges[0], top - 2, edges[-1], top - 2), fill=s.shade(0.9))
    draw_grid(s, table, ruled, 1.15)
    s.values.extend(c.text for column in table for c in column.cells)
    for n in s.rng.sample(range(rows), 2):
        c = s.rng.randrange(1, len(table))
        name, sub = table[0].cells[n].text, table[c].head.text.lower()
        where = f"{name} under {groups[(c - 1) // 2].text}"
        s.ask("cell", f"c{c}_{n}", nouns=f"the {sub} of {where}|the {sub} value of {where}")
    name, subject = table[0].cells[n].text, table[0].head.text.lower()
    names = f"the row of {name}|the whole row of {name}"
    s.ask("row", *[c.cells[n].key for c in table], nouns=names)
    names = f"every {subject}|all that stands in the first column"
    s.ask("labels", *[c.key for c in table[0].cells], nouns=names)
    g = s.rng.randrange(len(groups))
    group, column = groups[g].text, table[2 * g + 1]
    best = max(range(rows), key=lambda k: number_in(column.cells[k].text))
    then = Ask(s.task, "value_of", ("its value there", "its number"), ((column.cells[best].key,),))
    names = f"the {subject} with the highest {column.head.text.lower()} under {group}"
    s.ask("label_of", table[0].cells[best].key, nouns=names, then=then)
    cells = zip(*(table[k].cells for k in (0, 2 * g + 1, 2 * g + 2)), strict=True)
    names = f"the values of {group}|every {subject} with its values under {group}"
    s.ask("column", *[tuple(c.key for c in three) for three in cells], nouns=names)
    s.ask("columns", *[f"group{k}" for k in range(len(groups))], *[c.head.key for c in table])


def _count(s: Sheet) -> Value:
    return Value(str(s.rng.randint(1, 9999)))


def timetable(s: Sheet) -> None:
    """Stops down, trips across, times growing downwards; a dark bar as the title."""
    s.draw.rectangle((0, 0, s.width, s.y + s.pitch(1.4)), fill=s.ink)
    line = fitting(s, lambda: s.v.headline(1, 3), s.right - s.left)
    heading(s, s.cell(line, "title"), largest=1.4, ink=s.paper)
    s.ask("title", "title")
    s.y += 0.4 * s.size
    pair(s, "Valid from|From|Starts", s.v.date, "date", "left")
    s.ask("date", "date")
    rows = _rows(s, tall=1.1)
    table = [_column("Stop", distinct(s, s.v.first_name, rows, s.width), 0)]
    for n, trip in enumerate(distinct(s, lambda: s.v.code(2, 4), 6, s.width), start=1):
        times = sorted((_clock(s) for _ in range(rows)), key=lambda v: v.text)
        column = _column(trip.text, times, n, "center")
        if n > 1 + round(5 * s.room) or not fits(s, [*table, column]):
            break
        table.append(column)
    draw_grid(s, table, s.rng.choice((ruled, striped)), 1.1)
    s.ask("columns", *[c.head.key for c in table[1:]], nouns="the trips|all trips")
    _ask_times(s, table)


def _clock(s: Sheet) -> Value:
    while len((time := s.v.time()).text) != 5:
        pass
    return time


def _ask_times(s: Sheet, table: list[Column]) -> None:
    s.values.extend(c.text for column in table for c in column.cells)
    stops = table[0].cells
    for _ in range(2):
        n, c = s.rng.randrange(len(stops)), s.rng.choice(table[1:])
        where = f"trip {c.head.text} at {stops[n].text}"
        s.ask("cell", c.cells[n].key, nouns=f"the time of {where}|the departure of {where}")
    c = s.rng.choice(table[1:])
    names = f"the stops and times of {c.head.text}|every stop of {c.head.text} with its time"
    both = [(a.key, b.key) for a, b in zip(stops, c.cells, strict=True)]
    s.ask("column", *both, nouns=names)
    s.ask("labels", *[x.key for x in stops], nouns="the stops|all stops|the list of stops")
    start = ((table[1].cells[0].key,),)
    then = Ask(s.task, "value_of", ("its first time", "the time it starts"), start)
    s.ask("label_of", table[1].head.key, nouns="the first trip|the trip named first", then=then)
    last = stops[-1].text
    s.ask(
        "row",
        *[x.cells[-1].key for x in table],
        nouns=f"the row of {last}|the whole row for {last}",
    )


def prices(s: Sheet) -> None:
    """A price list with dotted leaders, in two columns on wide pages."""
    _title(s, centred=True)
    gap = 1.5 * s.size
    two = s.measure("0" * 48) < s.right - s.left
    per = _rows(s) - (0 if two else 1)
    half = (s.right - s.left - gap) / 2 if two else s.right - s.left
    amounts = distinct(s, lambda: s.v.amount(90), max(2, per) * (1 + two), half)
    space = half - max(s.measure(a.text) for a in amounts) - 2 * s.size
    items = distinct(s, s.v.item, len(amounts), space)
    table = [_column("Item", items, 0), _column("Price", amounts, 1, "right")]
    top = s.y
    for side in range(1 + two):
        left = s.left + side * (half + gap)
        with s.column(left, left + half, top):
            for n in range(side * per, min(len(items), (side + 1) * per)):
                _leader(s, table[0].cells[n], table[1].cells[n])
    _ask(s, table)


def _leader(s: Sheet, item: Cell, price: Cell) -> None:
    """Item and price on a line, dots between them."""
    y = s.y + 0.95 * s.size
    x, stop = s.left + s.measure(item.text) + 5, s.right - s.measure(price.text) - 4
    while x < stop:
        s.draw.point((x, y), fill=s.shade(0.7))
        x += 3
    row(s, At(s.left, item), At(s.right, price, "right"))


def ranking(s: Sheet) -> None:
    """Places, names and points, the first place on a dark bar."""
    _title(s, centred=True)
    rows = _rows(s, tall=1.15)
    points = distinct(s, lambda: _count(s), rows, s.width)
    points.sort(key=lambda v: -number_in(v.text))
    names = distinct(s, s.v.person, rows, 0.55 * (s.right - s.left))
    table = [
        _column(s.rng.choice(("Name", "Player", "Team")), names, 0),
        _column(s.rng.choice(("Points", "Score")), points, 1, "right"),
    ]
    places = [Value(f"{n + 1}.") for n in range(rows)]
    draw_grid(s, [_column(s.rng.choice(("No.", "#")), places, 2), *table], _podium, 1.15)
    s.ask("columns", *[c.head.key for c in (table[0], table[1])], nouns="the last two headings")
    n = s.rng.randrange(1, rows)
    head = table[1].head.text.lower()
    nouns = f"its {head}", f"the {head} of that name"
    then = Ask(s.task, "value_of", nouns, ((f"c1_{n}",),))
    s.ask("label_of", f"c0_{n}", nouns=f"the name in place {n + 1}|the name at {n + 1}.", then=then)
    s.ask("row", "c2_0", "c0_0", "c1_0", nouns="the first row|the row of the winner")
    _ask(s, table)


def _podium(s: Sheet, i: int, top: float, low: float, edges: Sequence[float]) -> Colour | None:
    """The first row dark, lines under the others."""
    if i == 0:
        s.draw.rectangle((edges[0], top, edges[-1], low), fill=s.ink)
        return s.paper
    ruled(s, i, top, low, edges)
    return None


LAYOUTS: dict[str, Callable[[Sheet], None]] = {
    "ruled": ruled_table,
    "striped": striped_table,
    "open": open_table,
    "boxed": boxed_table,
    "merged": merged,
    "timetable": timetable,
    "prices": prices,
    "ranking": ranking,
}
