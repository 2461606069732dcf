"""What a target is known not to read, said before it answers. No torch.

Warnings, never refusals: the answer is given, and may be right.
"""

from __future__ import annotations

import math
import unicodedata
from dataclasses import dataclass
from typing import TYPE_CHECKING

from glance.documents.intake import Notice
from glance.documents.legibility import text_height

if TYPE_CHECKING:
    from PIL.Image import Image

LATIN_ONLY = "This model reads Latin letters only."
UNLIKE = Notice("warning", "unlike", "This page looks unlike what the embedded model reads.")


@dataclass(frozen=True, slots=True)
class Geometry:
    """How a target resizes a page: to whole cells, one visual token each."""

    cell: int  # pixels a side
    smallest: int  # pixels of a page in all, after resizing
    largest: int

    def resized(self, size: tuple[int, int]) -> tuple[int, int]:
        """Width and height at which a page of this size is seen.

        The rule of the Qwen-VL image processors (`smart_resize`), without loading transformers.
        """
        width, height = size
        columns, rows = round(width / self.cell), round(height / self.cell)
        area, cells = width * height, columns * rows * self.cell**2
        if cells > self.largest:
            by = math.sqrt(area / self.largest)
            columns = max(1, math.floor(width / by / self.cell))
            rows = max(1, math.floor(height / by / self.cell))
        elif cells < self.smallest:
            by = math.sqrt(self.smallest / area)
            columns = math.ceil(width * by / self.cell)
            rows = math.ceil(height * by / self.cell)
        return columns * self.cell, rows * self.cell

    def visual_tokens(self, size: tuple[int, int]) -> int:
        """How many visual tokens a page of this size becomes."""
        width, height = self.resized(size)
        return width * height // self.cell**2


@dataclass(frozen=True, slots=True)
class Limits:
    """What a target needs of a page and a question."""

    text_px: int | None = None  # smallest body text that it reads, after its own resizing
    geometry: Geometry | None = None
    latin_only: bool = False

    @property
    def remark(self) -> str | None:
        """What to say of the target before anything is asked."""
        return LATIN_ONLY if self.latin_only else None

    def text_seen(self, image: Image) -> int | None:
        """Font size in px of an RGB image's body text as the target will see it.

        None where there is no text, or it is not known how the target resizes.
        """
        if self.geometry is None:
            return None
        height = text_height(image)
        if height is None:
            return None
        return max(1, round(height * self.geometry.resized(image.size)[1] / image.height))

    def of_text(self, px: int | None) -> tuple[Notice, ...]:
        """A notice where body text that is seen at a font size of `px` is too small."""
        if px is None or self.text_px is None or px >= self.text_px:
            return ()
        text = (
            f"Text will be about {px} px after resizing; this model needs {self.text_px} or more."
        )
        return (Notice("warning", "small-text", text),)

    def of_question(self, question: str) -> tuple[Notice, ...]:
        """A notice where a question holds letters of another script."""
        if not self.latin_only or all(map(_is_latin, unicodedata.normalize("NFKC", question))):
            return ()
        return (Notice("warning", "other-letters", LATIN_ONLY),)


#: by the name of the target; any other is not known to have limits
LIMITS = {
    "embedded": Limits(
        text_px=10,
        geometry=Geometry(cell=14, smallest=56 * 56, largest=448 * 448),
        latin_only=True,
    )
}


def limits_of(target: str) -> Limits:
    """The limits of the target of this name."""
    return LIMITS.get(target, Limits())


def _is_latin(char: str) -> bool:
    """Whether a character is a Latin letter, or no letter at all."""
    return not char.isalpha() or "LATIN" in unicodedata.name(char, "")
