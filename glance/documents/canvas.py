"""A page that remembers where every glyph was drawn.

`Canvas.row` draws one visual line and records each character with its box; a `Span` names a
run of characters and is what questions refer to. The canvas knows nothing about documents.
"""

from dataclasses import dataclass, field
from functools import cache
from itertools import zip_longest

from PIL import Image, ImageDraw, ImageFont

Colour = tuple[int, int, int]


@cache
def _advance(face: ImageFont.FreeTypeFont, char: str, following: str) -> float:
    """How far the pen moves over `char` before `following`, kerning included, px."""
    return face.getlength(char + following) - face.getlength(following)


@dataclass(frozen=True, slots=True)
class Glyph:
    char: str
    box: tuple[float, float, float, float]  # pixels: left, top, right, bottom
    composed: bool  # part of a random value, not of a word list

    @property
    def middle(self) -> tuple[float, float]:
        """Where the letter's body is: a little under the middle of the box."""
        x0, y0, x1, y1 = self.box
        return (x0 + x1) / 2, y0 + 0.55 * (y1 - y0)


@dataclass(frozen=True, slots=True)
class Span:
    """Glyphs [start, stop) of a page, drawn in one piece."""

    start: int
    stop: int


@dataclass(slots=True)
class Canvas:
    size: tuple[int, int]  # width, height in pixels
    paper: Colour
    ink: Colour
    glyphs: list[Glyph] = field(default_factory=list)
    lines: list[list[Span]] = field(default_factory=list)  # visual lines in reading order
    image: Image.Image = field(init=False)
    draw: ImageDraw.ImageDraw = field(init=False)

    def __post_init__(self) -> None:
        self.image = Image.new("RGB", self.size, self.paper)
        self.draw = ImageDraw.Draw(self.image)

    def row(
        self,
        y: float,
        pieces: list[tuple[float, str, bool]],  # (x, text, composed), left to right
        face: ImageFont.FreeTypeFont,
        ink: Colour | None = None,
    ) -> list[Span]:
        """Draw one visual line; returns a span a piece."""
        spans = []
        ascent, descent = face.getmetrics()
        for x, text, composed in pieces:
            self.draw.text((x, y), text, font=face, fill=ink or self.ink)
            start, left = len(self.glyphs), x
            for char, following in zip_longest(text, text[1:], fillvalue=""):
                right = left + _advance(face, char, following)
                self.glyphs.append(Glyph(char, (left, y, right, y + ascent + descent), composed))
                left = right
            spans.append(Span(start, len(self.glyphs)))
        self.lines.append(spans)
        return spans

    def text_of(self, span: Span) -> str:
        return "".join(g.char for g in self.glyphs[span.start : span.stop])
