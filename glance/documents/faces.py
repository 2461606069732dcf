"""The vendored faces, all free and Latin; two of them are never used in training."""

from dataclasses import dataclass
from functools import cache
from pathlib import Path

from PIL import ImageFont

FONTS = Path(__file__).resolve().parents[2] / "assets" / "fonts"


@dataclass(frozen=True, slots=True)
class Face:
    name: str
    file: str
    bold: str = ""  # file of the bold cut, if there is one
    mono: bool = False


FACES = (
    Face("DejaVu Sans", "DejaVuSans.ttf", "DejaVuSans-Bold.ttf"),
    Face("DejaVu Sans Mono", "DejaVuSansMono.ttf", mono=True),
    Face("DejaVu Serif", "DejaVuSerif.ttf"),
    Face("Liberation Sans", "LiberationSans-Regular.ttf", "LiberationSans-Bold.ttf"),
    Face("Liberation Serif", "LiberationSerif-Regular.ttf"),
    Face("Liberation Mono", "LiberationMono-Regular.ttf", mono=True),
    Face("Open Sans", "OpenSans-Regular.ttf", "OpenSans-Bold.ttf"),
    Face("Roboto", "Roboto-Regular.ttf"),
    Face("Roboto Condensed", "RobotoCondensed-Regular.ttf"),
    Face("Roboto Slab", "RobotoSlab-Regular.otf"),
    Face("Comic Neue", "ComicNeue-Regular.otf", "ComicNeue-Bold.otf"),
)
UNSEEN = (  # for the unseen-faces test set only
    Face("Carlito", "Carlito-Regular.ttf"),
    Face("Caladea", "Caladea-Regular.ttf"),
)


@cache
def load_face(face: Face, size: int, bold: bool = False) -> ImageFont.FreeTypeFont:
    """A face at `size` px, laid out by FreeType alone (same pixels everywhere)."""
    file = (bold and face.bold) or face.file
    return ImageFont.truetype(str(FONTS / file), size, layout_engine=ImageFont.Layout.BASIC)
