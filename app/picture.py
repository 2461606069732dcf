"""The pictures of its pages that a trace may carry: taken out before its lines reach the page.

The trace is anyone's, so a picture is read as an upload would be and drawn anew from its pixels.
"""

from __future__ import annotations

import base64
import json
from typing import Any

from app.preview import MAX_SIDE, inline
from glance.documents.intake import load_document
from glance.trace import TraceError, dumps

IMAGES = ("image", "second_image")  # of the header


def take_picture(text: str) -> tuple[str, str | None]:
    """The trace's text without its pictures, and what the document region shows of them.

    Text without a picture comes back as it is, with None, whether it is a trace or not.

    Raises:
        TraceError: a picture cannot be read.
    """
    first, _, rest = text.lstrip().partition("\n")
    try:
        header = json.loads(first)
        images = [header[key] for key in IMAGES if "bytes" in header.get(key, ())]
        pictures = [(image.pop("bytes"), image) for image in images]
        stripped = dumps(header).encode("utf-8", "replace").decode()
    except (TypeError, ValueError, AttributeError, RecursionError):
        return text, None
    if not pictures:
        return text, None
    try:
        shown = [_shown(url, image) for url, image in pictures]
    except (AttributeError, ValueError) as error:  # ValueError: from base64, or a DocumentError
        raise TraceError("The picture of the page in this trace cannot be read.") from error
    value = {**shown[0], "second": shown[1] if len(shown) > 1 else None}
    return f"{stripped}\n{rest}", json.dumps(value)


def _shown(url: Any, image: dict[str, Any]) -> dict[str, Any]:
    """One page for the document region, which knows it by the hash and part on record."""
    kind, _, encoded = url.partition(";base64,")
    if not kind.startswith("data:image/"):
        raise ValueError("not a data: URL of an image")
    picture = load_document(base64.b64decode(encoded, validate=True)).image
    name = str(image.get("name", "document"))
    return {
        "src": inline(picture, MAX_SIDE),
        "alt": f"The document {name}",
        "name": name,
        "width": picture.width,
        "height": picture.height,
        "sha256": image.get("sha256"),
        "page": image.get("page", 1),
        "crop": image.get("crop"),
        "notices": [],
        "copy": True,  # it can be looked at, not asked about
    }
