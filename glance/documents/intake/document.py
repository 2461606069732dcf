"""What every file becomes: one upright RGB page, with what the reader should know about it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from PIL import Image

MAX_PIXELS = 40_000_000  # one decoded page: 120 MB as RGB
MAX_PAGES = 1000  # of one file
MIN_SIDE = 28  # pixels; the smallest cell a vision tower of this kind can take
MAX_ASPECT = 50  # longer side over shorter side; a receipt has up to 20

Crop = tuple[float, float, float, float]  # left, top, right, bottom in 0..1 of the page


class DocumentError(ValueError):
    """What is wrong with a document or a question, in one plain sentence that says what to do."""


@dataclass(frozen=True, slots=True)
class Notice:
    """Something the reader should know about the page although it was accepted."""

    level: str  # "info" or "warning"
    code: str  # stable, for tests and traces: "page", "animation", "downscaled", "transparent"
    text: str


@dataclass(frozen=True, slots=True)
class Document:
    """One page, or a part of it, ready to be asked about."""

    image: Image.Image  # RGB, upright, no metadata
    notices: tuple[Notice, ...]
    page: int  # counted from 1
    pages: int
    original_size: tuple[int, int]  # (width, height) in pixels, as the file's header has it
    sha256: str  # of the file's bytes
    name: str
    orientation: int = 1  # the EXIF orientation that was undone, 1 to 8
    glyphs: list[dict[str, Any]] | None = None  # [{"char", "box": [x0, y0, x1, y1]}], pixels
    kind: str = ""  # of file: "PNG", "JPEG", "PDF", ...
    mode: str = "RGB"  # of the file's pixels, in Pillow's words
    crop: Crop | None = None  # which part of the page; None for all of it


def page_notice(page: int, pages: int) -> Notice:
    """Which page of several is shown.

    Raises:
        DocumentError: there is no such page.
    """
    if not 1 <= page <= pages:
        raise DocumentError(
            f"There is no page {page}: choose a page from 1 to {pages}."
            if pages > 1
            else f"There is no page {page}: the file has one page, so choose page 1."
        )
    return Notice("info", "page", f"Page {page} of {pages}.")


def check_pages(pages: int) -> None:
    """Refuse a file of too many pages, as a DocumentError."""
    if pages > MAX_PAGES:
        raise DocumentError(
            f"The file has more than {MAX_PAGES:,} pages: save those you ask about as a file of "
            "their own."
        )


def check_shape(size: tuple[int, int], what: str = "image") -> None:
    """Refuse what is too small or too thin to read, as a DocumentError."""
    width, height = size
    if min(width, height) < MIN_SIDE:
        raise DocumentError(
            f"The {what} is {width} x {height} pixels, too small to read: choose one of at least "
            f"{MIN_SIDE} pixels a side."
        )
    if max(width, height) > MAX_ASPECT * min(width, height):
        raise DocumentError(
            f"The {what} is {width} x {height} pixels, a strip too thin to read: crop it to the "
            "part you ask about."
        )
