"""A page that remembers where every glyph was drawn.

`Canvas.row` draws one visual line and records each character with its box; a `Span` names a
run of characters and is what questions refer to. The canvas knows nothing about documents.
"""

from dataclasses import dataclass, field
from functools import cache
from pathlib import Path

from PIL import Image, ImageDraw, ImageFont

FONTS = Path(__file__).resolve().parents[2] / "assets" / "fonts"
FACES = (
    "DejaVuSansMono.ttf",
    "LiberationSans-Regular.ttf",
    "LiberationSerif-Regular.ttf",
    "OpenSans-Regular.ttf",
)


@cache
def load_face(name: str, size: int) -> ImageFont.FreeTypeFont:
    """A vendored face at `size` px, laid out by FreeType alone (same pixels everywhere)."""
    return ImageFont.truetype(str(FONTS / name), size, layout_engine=ImageFont.Layout.BASIC)


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
    paper: int  # grey level of the paper, 0..255
    ink: int
    glyphs: list[Glyph] = field(default_factory=list)
    lines: list[list[Span]] = field(default_factory=list)  # visual lines, top to bottom
    image: Image.Image = field(init=False)
    _draw: ImageDraw.ImageDraw = field(init=False)

    def __post_init__(self) -> None:
        self.image = Image.new("L", self.size, self.paper)
        self._draw = ImageDraw.Draw(self.image)

    def row(
        self,
        y: float,
        pieces: list[tuple[float, str, bool]],  # (x, text, composed), left to right
        face: ImageFont.FreeTypeFont,
    ) -> list[Span]:
        """Draw one visual line; returns a span a piece."""
        spans = []
        ascent, descent = face.getmetrics()
        for x, text, composed in pieces:
            self._draw.text((x, y), text, font=face, fill=self.ink)
            start, left = len(self.glyphs), x
            for i, char in enumerate(text):
                right = x + face.getlength(text[: i + 1])
                self.glyphs.append(Glyph(char, (left, y, right, y + ascent + descent), composed))
                left = right
            spans.append(Span(start, len(self.glyphs)))
        self.lines.append(spans)
        return spans

    def rule(self, y: float, left: float, right: float) -> None:
        self._draw.line((left, y, right, y), fill=(self.ink + self.paper) // 2)

    def frame(self, box: tuple[float, float, float, float]) -> None:
        self._draw.rectangle(box, outline=(self.ink + self.paper) // 2)

    def text_of(self, span: Span) -> str:
        return "".join(g.char for g in self.glyphs[span.start : span.stop])
