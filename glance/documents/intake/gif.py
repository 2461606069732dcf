"""The first frame of a GIF, which another process takes out of it."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from glance.documents.intake.apart import read_apart
from glance.documents.intake.document import MAX_PIXELS

DRAW = Path(__file__).with_name("draw_gif.py")
SECONDS = 10  # a page takes a fraction of one

DAMAGED = "The image file is damaged or cut off: copy or save it again."
ENDLESS = "The GIF takes too long to read: save the page as PNG and choose that."


def is_gif(data: bytes) -> bool:
    """Whether the bytes are those of a GIF."""
    return data[:6] in (b"GIF87a", b"GIF89a")


def first_frame(data: bytes) -> tuple[dict[str, Any], bytes]:
    """What there is to know of a GIF, {"frames", "mode", "size"}, and its first frame as a PNG.

    Raises:
        DocumentError: it is damaged, or takes longer than any page should.
    """
    return read_apart(DRAW, (MAX_PIXELS,), data, SECONDS, endless=ENDLESS, failed=DAMAGED)
