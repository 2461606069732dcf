"""The drawing surface that document layouts write on.

A layout is a function of one `Sheet`: it draws text, line by line in reading order, and says what
may be asked about it. Text is real type at real sizes; a text that does not fit raises
`TooFullError`, and the page is drawn again with less on it.
"""

import random
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Literal

from PIL import ImageDraw, ImageFont

from glance.documents.canvas import Canvas, Colour, Span
from glance.documents.faces import Face, load_face
from glance.documents.fields import nouns_of
from glance.documents.values import Value, Values

SMALLEST_PITCH = 14.0  # px between lines: no two lines share a visual token's centre line
Align = Literal["left", "right", "center", "split", "wrap"]


class TooFullError(Exception):
    """The page has no room for what the layout wanted to draw."""


@dataclass(frozen=True, slots=True)
class Cell:
    text: str
    composed: bool = False  # a random value rather than words of a list
    key: str = ""  # what questions call it; "" when nothing refers to it


@dataclass(frozen=True, slots=True)
class At:
    """A cell at a horizontal place: `x` is its left edge, right edge or middle, in px."""

    x: float
    cell: Cell
    anchor: Literal["left", "right", "center"] = "left"


@dataclass(frozen=True, slots=True)
class Ask:
    """Something that can be asked: the answer is the text of `groups`.

    Keys of a group are joined by a space, groups by `separator`.
    """

    task: str
    type: str  # an entry of the fields table
    nouns: tuple[str, ...]  # ways to name it, e.g. "the total", "the total amount"
    groups: tuple[tuple[str, ...], ...]
    separator: str = ", "
    then: "Ask | None" = None  # a follow-up that makes sense only after this one


