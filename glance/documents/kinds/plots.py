"""What charts share: their numbers, heading and source line, marks, and questions."""

from dataclasses import dataclass

from glance.documents.canvas import Colour
from glance.documents.kinds.parts import heading, wrapped
from glance.documents.sheet import Align, Ask, At, Cell, Sheet, TooFullError
from glance.documents.values import Value, number_in

_UNITS = {
    True: "percent|share of orders|percent of visits|share of people|percent a year".split("|"),
    False: "units sold|tonnes|visits a day|thousand EUR|boxes|hours|members|kWh".split("|"),
}
ALIGNS: tuple[Align, ...] = ("left", "center")
_AXES = ("Month", "Group", "Name")


@dataclass(frozen=True, slots=True)
class Data:
    """What a chart shows; label i is keyed "l<i>", its value "v<i>"."""

    labels: list[Value]
    values: list[Value]
    axis: str  # what the labels are

    def __len__(self) -> int:
        return len(self.labels)

    @property
    def parts(self) -> list[float]:
        """Every value as a part of the highest."""
        numbers = [number_in(v.text) for v in self.values]
        return [n / max(numbers) for n in numbers]

    @property
    def percent(self) -> bool:
        return "%" in self.values[0].text

    def first(self, n: int) -> "Data":
        """Its first `n` entries; raises TooFullError when that is no chart."""
        if n < 2:
            raise TooFullError("chart")
        return Data(self.labels[:n], self.values[:n], self.axis)


def names(s: Sheet, n: int) -> tuple[list[Value], str]:
    """`n` different labels and what they are."""
    axis = s.rng.choice(_AXES)
    if axis == "Month":
        return s.v.month_labels(n), axis
    if axis == "Group":
        return s.v.labels(n), axis
    found: dict[str, Value] = {}
    while len(found) < n:
        value = s.v.first_name()
        found[value.text] = value
    return list(found.values()), axis


def draw_numbers(s: Sheet, n: int, spread: float) -> list[Value]:
    """`n` different values written alike, each within a factor `spread` of the first.

    Raises TooFullError when so many are not found.
    """
    make = s.rng.choice((s.v.count, s.v.percent))
    first, middle = make(), 0.0
    while (middle := number_in(first.text)) < 2 * n:
        first = make()
    found = {middle: first}
    for _ in range(400):
        if len(found) == n:
            return list(found.values())
        value = make()
        near = middle / spread <= number_in(value.text) <= middle * spread
        if near and ("." in value.text) == ("." in first.text):
            found.setdefault(number_in(value.text), value)
    raise TooFullError("values")


def data(s: Sheet, most: int = 9, spread: float = 3.0) -> Data:
    """Labels and values, up to `most` of them on a full page."""
    n = 3 + round((most - 3) * min(1.0, s.room + 0.2))
    labels, axis = names(s, n)
    return Data(labels, draw_numbers(s, n, spread), axis)


@dataclass(frozen=True, slots=True)
class Foot:
    """What goes below a chart, and where the chart has to end, px."""

    floor: float
    note: Value | None
    source: Value | None


def start(s: Sheet, percent: bool) -> Foot:
    """Draw the title and what goes under it, and choose what goes below the chart."""
    r, align = s.rng, s.rng.choice(ALIGNS)
    title = s.v.headline(2, 4)
    if s.measure(title.text, bold=True) > s.right - s.left:
        s.flow(s.cell(title, "title"), align="wrap", bold=True)
    else:
        heading(s, s.cell(title, "title"), align, r.choice((1.0, 1.2, 1.5)))
    if r.random() < 0.6:
        s.ask("title", "title")
    wordy = (s.room + 0.4) * 14 / s.size  # how much prose a page of this room takes
    if r.random() < wordy:
        s.flow(s.cell(s.v.sentence(7, 11), "note"), align="wrap")
        s.ask("fact", "note", nouns="the note under the title|the remark under the title")
    if r.random() < 0.2 + 0.4 * s.room:
        unit = Cell(r.choice(_UNITS[percent]), key="unit")
        s.flow(*((r.choice(("Unit:", "in")), unit) if r.random() < 0.5 else (unit,)), align=align)
        if r.random() < 0.5:
            s.ask("unit", "unit")
    s.y += 0.3 * s.size
    note = s.v.sentence(8, 12) if r.random() < wordy else None
    source = r.choice((s.v.company, s.v.website))() if r.random() < 0.2 + 0.5 * s.room else None
    below = (len(wrapped(s, note.text, s.right - s.left)) if note else 0) + bool(source)
    return Foot(s.bottom - below * s.pitch(), note, source)


def finish(s: Sheet, foot: Foot) -> None:
    """Draw what goes below the chart."""
    s.y = foot.floor
    if foot.note:
        s.flow(s.cell(foot.note, "remark"), align="wrap")
        s.ask("fact", "remark", nouns="the note under the chart|the remark below the chart")
    if foot.source:
        s.flow("Source:", s.cell(foot.source, "source"))
        s.ask("source", "source")


def room_for_axis(s: Sheet, floor: float) -> bool:
    """Whether to name the axis under a chart that ends at `floor` px."""
    return floor - s.y > 8 * s.pitch() and s.rng.random() < 0.6


def name_axis(s: Sheet, name: str, floor: float) -> None:
    """Say what the labels are, in the line above `floor` px."""
    s.line(floor - s.pitch() + 1, At((s.left + s.right) / 2, Cell(name, key="axis"), "center"))
    if s.rng.random() < 0.3:
        s.ask("axis", "axis")


def ask_all(s: Sheet, d: Data) -> None:
    """Questions about labels and their values."""
    r, n, parts = s.rng, len(d), d.parts
    a, b = r.sample(range(n), 2)
    label, value = d.labels[a].text, d.values[b].text
    if n < 4 or r.random() < 0.6:
        s.ask("value_of", f"v{a}", nouns=f"the value of {label}|the number for {label}")
    else:
        nouns = f"the label with the value {value}|the entry that has {value}"
        s.ask("label_of", f"l{b}", nouns=nouns)
    if n < 4 or r.random() < 0.6:
        type_, pick = r.choice((("highest", max), ("lowest", min)))
        end = parts.index(pick(parts))
        after = Ask(s.task, "value_of", ("its value", "the value it has"), ((f"v{end}",),))
        s.ask(type_, f"l{end}", then=after)
    s.ask("all_values", *((f"l{i}", f"v{i}") for i in range(n)))
    if n > 3:
        s.ask("labels", *(f"l{i}" for i in range(n)))


# --- marks
def dot(s: Sheet, x: float, y: float, radius: float, fill: Colour) -> None:
    s.draw.ellipse((x - radius, y - radius, x + radius, y + radius), fill=fill)


def grid(s: Sheet, top: float, base: float, lines: int) -> None:
    """Faint lines across the column, evenly spaced from the base up."""
    for i in range(1, lines + 1):
        y = base - (base - top) * i / lines
        s.draw.line((s.left, y, s.right, y), fill=s.shade(0.12))
