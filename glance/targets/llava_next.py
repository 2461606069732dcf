"""LLaVA-NeXT, also called LLaVA 1.6."""

from __future__ import annotations

from math import prod
from typing import Any

from glance.targets.counted import Counted


class LlavaNext(Counted):
    """Adapter for LLaVA-NeXT, whose CLIP tower sees tiles of the best of a few canvases."""

    def most_pixels(self, processor: Any) -> int:
        """The largest canvas that an image can be fitted into."""
        return max(map(prod, processor.image_processor.image_grid_pinpoints))
