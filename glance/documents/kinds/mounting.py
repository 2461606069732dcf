"""Rows of large words on a plate, and the plate in a scene."""

from collections.abc import Callable
from dataclasses import dataclass, replace

from glance.documents.canvas import Colour
from glance.documents.kinds.backdrop import backdrop, plate, plate_colours
from glance.documents.kinds.parts import LARGEST, fitting
from glance.documents.sheet import Align, Cell, Sheet, TooFullError
from glance.documents.values import Value

EDGE = 10.0  # px between the page's edge and a plate, and around a plate's text


@dataclass(frozen=True, slots=True)
class Row:
    cells: tuple[Cell, ...]
    scale: float = 1.0
    align: Align = "center"
    bold: bool = False


def width_of(s: Sheet, row: Row) -> float:
    gap = s.measure("    ", row.scale)
    return sum(s.measure(c.text, row.scale, row.bold) + gap for c in row.cells) - gap


def row_of(s: Sheet, *cells: Cell, largest: float = 1.0, align: Align = "center") -> Row:
    """A row as large as the page's width lets it be; what is larger than the rest is bold."""
    scale = min(largest, LARGEST / s.size)
    made = Row(cells, scale, align, bold=largest > 1)
    while made.scale > 1 and width_of(s, made) > s.width - 4 * EDGE:
        made = replace(made, scale=made.scale - 0.1)
    return replace(made, scale=max(1.0, made.scale))


def value_of(s: Sheet, make: Callable[[], Value], key: str, scale: float = 1.0) -> Cell:
    return s.cell(fitting(s, make, s.width - 4 * EDGE, scale), key)


def _high(s: Sheet, rows: list[Row]) -> float:
    return sum(s.pitch(r.scale) for r in rows) + 1.6 * EDGE


def _mount(
    s: Sheet, rows: list[Row], colours: tuple[Colour, Colour] | None, top: float, corner: float = 0
) -> None:
    """Put rows on a plate as wide as they need, or straight on the background without `colours`.

    Raises TooFullError when they do not fit under `top`.
    """
    need = max(width_of(s, r) for r in rows) + 2 * EDGE
    spare = s.width - 2 * EDGE - need
    high = _high(s, rows)
    if spare < 0 or top + high > s.height - 4:
        raise TooFullError("plate")
    wide = need + spare * s.rng.choice((0.0, s.rng.random(), 1.0))
    left = EDGE + (s.width - 2 * EDGE - wide) * s.rng.choice((0.5, 0.5, s.rng.random()))
    ink = s.ink
    if colours:
        ink = colours[1]
        plate(s, (left, top, left + wide, top + high), *colours, corner)
    else:
        s.left, s.right, s.y, s.bottom = left + EDGE, left + wide - EDGE, top + 7, s.height - 4
    for r in rows:
        s.flow(*r.cells, align=r.align, scale=r.scale, bold=r.bold, ink=ink)


def hang(s: Sheet, rows: list[Row], corner: float = 0) -> tuple[str, ...]:
    """A scene with one sign somewhere in it; returns the keys of all its words, in order."""
    ink = backdrop(s)
    named = [
        replace(r, cells=tuple(replace(c, key=c.key or f"words {i}") for c in r.cells))
        for i, r in enumerate(rows)
    ]
    room = s.height - _high(s, named) - 2 * EDGE
    top = EDGE + max(0.0, room) * s.rng.uniform(0.1, 0.9)
    bare = s.rng.random() < 0.3
    if bare:
        s.canvas.ink = ink
    _mount(s, named, None if bare else plate_colours(s.rng), top, corner)
    said = tuple(c.key for r in named for c in r.cells)
    s.ask("message", said)
    return said


def lines_under(s: Sheet, scale: float = 1.0) -> int:
    """How many body lines go on a plate under a heading of `scale`."""
    return int((s.height - 4 * EDGE - s.pitch(scale)) / s.pitch())
