"""Positions on three axes, moved by each image's grid: what the Qwen-VL generations share."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import torch
from torch import Tensor

from glance.targets.base import FULL
from glance.targets.positions import mrope_positions
from glance.types import Prompt

if TYPE_CHECKING:
    from PIL.Image import Image


class MRope:
    """Base of their adapters; they differ in how the axes share a head, not in positions."""

    layer_kinds = frozenset({FULL})

    def text_layers(self, model: Any) -> Sequence[torch.nn.Module]:
        """The decoder layers of the language model."""
        return model.model.language_model.layers

    def prompt_positions(self, model: Any, prompt: Prompt) -> tuple[Tensor, int]:
        """[3, 1, n] from the grids of all images. Leaves the model's own position state alone."""
        positions, delta = model.model.get_rope_index(
            prompt.input_ids,
            mm_token_type_ids=prompt.model_inputs["mm_token_type_ids"],
            image_grid_thw=prompt.model_inputs.get("image_grid_thw"),
            attention_mask=torch.ones_like(prompt.input_ids),
        )
        return positions, int(delta.item())

    def step_positions(self, first: int, depths: Tensor) -> Tensor:
        """[3, 1, rows]."""
        return mrope_positions(first, depths)

    def processed_images(
        self, model: Any, images: Sequence[Image], model_inputs: dict[str, Tensor]
    ) -> tuple[Image, ...]:
        """Resized to the grid of patches that the processor chose."""
        patch = model.config.vision_config.patch_size
        grids = model_inputs["image_grid_thw"].tolist() if images else []
        return tuple(
            image.resize((columns * patch, rows * patch))
            for image, (_, rows, columns) in zip(images, grids, strict=True)
        )

    def most_pixels(self, processor: Any) -> int:
        """Larger images are scaled down to this many pixels, in their own shape."""
        return processor.image_processor.size["longest_edge"]

    def limit_pixels(self, processor: Any, most: int) -> bool:
        """Scale images down further than the processor's own limit."""
        size = processor.image_processor.size  # in pixels, whatever the names of its two edges
        processor.image_processor.size = type(size)(
            shortest_edge=min(size["shortest_edge"], most),
            longest_edge=min(size["longest_edge"], most),
        )
        return True