@dataclass(slots=True)
class Sheet:
    """One page being drawn. All lengths are px; `size` is the body text's."""

    v: Values
    canvas: Canvas
    face: Face
    size: int
    room: float  # 0..1: how much the layout should put on the page
    spacing: float  # line pitch over font size
    margin: float
    task: str = "docvqa"  # what its questions belong to
    y: float = 0.0  # top of the next flowing line
    asks: list[Ask] = field(default_factory=list)
    keys: dict[str, list[Span]] = field(default_factory=dict)
    values: list[str] = field(default_factory=list)
    left: float = field(init=False)  # edges of the column that text flows in
    right: float = field(init=False)
    bottom: float = field(init=False)
    lowest: float = 0.0  # bottom of the lowest thing drawn

    def __post_init__(self) -> None:
        self.left, self.right = self.margin, self.width - self.margin
        self.bottom = self.height - 4.0
        self.y = self.y or self.margin * 0.6

    @property
    def rng(self) -> random.Random:
        return self.v.rng

    @property
    def width(self) -> int:
        return self.canvas.size[0]

    @property
    def height(self) -> int:
        return self.canvas.size[1]

    @property
    def ink(self) -> Colour:
        return self.canvas.ink

    @property
    def paper(self) -> Colour:
        return self.canvas.paper

    @property
    def draw(self) -> ImageDraw.ImageDraw:
        """For shapes; text goes through `line` and `flow`, which record it."""
        return self.canvas.draw

    # --- measures
    def font(self, scale: float = 1.0, bold: bool = False) -> ImageFont.FreeTypeFont:
        return load_face(self.face, max(10, round(self.size * scale)), bold)

    def measure(self, text: str, scale: float = 1.0, bold: bool = False) -> float:
        """Width of a text in px."""
        return self.font(scale, bold).getlength(text)

    def pitch(self, scale: float = 1.0) -> float:
        """Height that one line of text takes, px."""
        return max(SMALLEST_PITCH, self.size * scale * self.spacing)

    def shade(self, level: float) -> Colour:
        """A colour between paper (0) and ink (1), for rules, boxes and fills."""
        mixed = [round(p + (i - p) * level) for p, i in zip(self.paper, self.ink, strict=True)]
        return mixed[0], mixed[1], mixed[2]

    # --- values
    def cell(self, value: Value, key: str = "") -> Cell:
        """A cell for a value; it is noted as one of the page's values."""
        self.values.append(value.text)
        return Cell(value.text, value.composed, key)

    # --- text
    def line(
        self,
        y: float,
        *pieces: At,
        scale: float = 1.0,
        bold: bool = False,
        ink: Colour | None = None,
    ) -> None:
        """Draw one visual line, its pieces from left to right; it is one line of the transcription.

        Raises TooFullError when a piece leaves the page or runs into the next one.
        """
        face = self.font(scale, bold)
        placed = []
        edge = 2.0
        for piece in pieces:
            wide = face.getlength(piece.cell.text)
            x = {"left": piece.x, "right": piece.x - wide, "center": piece.x - wide / 2}[
                piece.anchor
            ]
            if x < edge or x + wide > self.width - 2:
                raise TooFullError(piece.cell.text)
            placed.append((x, piece.cell.text, piece.cell.composed))
            edge = x + wide + 0.2 * self.size
        low = y + sum(face.getmetrics())
        if y < 0 or low > self.height - 1:
            raise TooFullError("too low")
        self.lowest = max(self.lowest, low)
        for piece, span in zip(pieces, self.canvas.row(y, placed, face, ink), strict=True):
            if piece.cell.key:
                self.keys.setdefault(piece.cell.key, []).append(span)

    def flow(
        self,
        *cells: Cell | str,
        align: Align = "left",
        gap: float = 0.0,  # extra space above, in font sizes
        scale: float = 1.0,
        bold: bool = False,
        ink: Colour | None = None,
    ) -> float:
        """Add a line (or, with "wrap", a paragraph) to the column; returns the y of its top.

        "split" puts the first cell left and the others right; "wrap" breaks cells at spaces.
        """
        made = [Cell(c) if isinstance(c, str) else c for c in cells]
        self.y += gap * self.size
        top = self.y
        lines = self._wrap(made, scale, bold) if align == "wrap" else [made]
        for row in lines:
            if self.y + self.size * scale > self.bottom:
                raise TooFullError("column")
            self.line(
                self.y, *self._across(row, align, scale, bold), scale=scale, bold=bold, ink=ink
            )
            self.y += self.pitch(scale)
        return top

    def _across(self, cells: Sequence[Cell], align: Align, scale: float, bold: bool) -> list[At]:
        wide = [self.measure(c.text, scale, bold) for c in cells]
        space = self.measure(" " if align == "wrap" else "  ", scale, bold)
        total = sum(wide) + space * (len(cells) - 1)
        if total > self.right - self.left:
            raise TooFullError("line")
        if align == "split":
            out, x = [], self.right
            for c, w in zip(reversed(cells[1:]), reversed(wide[1:]), strict=True):
                out.append(At(x - w, c))
                x -= max(w, self.measure("000.00")) + space
            return [At(self.left, cells[0]), *reversed(out)]
        x = {"right": self.right - total, "center": (self.left + self.right - total) / 2}.get(
            align, self.left
        )
        out = []
        for c, w in zip(cells, wide, strict=True):
            out.append(At(x, c))
            x += w + space
        return out

    def _wrap(self, cells: Sequence[Cell], scale: float, bold: bool) -> list[list[Cell]]:
        """Break at spaces into lines; words of one cell stay one cell a line."""
        lines: list[list[tuple[int, str]]] = [[]]
        used, space = 0.0, self.measure(" ", scale, bold)
        for n, c in enumerate(cells):
            for word in c.text.split(" "):
                w = self.measure(word, scale, bold)
                if used and used + space + w > self.right - self.left:
                    lines.append([])
                    used = 0.0
                line = lines[-1]
                if line and line[-1][0] == n:
                    line[-1] = (n, f"{line[-1][1]} {word}")
                else:
                    line.append((n, word))
                used += w + (space if used else 0.0)
        return [[Cell(t, cells[n].composed, cells[n].key) for n, t in line] for line in lines]

    @contextmanager
    def column(self, left: float, right: float, y: float | None = None) -> Iterator[None]:
        """Let text flow between two edges, from `y`; afterwards the old edges hold again.

        The cursor then stands where the lower of both columns ended.
        """
        before = self.left, self.right, self.y
        self.left, self.right = left, right
        self.y = self.y if y is None else y
        yield
        self.left, self.right = before[:2]
        self.y = max(self.y, before[2])

    # --- shapes
    def rule(self, y: float, left: float | None = None, right: float | None = None) -> None:
        """A thin line across the column."""
        self.draw.line(
            (self.left if left is None else left, y, self.right if right is None else right, y),
            fill=self.shade(0.5),
        )

    def frame(self, box: tuple[float, float, float, float], fill: Colour | None = None) -> None:
        """A box (left, top, right, bottom) around something; draw it before its text."""
        self.lowest = max(self.lowest, box[3])
        self.draw.rectangle(box, outline=self.shade(0.5), fill=fill)

    # --- questions
    def ask(
        self,
        type_: str,
        *keys: str | tuple[str, ...],
        nouns: str = "",
        separator: str = ", ",
        then: Ask | None = None,
    ) -> Ask:
        """Let `keys` be asked for under the name(s) of the field `type_`, or under `nouns`.

        A key that is a tuple is a group: its texts stand together, joined by spaces. `nouns` names
        the thing in one or more ways parted by "|" and is needed where the name depends on the
        page, such as "the price of tea".
        """
        groups = tuple(k if isinstance(k, tuple) else (k,) for k in keys)
        names = tuple(nouns.split("|")) if nouns else nouns_of(type_)
        made = Ask(self.task, type_, names, groups, separator, then)
        self.asks.append(made)
        return made
