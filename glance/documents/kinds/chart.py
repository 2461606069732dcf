"""Charts: bars, lines, pies and their kin, every value printed at its mark, drawn to scale."""

from collections.abc import Callable

from glance.documents.canvas import Colour
from glance.documents.kinds.colours import fills
from glance.documents.kinds.pies import leaders, slices
from glance.documents.kinds.plots import Data, ask_all, data, dot, finish, start
from glance.documents.kinds.series import grouped, pairs
from glance.documents.kinds.uprights import area, bars, inside, line
from glance.documents.sheet import At, Sheet, TooFullError

TASK = "chartqa"
SIZES = ((392, 308), (448, 336), (364, 280), (308, 308), (336, 392), (420, 420), (308, 448))


def _rows(s: Sheet, d: Data, floor: float, tall: float) -> tuple[Data, float]:
    """How many rows of at least `tall` px fit above `floor`, and how high they are then."""
    d = d.first(min(len(d), int((floor - s.y) / tall)))
    return d, min((floor - s.y) / len(d), 2.2 * tall)


def _horizontal(s: Sheet, paint: Callable[[float, float, float, float, Colour], None]) -> None:
    """Rows of label, mark and value; `paint` gets the left end, right end, middle and height."""
    d = data(s)
    foot = start(s, d.percent)
    d, high = _rows(s, d, foot.floor, s.pitch() + 1)
    wide = max(s.measure(v.text) for v in d.labels)
    right_side = s.rng.random() < 0.5
    left = s.left + wide + 0.5 * s.size
    most = s.right - max(s.measure(v.text) for v in d.values) - 0.5 * s.size - left
    if most < 3 * s.size:
        raise TooFullError("bars")
    text, fill = sum(s.font().getmetrics()), fills(s, 1)[0]
    s.draw.line((left, s.y, left, s.y + high * len(d)), fill=s.shade(0.6))
    for i, part in enumerate(d.parts):
        middle = s.y + (i + 0.5) * high
        paint(left, left + part * most, middle, high, fill)
        label = s.cell(d.labels[i], f"l{i}")
        s.line(
            middle - text / 2,
            At(s.left + wide, label, "right") if right_side else At(s.left, label),
            At(left + part * most + 0.4 * s.size, s.cell(d.values[i], f"v{i}")),
        )
    ask_all(s, d)
    finish(s, foot)


def rows(s: Sheet) -> None:
    def paint(left: float, right: float, middle: float, high: float, fill: Colour) -> None:
        s.draw.rectangle((left, middle - 0.34 * high, right, middle + 0.34 * high), fill=fill)

    _horizontal(s, paint)


def lollipop(s: Sheet) -> None:
    def paint(left: float, right: float, middle: float, _high: float, fill: Colour) -> None:
        s.draw.line((left, middle, right, middle), fill=fill, width=2)
        dot(s, right - 3, middle, 4.5, fill)

    _horizontal(s, paint)


def progress(s: Sheet) -> None:
    """Label and value over a bar that shows the value as a part of the highest."""
    d = data(s, most=7)
    foot = start(s, d.percent)
    d, high = _rows(s, d, foot.floor, s.pitch() + 9)
    fill = fills(s, 1)[0]
    for i, part in enumerate(d.parts):
        s.line(
            s.y,
            At(s.left, s.cell(d.labels[i], f"l{i}")),
            At(s.right, s.cell(d.values[i], f"v{i}"), "right"),
        )
        y = s.y + sum(s.font().getmetrics()) + 1
        thick = min(0.3 * high, 10)
        s.draw.rectangle((s.left, y, s.right, y + thick), fill=s.shade(0.13))
        s.draw.rectangle((s.left, y, s.left + part * (s.right - s.left), y + thick), fill=fill)
        s.y += high
    s.lowest = max(s.lowest, s.y)
    ask_all(s, d)
    finish(s, foot)


LAYOUTS: dict[str, Callable[[Sheet], None]] = {
    "bars": bars,
    "inside": inside,
    "line": line,
    "area": area,
    "rows": rows,
    "lollipop": lollipop,
    "progress": progress,
    "slices": slices,
    "leaders": leaders,
    "grouped": grouped,
    "pairs": pairs,
}
HELD_OUT = {"validation": "lollipop", "test": "pairs"}
