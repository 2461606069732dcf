"""Tables: columns as wide as their contents need, rows one under the other."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Literal

from glance.documents.canvas import Colour
from glance.documents.sheet import At, Cell, Sheet, TooFullError

Anchor = Literal["left", "right", "center"]
PADDING = 0.4  # of the font size, at each side of a cell's text


@dataclass(frozen=True, slots=True)
class Column:
    head: Cell
    cells: tuple[Cell, ...]  # one a row
    anchor: Anchor = "left"


# (sheet, row or -1 for the heading, top, bottom, column edges) -> ink of the row's text
Paint = Callable[[Sheet, int, float, float, Sequence[float]], Colour | None]


def needs(s: Sheet, column: Column) -> float:
    """Width in px that a column takes at least."""
    cells = [s.measure(c.text) for c in column.cells]
    return max([s.measure(column.head.text, bold=True), *cells]) + 2 * PADDING * s.size


def fits(s: Sheet, columns: Sequence[Column]) -> bool:
    return sum(needs(s, c) for c in columns) <= s.right - s.left


def edges_of(s: Sheet, columns: Sequence[Column]) -> list[float]:
    """Where columns begin and end when they share the width left over; raises TooFullError."""
    wide = [needs(s, c) for c in columns]
    spare = (s.right - s.left - sum(wide)) / len(wide)
    if spare < 0:
        raise TooFullError("table")
    edges = [s.left]
    for w in wide:
        edges.append(edges[-1] + w + spare)
    return edges


def draw_grid(s: Sheet, columns: Sequence[Column], paint: Paint, tall: float = 1.0) -> None:
    """Draw heading and rows at the cursor; rows are `tall` line pitches high.

    Raises TooFullError when the table is too wide or too long.
    """
    edges = edges_of(s, columns)
    text = sum(s.font().getmetrics())
    high = max(s.pitch() * tall, text + 2)
    for i in range(-1, len(columns[0].cells)):
        if s.y + high > s.bottom:
            raise TooFullError("table")
        ink = paint(s, i, s.y, s.y + high, edges)
        pieces = []
        for j, column in enumerate(columns):
            place = {
                "left": edges[j] + PADDING * s.size,
                "center": (edges[j] + edges[j + 1]) / 2,
                "right": edges[j + 1] - PADDING * s.size,
            }[column.anchor]
            pieces.append(At(place, column.head if i < 0 else column.cells[i], column.anchor))
        s.line(s.y + (high - text) / 2, *pieces, bold=i < 0, ink=ink)
        s.y += high


def plain(_s: Sheet, _i: int, _top: float, _low: float, _edges: Sequence[float]) -> None:
    """No lines at all."""


def ruled(s: Sheet, i: int, _top: float, low: float, edges: Sequence[float]) -> None:
    """A line under every row, a stronger one under the heading."""
    s.draw.line((edges[0], low, edges[-1], low), fill=s.shade(0.3 if i >= 0 else 0.9))


def striped(s: Sheet, i: int, top: float, low: float, edges: Sequence[float]) -> Colour | None:
    """A dark heading and every other row shaded."""
    if i < 0:
        s.draw.rectangle((edges[0], top, edges[-1], low), fill=s.ink)
        return s.paper
    if i % 2:
        s.draw.rectangle((edges[0], top, edges[-1], low), fill=s.shade(0.1))
    return None


def boxed(s: Sheet, i: int, top: float, low: float, edges: Sequence[float]) -> None:
    """Every cell in a box, the heading shaded."""
    for a, b in pairwise(edges):
        s.frame((a, top, b, low), fill=s.shade(0.12) if i < 0 else None)
