"""Charts of two series: grouped bars, upright or lying, with a legend."""

from dataclasses import dataclass

from glance.documents.canvas import Colour
from glance.documents.kinds.colours import fills
from glance.documents.kinds.plots import (
    draw_numbers,
    finish,
    grid,
    name_axis,
    names,
    room_for_axis,
    start,
)
from glance.documents.sheet import Ask, At, Sheet, TooFullError
from glance.documents.values import Value, number_in

BAR, PAIR = 0.35, 0.9  # gaps between bars and between pairs, in font sizes


@dataclass(frozen=True, slots=True)
class Two:
    """Labels with two values each; label i is keyed "l<i>", its values "a<i>" and "b<i>"."""

    labels: list[Value]
    sides: tuple[list[Value], list[Value]]
    names: list[Value]  # of the series, keyed "na" and "nb"
    axis: str

    def part(self, value: Value) -> float:
        """A value over the highest one."""
        return number_in(value.text) / max(number_in(v.text) for side in self.sides for v in side)


def two(s: Sheet, most: int) -> Two:
    n = 2 + round((most - 2) * s.room)
    labels, axis = names(s, n)
    values = draw_numbers(s, 2 * n, 3.0)
    if s.rng.random() < 0.4:
        year = s.rng.randint(1990, 2030)
        series = [Value(str(year)), Value(str(year + 1))]
    else:
        series = s.v.labels(2)
    if {v.text for v in series} & {v.text for v in labels}:
        raise TooFullError("same names")
    return Two(labels, (values[:n], values[n:]), series, axis)


def key_of_series(s: Sheet, t: Two) -> list[Colour]:
    """Draw the legend in one line; returns the two fills."""
    colours, x, pieces = fills(s, 2), s.left, []
    for fill, name, side in zip(colours, t.names, "ab", strict=True):
        s.draw.rectangle((x, s.y + 0.25 * s.size, x + 0.7 * s.size, s.y + 0.95 * s.size), fill=fill)
        pieces.append(At(x + s.size, s.cell(name, f"n{side}")))
        x += s.measure(name.text) + 2.2 * s.size
    s.line(s.y, *pieces)
    s.y += s.pitch()
    return colours


def grouped(s: Sheet) -> None:
    """Pairs of upright bars, each value above its bar, and a legend under the title."""
    t = two(s, 4)
    foot = start(s, percent="%" in t.sides[0][0].text)
    colours = key_of_series(s, t)
    named = room_for_axis(s, foot.floor)
    base = foot.floor - (2 if named else 1) * s.pitch() - 2
    bar = max(s.measure(v.text) for side in t.sides for v in side) + BAR * s.size
    n = len(t.labels)
    while (
        n
        and max(2 * bar, *(s.measure(v.text) for v in t.labels[:n])) * n + PAIR * s.size * (n - 1)
        > s.right - s.left
    ):
        n -= 1
    top = s.y + s.pitch()
    if n < 2 or base - top < 2.5 * s.size:
        raise TooFullError("chart")
    slot = (s.right - s.left) / n
    half = min(slot / 2 - PAIR / 2 * s.size, 1.5 * bar)
    t = Two(t.labels[:n], (t.sides[0][:n], t.sides[1][:n]), t.names, t.axis)
    if s.rng.random() < 0.5:
        grid(s, top, base, 4)
    text = sum(s.font().getmetrics())
    for i in range(n):
        x = s.left + (i + 0.5) * slot
        for side, key, left in zip((0, 1), "ab", (x - half, x), strict=True):
            value = t.sides[side][i]
            y = base - t.part(value) * (base - top)
            s.draw.rectangle((left + 1, y, left + half - 1, base), fill=colours[side])
            wide = s.measure(value.text) / 2
            middle = left + half / 2
            s.draw.rectangle((middle - wide, y - text, middle + wide, y - 2), fill=s.paper)
            s.line(y - text - 2, At(middle, s.cell(value, f"{key}{i}"), "center"))
    s.draw.line((s.left, base, s.right, base), fill=s.shade(0.7))
    s.line(
        base + 2,
        *(
            At(s.left + (i + 0.5) * slot, s.cell(v, f"l{i}"), "center")
            for i, v in enumerate(t.labels)
        ),
    )
    if named:
        name_axis(s, t.axis, foot.floor)
    ask_two(s, t)
    finish(s, foot)


def pairs(s: Sheet) -> None:
    """Two lying bars a label, one under the other, each value at the end of its bar."""
    t = two(s, 5)
    foot = start(s, percent="%" in t.sides[0][0].text)
    colours = key_of_series(s, t)
    row = s.pitch() + 1
    n = min(len(t.labels), int((foot.floor - s.y) / (2.25 * row)))
    if n < 2:
        raise TooFullError("rows")
    t = Two(t.labels[:n], (t.sides[0][:n], t.sides[1][:n]), t.names, t.axis)
    left = s.left + max(s.measure(v.text) for v in t.labels) + 0.6 * s.size
    most = (
        s.right - left - 0.5 * s.size - max(s.measure(v.text) for v in (*t.sides[0], *t.sides[1]))
    )
    if most < 3 * s.size:
        raise TooFullError("bars")
    text, gap = sum(s.font().getmetrics()), min((foot.floor - s.y) / n, 4 * row) - 2 * row
    for i in range(n):
        for side, key in zip((0, 1), "ab", strict=True):
            value = t.sides[side][i]
            end = left + t.part(value) * most
            s.draw.rectangle((left, s.y + 1, end, s.y + row - 1), fill=colours[side])
            cell = At(end + 0.4 * s.size, s.cell(value, f"{key}{i}"))
            label = [] if side else [At(s.left, s.cell(t.labels[i], f"l{i}"))]
            s.line(s.y + (row - text) / 2, *label, cell)
            s.y += row
        s.y += gap
    ask_two(s, t)
    finish(s, foot)


def ask_two(s: Sheet, t: Two) -> None:
    """Questions about labels and the values of both series."""
    r, n, (na, nb) = s.rng, len(t.labels), (v.text for v in t.names)
    i, j = r.sample(range(n), 2)
    a, b = (v.text for v in (t.labels[i], t.labels[j]))
    s.ask(
        "cell",
        f"a{i}",
        nouns=f"the value of {a} for {na}|the {na} value of {a}",
        then=Ask(s.task, "cell", (f"the one for {nb}",), ((f"b{i}",),)),
    )
    if r.random() < 0.5:
        s.ask("cell", f"b{j}", nouns=f"the value of {b} for {nb}|the {nb} value of {b}")
    both = t.sides[0] + t.sides[1]
    top = both.index(max(both, key=lambda v: number_in(v.text)))
    if r.random() < 0.5:
        key = f"{'a' if top < n else 'b'}{top % n}"
        s.ask("highest", key, nouns="the highest value|the top value")
    side, name = r.choice((("a", na), ("b", nb)))
    s.ask(
        "column",
        *((f"l{k}", f"{side}{k}") for k in range(n)),
        nouns=f"all labels with their values for {name}|every label and its {name} value",
    )
    s.ask("all_values", *((f"l{k}", f"a{k}", f"b{k}") for k in range(n)))
    if r.random() < 0.4:
        s.ask("labels", "na", "nb", nouns="the names of the two series|the entries of the legend")
