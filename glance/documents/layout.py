"""From a draft (rows of cells, and what may be asked) to a drawn page.

A kind writes a `Draft` without caring for pixels. `draw` tries font sizes from the wished
one down to 14 px and returns None when the draft does not fit the page even then.
"""

import random
from dataclasses import dataclass, field
from typing import Literal

from PIL import ImageFont

from glance.documents.canvas import FACES, Canvas, Span, load_face
from glance.documents.page import Question
from glance.documents.phrasings import ask_for
from glance.documents.values import Value

SMALLEST, LARGEST = 14, 24  # font sizes in px
STEP = 28  # page heights are multiples of this, in px
Align = Literal["left", "right", "center", "split", "wrap"]


@dataclass(frozen=True, slots=True)
class Cell:
    text: str
    composed: bool = False
    key: str = ""  # what questions call it; "" when nothing refers to it


@dataclass(frozen=True, slots=True)
class Row:
    cells: tuple[Cell, ...]
    align: Align = "left"
    gap: float = 0.0  # extra space above, in font sizes
    rule: bool = False  # a thin line above
    frame: bool = False  # a box around the last cell


@dataclass(frozen=True, slots=True)
class Ask:
    type: str
    nouns: tuple[str, ...]  # ways to name it, e.g. "the total", "the total amount"
    keys: tuple[str, ...]  # cells copied, in order
    separator: str = ", "


@dataclass(slots=True)
class Draft:
    rows: list[Row] = field(default_factory=list)
    asks: list[Ask] = field(default_factory=list)
    values: list[str] = field(default_factory=list)

    def cell(self, value: Value, key: str = "") -> Cell:
        """A cell for a value; it is noted as one of the page's values."""
        self.values.append(value.text)
        return Cell(value.text, value.composed, key)

    def add(self, *cells: Cell | str, align: Align = "left", gap: float = 0.0,
            rule: bool = False, frame: bool = False) -> None:  # fmt: skip
        made = tuple(Cell(c) if isinstance(c, str) else c for c in cells)
        self.rows.append(Row(made, align, gap, rule, frame))

    def ask(self, type_: str, nouns: str, *keys: str, separator: str = ", ") -> None:
        """`nouns` names the thing in one or more ways, parted by `|`."""
        self.asks.append(Ask(type_, tuple(nouns.split("|")), keys, separator))


@dataclass(frozen=True, slots=True)
class _Piece:
    x: float
    cell: Cell


def _wrap(row: Row, face: ImageFont.FreeTypeFont, width: float) -> list[list[Cell]]:
    """Break a row at spaces into visual lines; words of one cell stay one cell a line."""
    lines: list[list[Cell]] = [[]]
    used, space = 0.0, face.getlength(" ")
    for cell in row.cells:
        for word in cell.text.split(" "):
            w = face.getlength(word)
            if used and used + space + w > width:
                lines.append([])
                used = 0.0
            line = lines[-1]
            if line and line[-1].key == cell.key and line[-1].composed == cell.composed:
                line[-1] = Cell(f"{line[-1].text} {word}", cell.composed, cell.key)
            else:
                line.append(Cell(word, cell.composed, cell.key))
            used += w + (space if used else 0.0)
    return lines


def _place(
    row: Row, face: ImageFont.FreeTypeFont, left: float, right: float
) -> list[list[_Piece]] | None:
    """Horizontal positions of a row's cells, one list a visual line; None if too wide."""
    if row.align == "wrap":
        lines = _wrap(row, face, right - left)
        out = []
        for line in lines:
            x, pieces = left, []
            for cell in line:
                pieces.append(_Piece(x, cell))
                x += face.getlength(cell.text + " ")
            if x - face.getlength(" ") > right:
                return None
            out.append(pieces)
        return out
    widths = [face.getlength(c.text) for c in row.cells]
    space = face.getlength("  ")
    total = sum(widths) + space * (len(widths) - 1)
    if total > right - left:
        return None
    if row.align == "split":
        middle = left + widths[0] + space
        xs = [left] + [right - w for w in widths[1:]]
        if len(row.cells) == 3:  # label, quantity, amount
            xs[1] = max(middle, right - widths[2] - space - face.getlength("000") - widths[1])
        return [[_Piece(x, c) for x, c in zip(xs, row.cells, strict=True)]]
    x = {"left": left, "right": right - total, "center": (left + right - total) / 2}[row.align]
    pieces = []
    for w, c in zip(widths, row.cells, strict=True):
        pieces.append(_Piece(x, c))
        x += w + space
    return [pieces]


