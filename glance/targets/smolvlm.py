"""SmolVLM and Idefics3."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import torch

from glance.targets.counted import Counted


class SmolVLM(Counted):
    """Adapter for SmolVLM and Idefics3, whose SigLIP tower sees tiles and a small whole."""

    def text_layers(self, model: Any) -> Sequence[torch.nn.Module]:
        """The decoder layers of the language model."""
        return model.model.text_model.layers

    def most_pixels(self, processor: Any) -> int:
        """Images are scaled until their longer side has a fixed length, then cut into tiles."""
        return processor.image_processor.size["longest_edge"] ** 2
