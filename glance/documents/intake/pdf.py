"""Pages of PDF files, each drawn by PDFium in a process of its own."""

from __future__ import annotations

import hashlib
from pathlib import Path
from typing import Any

from PIL import Image

from glance.documents.intake.apart import read_apart
from glance.documents.intake.document import (
    MAX_PIXELS,
    Document,
    DocumentError,
    check_pages,
    check_shape,
    page_notice,
)

BOM = b"\xef\xbb\xbf"
DRAW = Path(__file__).with_name("draw_pdf.py")
#: A PDF has no pixels of its own. At two a point, print of 5 to 12 points is 10 to 24 px tall, just
#: what the embedded target was trained on: a crop at full resolution can be read, and a whole page
#: is reduced like a scan.
DPI = 144
SECONDS = 30  # for one page; most take less than one

LOCKED = "The PDF is locked with a password: save a copy without one and choose that."
DAMAGED = "The PDF is damaged or cut off: copy or save it again."
UNDRAWN = "This page of the PDF cannot be drawn: save it as PNG or JPEG and choose that."
ENDLESS = "This page of the PDF takes too long to draw: save it as PNG or JPEG and choose that."


def is_pdf(data: bytes) -> bool:
    """Whether the bytes are those of a PDF."""
    return data[:1024].removeprefix(BOM).lstrip().startswith(b"%PDF-")


def read_pdf(data: bytes, page: int, name: str) -> Document:
    """One page of a PDF, at 144 dpi; a page too large for that, at as many as fit.

    Args:
        data: the bytes of the file.
        page: which page, counted from 1.
        name: what to call the document.

    Raises:
        DocumentError: the file cannot be used, or has no such page.
    """
    told, pixels = _drawn(data, page)
    pages = told["pages"]
    check_pages(pages)
    notice = page_notice(page, pages)
    size = told["width"], told["height"]
    check_shape(size, "page")
    return Document(
        image=Image.frombytes("RGB", size, pixels, "raw", "RGB", len(pixels) // size[1]),
        notices=(notice,) if pages > 1 else (),
        page=page,
        pages=pages,
        original_size=size,
        sha256=hashlib.sha256(data).hexdigest(),
        name=name,
        kind="PDF",
    )


def _drawn(data: bytes, page: int) -> tuple[dict[str, Any], bytes]:
    """What the drawing process tells of the file, and the page's pixels."""
    numbers = page, DPI, MAX_PIXELS
    told, pixels = read_apart(DRAW, numbers, data, SECONDS, endless=ENDLESS, failed=UNDRAWN)
    if "error" in told:
        raise DocumentError(LOCKED if told["error"] == "locked" else DAMAGED)
    return told, pixels
