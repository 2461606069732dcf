"""Gemma 3: most layers look no further back than a window."""

from __future__ import annotations

from typing import Any

from glance.targets.base import FULL, SLIDING
from glance.targets.counted import Counted


class Gemma3(Counted):
    """Adapter for Gemma 3.

    Its cache keeps every token in every layer, and the window is in the mask: a cache that drops
    what left the window could not be compacted by row number.
    """

    layer_kinds = frozenset({FULL, SLIDING})

    def most_pixels(self, processor: Any) -> int:
        """One square an image."""
        size = processor.image_processor.size
        return size["height"] * size["width"]
