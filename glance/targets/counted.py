"""Positions that count tokens, those of images included: what most families share."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import torch
from torch import Tensor

from glance.targets.base import FULL, LAYER_OUTPUT
from glance.targets.positions import token_positions
from glance.types import Prompt

if TYPE_CHECKING:
    from PIL.Image import Image


class Counted:
    """Base of the adapters of such families."""

    tap_point = LAYER_OUTPUT
    layer_kinds = frozenset({FULL})

    def text_layers(self, model: Any) -> Sequence[torch.nn.Module]:
        """The decoder layers of the language model."""
        return model.model.language_model.layers

    def prompt_positions(self, model: Any, prompt: Prompt) -> tuple[Tensor, int]:
        """[1, n], counting from 0, over one image or several."""
        count = torch.arange(prompt.input_ids.shape[1], device=prompt.input_ids.device)
        return token_positions(0, count), 0

    def step_positions(self, first: int, depths: Tensor) -> Tensor:
        """[1, rows]."""
        return token_positions(first, depths)

    def processed_images(
        self, model: Any, images: Sequence[Image], model_inputs: dict[str, Tensor]
    ) -> tuple[Image, ...]:
        """As they came: the processor crops or tiles them, and no single size is the one seen."""
        return tuple(images)

    def limit_pixels(self, processor: Any, most: int) -> bool:
        """Left as it is: these processors cut images to fixed sizes."""
        return False
