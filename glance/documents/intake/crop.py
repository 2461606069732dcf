"""A part of a page, cut from its full resolution."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

from glance.documents.intake.document import Crop, Document, DocumentError, Notice, check_shape


def crop_document(document: Document, crop: Crop) -> Document:
    """The part of a whole page within `crop`, with the glyphs that lie in it.

    Raises:
        DocumentError: the sides are out of order or off the page, or hold too little.
    """
    left, top, right, bottom = crop
    if not (0 <= left < right <= 1 and 0 <= top < bottom <= 1):
        raise DocumentError(
            "A crop goes from left to right and from top to bottom within the page: "
            "choose its sides anew."
        )
    width, height = document.image.size
    x0, y0 = round(left * width), round(top * height)
    x1, y1 = round(right * width), round(bottom * height)
    check_shape((x1 - x0, y1 - y0), "crop")
    text = f"A part of the page is read: {x1 - x0} x {y1 - y0} of {width} x {height} pixels."
    return replace(
        document,
        image=document.image.crop((x0, y0, x1, y1)),
        notices=(*document.notices, Notice("info", "crop", text)),
        glyphs=document.glyphs and _within(document.glyphs, (x0, y0, x1, y1)),
        crop=crop,
    )


def _within(glyphs: Sequence[dict[str, Any]], cut: tuple[int, ...]) -> list[dict[str, Any]]:
    """The glyphs whose middle is in the cut, with what of their boxes is."""
    x0, y0, x1, y1 = cut
    kept = []
    for glyph in glyphs:
        left, top, right, bottom = glyph["box"]
        if x0 <= (left + right) / 2 < x1 and y0 <= (top + bottom) / 2 < y1:
            box = [max(left, x0) - x0, max(top, y0) - y0, min(right, x1) - x0, min(bottom, y1) - y0]
            kept.append({**glyph, "box": box})
    return kept
