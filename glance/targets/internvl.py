"""InternVL, in the layout of transformers: checkpoints whose names end in -hf."""

from __future__ import annotations

from typing import Any

from glance.targets.counted import Counted


class InternVL(Counted):
    """Adapter for InternVL, whose InternViT tower sees up to a dozen square tiles."""

    def most_pixels(self, processor: Any) -> int:
        """All tiles that an image may be cut into."""
        images = processor.image_processor
        return images.size["height"] * images.size["width"] * images.max_patches