@dataclass(frozen=True, slots=True)
class Drawn:
    canvas: Canvas
    spans: dict[str, list[Span]]  # key -> where its text stands
    size: int  # font size in px


def draw(draft: Draft, page: tuple[int, int], rng: random.Random) -> Drawn | None:
    """Draw a draft on a page of at most (width, height) px, or None if it does not fit."""
    width, height = page
    name = rng.choice(FACES)
    wished, spacing = rng.randint(SMALLEST, LARGEST), rng.uniform(1.22, 1.6)
    margin = rng.uniform(6, 22)
    for size in range(wished, SMALLEST - 1, -1):
        face = load_face(name, size)
        placed = [_place(r, face, margin, width - margin) for r in draft.rows]
        if any(p is None for p in placed):
            continue
        pitch = size * spacing
        tall = sum(
            len(p or ()) * pitch + r.gap * size for r, p in zip(draft.rows, placed, strict=True)
        )
        if tall + 10 > height:
            continue
        y = rng.uniform(4, max(4, min(24, height - tall - 4)))
        below = rng.uniform(6, 40)
        cut = min(
            height, -int(-(y + tall + below) // STEP) * STEP
        )  # paper ends soon after the text
        canvas = Canvas((width, cut), rng.randint(222, 255), rng.randint(0, 75))
        spans: dict[str, list[Span]] = {}
        for row, lines in zip(draft.rows, placed, strict=True):
            y += row.gap * size
            if row.rule:
                canvas.rule(y - 2, margin, width - margin)
            for pieces in lines or ():
                made = canvas.row(y, [(p.x, p.cell.text, p.cell.composed) for p in pieces], face)
                for piece, span in zip(pieces, made, strict=True):
                    if piece.cell.key:
                        spans.setdefault(piece.cell.key, []).append(span)
                if row.frame:
                    x = pieces[-1].x
                    wide = x + face.getlength(pieces[-1].cell.text)
                    canvas.frame((x - 4, y - 1, min(wide + 6, width - 2), y + size * 1.2))
                y += pitch
        return Drawn(canvas, spans, size)
    return None


def _answer(drawn: Drawn, groups: list[list[Span]], separator: str) -> tuple[str, tuple[int, ...]]:
    """Text of span groups: spans of a group joined by a space, groups by `separator`."""
    text, indices = "", []
    for g, group in enumerate(groups):
        for s, span in enumerate(group):
            join = separator if s == 0 and g else " " if s else ""
            text += join + drawn.canvas.text_of(span)
            indices += [-1] * len(join) + list(range(span.start, span.stop))
    return text, tuple(indices)


def questions_of(draft: Draft, drawn: Drawn, rng: random.Random) -> tuple[Question, ...]:
    """Every question of a drawn draft: the transcription first, then one an ask."""
    text, indices = _answer(drawn, drawn.canvas.lines, "\n")
    made = [Question("transcribe", "transcribe", ask_for("transcribe", "", rng), text, indices)]
    for a in draft.asks:
        text, indices = _answer(drawn, [drawn.spans[k] for k in a.keys], a.separator)
        question = ask_for(a.type, rng.choice(a.nouns), rng)
        made.append(Question("docvqa", a.type, question, text, indices))
    return tuple(made)
