"""A document as the page shows it: our own preview, whatever format the file had."""

from __future__ import annotations

import base64
import io
import json
from typing import Any

from PIL import Image

from glance.documents.intake import Document

MAX_SIDE = 1400  # pixels; sharper than the frame it is shown in


def document_value(document: Document | None) -> str:
    """The value of the document region: JSON with the picture inlined, so no file is served."""
    if document is None:
        return "null"
    width, height = document.image.size
    return json.dumps(
        {
            "src": inline(document.image, MAX_SIDE),
            "alt": f"The document {document.name}, page {document.page} of {document.pages}",
            "name": document.name,
            "width": width,
            "height": height,
            "sha256": document.sha256,
            "notices": [notice.text for notice in document.notices],
            "glyphs": _glyphs(document),
        },
        ensure_ascii=False,
    )


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
