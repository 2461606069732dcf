"""A document as the page shows it: our own preview, whatever format the file had."""

from __future__ import annotations

import base64
import io
import json
from collections.abc import Sequence
from typing import Any

from PIL import Image

from app.session import TARGET
from glance.documents.intake import Document, Notice
from glance.limits import limits_of

MAX_SIDE = 1400  # pixels; sharper than the frame it is shown in


def document_value(*documents: Document) -> str:
    """The value of the document region: JSON with the pictures inlined, so no file is served."""
    return look(documents)[0]


def look(documents: Sequence[Document]) -> tuple[str, tuple[Notice, ...]]:
    """One page or two in the document region, and all that the reader should know of them.

    Returns:
        The region's value, and the notices, that text will be too small among them.
    """
    if not documents:
        return "null", ()
    pages, notices = zip(*map(_page, documents), strict=True)
    told = tuple(dict.fromkeys(notice for some in notices for notice in some))
    first = documents[0]
    value = {
        **pages[0],
        "name": first.name,
        "kind": first.kind,
        "mode": first.mode,
        "sha256": first.sha256,
        "pages": first.pages,
        "crop": first.crop,
        "notices": [notice.text for notice in told],
        "glyphs": _glyphs(first),
        "second": pages[1] if len(pages) > 1 else None,
    }
    return json.dumps(value, ensure_ascii=False), told


def _page(document: Document) -> tuple[dict[str, Any], tuple[Notice, ...]]:
    """One page: its picture, and how the model will see it."""
    limits, size = limits_of(TARGET), document.image.size
    text_px = limits.text_seen(document.image)
    small = limits.of_text(text_px)
    place = f", page {document.page} of {document.pages}" if document.pages > 1 else ""
    value = {
        "src": inline(document.image, MAX_SIDE),
        "alt": f"The document {document.name}{place}",
        "page": document.page,
        "width": size[0],
        "height": size[1],
        "processed": limits.geometry and limits.geometry.resized(size),
        "tokens": limits.geometry and limits.geometry.visual_tokens(size),
        "text_px": None if small else text_px,  # else the notice tells
    }
    return value, (*document.notices, *small)


def _glyphs(document: Document) -> dict[str, Any] | None:
    """The inked characters of a generated page in reading order, and their boxes in 0..1."""
    if not document.glyphs:
        return None
    width, height = document.image.size
    inked = [glyph for glyph in document.glyphs if not glyph["char"].isspace()]
    scale = (width, height, width, height)
    return {
        "ink": "".join(glyph["char"][:1] for glyph in inked),
        "boxes": [
            [round(side / of, 4) for side, of in zip(glyph["box"], scale, strict=True)]
            for glyph in inked
        ],
    }


def inline(image: Image.Image, side: int) -> str:
    """An image as a data URL, its longer side at most `side` pixels."""
    small = image.copy()
    small.thumbnail((side, side))
    buffer = io.BytesIO()
    small.save(buffer, "WEBP", quality=88)
    return "data:image/webp;base64," + base64.b64encode(buffer.getvalue()).decode("ascii")
