"""Small pieces that several kinds of document are made of."""

from collections.abc import Callable

from glance.documents.canvas import Colour
from glance.documents.sheet import Align, At, Cell, Sheet, TooFullError
from glance.documents.values import Value

LARGEST = 40.0  # px: no heading is taller
Make = Callable[[], Value]


def fitting(s: Sheet, make: Make, width: float, scale: float = 1.0) -> Value:
    """A value no wider than `width` px; raises TooFullError when a dozen draws are all wider."""
    for _ in range(12):
        value = make()
        if s.measure(value.text, scale) <= width:
            return value
    raise TooFullError("value")


def distinct(s: Sheet, make: Make, count: int, width: float) -> list[Value]:
    """`count` values that fit and differ; raises TooFullError when they cannot be found."""
    found: dict[str, Value] = {}
    for _ in range(6 * count):
        value = fitting(s, make, width)
        found.setdefault(value.text.lower(), value)
        if len(found) == count:
            return list(found.values())
    raise TooFullError("values")


def lines_left(s: Sheet) -> int:
    """How many more lines of body text fit into the column."""
    return int((s.bottom - s.y) / s.pitch())


def heading(
    s: Sheet,
    cell: Cell | str,
    align: Align = "left",
    largest: float = 1.6,
    gap: float = 0.0,
    ink: Colour | None = None,
) -> None:
    """A bold line, as large as the column's width lets it be, up to `largest` body sizes."""
    text = cell if isinstance(cell, str) else cell.text
    scale = min(largest, LARGEST / s.size)
    while scale > 1 and s.measure(text, scale, bold=True) > s.right - s.left:
        scale -= 0.1
    s.flow(cell, align=align, scale=max(scale, 1.0), bold=True, gap=gap, ink=ink)


def pair(s: Sheet, labels: str, make: Make, key: str, align: Align = "split") -> Value:
    """One line: one of the `labels` (parted by "|") and a value that fits beside it."""
    label = s.rng.choice(labels.split("|"))
    value = fitting(s, make, s.right - s.left - s.measure(label + "   "))
    s.flow(label, s.cell(value, key), align=align)
    return value


def row(s: Sheet, *pieces: At, bold: bool = False, ink: Colour | None = None) -> None:
    """A line of placed pieces at the cursor, which moves on; TooFullError below the column."""
    if s.y + s.size > s.bottom:
        raise TooFullError("column")
    s.line(s.y, *pieces, bold=bold, ink=ink)
    s.y += s.pitch()


def dashes(s: Sheet, y: float) -> None:
    """A dashed rule across the column."""
    x = s.left
    while x < s.right:
        s.draw.line((x, y, min(x + 4, s.right), y), fill=s.shade(0.6))
        x += 7


def wrapped(s: Sheet, text: str, width: float, scale: float = 1.0, bold: bool = False) -> list[str]:
    """A text broken at spaces into lines of at most `width` px (a longer word stands alone)."""
    lines = [""]
    for word in text.split(" "):
        longer = f"{lines[-1]} {word}".strip()
        if lines[-1] and s.measure(longer, scale, bold) > width:
            lines.append(word)
        else:
            lines[-1] = longer
    return lines
