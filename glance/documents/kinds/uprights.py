"""Charts whose marks stand on a base line: upright bars, lines, areas."""

from collections.abc import Callable

from glance.documents.kinds.colours import fills, grounds, ink_on
from glance.documents.kinds.plots import (
    Data,
    ask_all,
    data,
    dot,
    finish,
    grid,
    name_axis,
    room_for_axis,
    start,
)
from glance.documents.sheet import At, Sheet, TooFullError

Tips = list[tuple[float, float]]  # where marks end, px
Paint = Callable[[Sheet, Tips, float, float], None]  # gets tips, slot width and base line


def _across(s: Sheet, d: Data, base: float, gap: float) -> tuple[Data, float, float]:
    """Labels in one line under a chart of vertical marks.

    Returns what fits, the width of a mark's slot and the top of the room for marks, px.
    """
    texts = [
        max(s.measure(a.text), s.measure(b.text)) for a, b in zip(d.labels, d.values, strict=True)
    ]
    n = len(d)
    while n and (max(texts[:n]) + gap) * n > s.right - s.left:
        n -= 1
    d = d.first(n)
    top = s.y + s.pitch()
    if base - top < 2.5 * s.size:
        raise TooFullError("chart")
    return d, (s.right - s.left) / n, top


def _labels(s: Sheet, d: Data, slot: float, base: float) -> None:
    """The base line and the labels below it."""
    s.draw.line((s.left, base, s.right, base), fill=s.shade(0.7))
    s.line(
        base + 2,
        *(
            At(s.left + (i + 0.5) * slot, s.cell(v, f"l{i}"), "center")
            for i, v in enumerate(d.labels)
        ),
    )


def _vertical(
    s: Sheet,
    paint: Paint,
    spread: float = 3.0,
) -> None:
    """A chart whose marks stand on a base line, each value above its mark."""
    d = data(s, spread=spread)
    foot = start(s, d.percent)
    named = room_for_axis(s, foot.floor)
    base = foot.floor - (2 if named else 1) * s.pitch() - 2
    d, slot, top = _across(s, d, base, 0.6 * s.size)
    if s.rng.random() < 0.5:
        grid(s, top, base, s.rng.randint(3, 5))
    tips = [(s.left + (i + 0.5) * slot, base - p * (base - top)) for i, p in enumerate(d.parts)]
    paint(s, tips, slot, base)
    for i, (x, y) in enumerate(tips):
        cell = s.cell(d.values[i], f"v{i}")
        half, high = s.measure(cell.text) / 2, sum(s.font().getmetrics())
        lift = y - high - 4
        s.draw.rectangle((x - half - 1, lift + 2, x + half + 1, lift + high), fill=s.paper)
        s.line(lift, At(x, cell, "center"))
    _labels(s, d, slot, base)
    if named:
        name_axis(s, d.axis, foot.floor)
    ask_all(s, d)
    finish(s, foot)


def bars(s: Sheet) -> None:
    def paint(s: Sheet, tips: Tips, slot: float, base: float) -> None:
        half = slot * s.rng.uniform(0.25, 0.42)
        colours = fills(s, len(tips)) if s.rng.random() < 0.3 else fills(s, 1) * len(tips)
        for (x, y), fill in zip(tips, colours, strict=True):
            s.draw.rectangle((x - half, y, x + half, base), fill=fill)

    _vertical(s, paint)


def line(s: Sheet) -> None:
    def paint(s: Sheet, tips: Tips, _slot: float, _base: float) -> None:
        fill = fills(s, 1)[0]
        s.draw.line(tips, fill=fill, width=2, joint="curve")
        for x, y in tips:
            dot(s, x, y, 4, fill)

    _vertical(s, paint, 2.0)


def area(s: Sheet) -> None:
    def paint(s: Sheet, tips: Tips, _slot: float, base: float) -> None:
        s.draw.polygon([(tips[0][0], base), *tips, (tips[-1][0], base)], fill=s.shade(0.18))
        s.draw.line(tips, fill=s.shade(0.6), width=1)

    _vertical(s, paint, 2.0)


def inside(s: Sheet) -> None:
    """Wide vertical bars with the values in one line at their feet."""
    d = data(s, most=7, spread=1.8)
    foot = start(s, d.percent)
    named = room_for_axis(s, foot.floor)
    base = foot.floor - (2 if named else 1) * s.pitch() - 2
    d, slot, top = _across(s, d, base, 0.9 * s.size)
    high, fill = base - top + 0.8 * s.size, grounds(s, 1)[0]
    text = sum(s.font().getmetrics())
    for i, part in enumerate(d.parts):
        if part * high < text + 4:
            raise TooFullError("low bar")
        x = s.left + i * slot
        s.draw.rectangle((x + 2, base - part * high, x + slot - 2, base), fill=fill)
    s.line(
        base - text - 3,
        *(
            At(s.left + (i + 0.5) * slot, s.cell(v, f"v{i}"), "center")
            for i, v in enumerate(d.values)
        ),
        ink=ink_on(fill),
    )
    _labels(s, d, slot, base)
    if named:
        name_axis(s, d.axis, foot.floor)
    ask_all(s, d)
    finish(s, foot)
