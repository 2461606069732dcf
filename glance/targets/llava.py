"""LLaVA 1.5."""

from __future__ import annotations

from typing import Any

from glance.targets.counted import Counted


class Llava(Counted):
    """Adapter for LLaVA 1.5, whose CLIP tower sees one square."""

    def most_pixels(self, processor: Any) -> int:
        """The square that the processor cuts out of the middle of every image."""
        crop = processor.image_processor.crop_size
        return crop["height"] * crop["width"]
