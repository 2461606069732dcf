"""Pie charts: slices that are parts of a hundred, with a legend or labels around them."""

import math
from itertools import pairwise
from typing import Literal

from glance.documents.canvas import Colour
from glance.documents.kinds.colours import fills
from glance.documents.kinds.plots import Data, ask_all, dot, finish, names, start
from glance.documents.sheet import At, Sheet, TooFullError
from glance.documents.values import Value


def slices(s: Sheet) -> None:
    """A pie or ring with a legend of labels and values beside it or under it."""
    foot = start(s, percent=True)
    wide, high = s.right - s.left, foot.floor - s.y
    d = shares(s, min(3 + round(3 * s.room), int(high / s.pitch())))
    text = 2.4 * s.size + sum(max(s.measure(v.text) for v in vs) for vs in (d.labels, d.values))
    beside = min(wide - text - s.size, high)
    under = min(wide, high - s.pitch() * len(d) - 0.5 * s.size)
    across = max(beside, under)
    if across < 60 or text > wide:
        raise TooFullError("pie")
    if beside >= under:
        s.left += (wide - across - text - s.size) / 2
        x, y = s.left + across / 2, s.y + high / 2
        left, top = s.left + across + s.size, y - len(d) * s.pitch() / 2
    else:
        x, y = s.left + wide / 2, s.y + across / 2
        left, top = x - text / 2, s.y + across + 0.5 * s.size
    colours, _ = draw_pie(s, (x, y), across / 2, d, s.rng.choice((0.0, 0.0, 0.5)))
    s.left = s.margin
    for i, fill in enumerate(colours):
        row = top + i * s.pitch()
        s.draw.rectangle(
            (left, row + 0.25 * s.size, left + 0.7 * s.size, row + 0.95 * s.size), fill=fill
        )
        s.line(
            row,
            At(left + 1.2 * s.size, s.cell(d.labels[i], f"l{i}")),
            At(left + text, s.cell(d.values[i], f"v{i}"), "right"),
        )
    ask_all(s, d)
    finish(s, foot)


def leaders(s: Sheet) -> None:
    """A pie whose slices are labelled around it, a line leading to each."""
    foot = start(s, percent=True)
    d = shares(s, 3 + round(2 * s.room))
    wide = max(s.measure(f"{a.text} {b.text}") for a, b in zip(d.labels, d.values, strict=True))
    half, high = (s.right - s.left) / 2, (foot.floor - s.y) / 2 - 0.5 * s.size
    stacked = half - wide - 1.6 * s.size < min(40, high)
    if stacked:  # label over value takes less width
        wide = max(s.measure(v.text) for v in (*d.labels, *d.values))
    radius = min(half - wide - 1.6 * s.size, high)
    if radius < 25:
        raise TooFullError("pie")
    x, y = s.width / 2, (s.y + foot.floor) / 2
    _, middles = draw_pie(s, (x, y), radius, d)
    step = s.pitch() * (2 if stacked else 1)
    for side in (-1, 1):
        mine = [i for i, m in enumerate(middles) if (math.cos(m) >= 0) == (side > 0)]
        mine.sort(key=lambda i: math.sin(middles[i]))
        tops = spread(
            [y + radius * math.sin(middles[i]) - step / 2 for i in mine], step, s.y, foot.floor
        )
        for i, top in zip(mine, tops, strict=True):
            edge = x + side * (radius + 1.4 * s.size)
            tip = (x + radius * math.cos(middles[i]), y + radius * math.sin(middles[i]))
            s.draw.line((*tip, edge - side * 0.3 * s.size, top + step / 2), fill=s.shade(0.6))
            label, value = s.cell(d.labels[i], f"l{i}"), s.cell(d.values[i], f"v{i}")
            gap = s.measure(f"{label.text if side > 0 else value.text} ") * side
            if stacked:
                anchor: Literal["left", "right"] = "left" if side > 0 else "right"
                s.line(top, At(edge, label, anchor))
                s.line(top + s.pitch(), At(edge, value, anchor))
            elif side > 0:
                s.line(top, At(edge, label), At(edge + gap, value))
            else:
                s.line(top, At(edge + gap, label, "right"), At(edge, value, "right"))
    ask_all(s, d)
    finish(s, foot)


def shares(s: Sheet, n: int) -> Data:
    """`n` labels with different whole percentages that sum to 100."""
    if n < 2:
        raise TooFullError("pie")
    while True:
        cuts = [0, *sorted(s.rng.sample(range(5, 96), n - 1)), 100]
        parts = {b - a for a, b in pairwise(cuts)}
        if len(parts) == n and min(parts) >= 4:
            labels, axis = names(s, n)
            return Data(labels, [Value(f"{p}%") for p in s.rng.sample(sorted(parts), n)], axis)


def draw_pie(
    s: Sheet, centre: tuple[float, float], radius: float, d: Data, hole: float = 0.0
) -> tuple[list[Colour], list[float]]:
    """Slices clockwise from the top; returns their fills and middle angles in radians.

    `hole` is the radius of the hole over that of the pie.
    """
    colours, (x, y), total = fills(s, len(d)), centre, sum(d.parts)
    at, middles = -90.0, []
    for part, fill in zip(d.parts, colours, strict=True):
        wide = 360 * part / total
        s.draw.pieslice(
            (x - radius, y - radius, x + radius, y + radius),
            at,
            at + wide,
            fill=fill,
            outline=s.paper,
            width=2,
        )
        middles.append(math.radians(at + wide / 2))
        at += wide
    if hole:
        dot(s, x, y, radius * hole, s.paper)
    s.lowest = max(s.lowest, y + radius)
    return colours, middles


def spread(tops: list[float], step: float, low: float, high: float) -> list[float]:
    """Move ascending places apart until each has `step` px, within `low`..`high`.

    Raises TooFullError when they cannot all fit.
    """
    if len(tops) * step > high - low:
        raise TooFullError("pie labels")
    for i in range(len(tops)):
        tops[i] = max(tops[i], low if i == 0 else tops[i - 1] + step)
    for i in reversed(range(len(tops))):
        tops[i] = min(tops[i], high - step if i == len(tops) - 1 else tops[i + 1] - step)
    return tops
