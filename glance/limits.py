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
class Limits:
    """What a target needs of a page and a question."""

    text_px: int | None = None  # smallest body text that it reads, after its own resizing
    largest_pixels: int | None = None  # a page is reduced to at most this many pixels
    latin_only: bool = False

    @property
    def remark(self) -> str | None:
        """What to say of the target before anything is asked."""
        return LATIN_ONLY if self.latin_only else None

    def of_page(self, image: Image) -> tuple[Notice, ...]:
        """A notice where the text of an RGB image, at its own size, will be too small."""
        if self.text_px is None:
            return ()
        height = text_height(image)
        if height is None:
            return ()
        if self.largest_pixels is not None:
            height *= min(1.0, math.sqrt(self.largest_pixels / (image.width * image.height)))
        px = max(1, round(height))
        if px >= self.text_px:
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
LIMITS = {"embedded": Limits(text_px=10, largest_pixels=448 * 448, latin_only=True)}


def limits_of(target: str) -> Limits:
    """The limits of the target of this name."""
    return LIMITS.get(target, Limits())


def _is_latin(char: str) -> bool:
    """Whether a character is a Latin letter, or no letter at all."""
    return not char.isalpha() or "LATIN" in unicodedata.name(char, "")
