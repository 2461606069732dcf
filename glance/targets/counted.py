"""LLaVA 1.5, SmolVLM and Idefics3: positions count tokens, those of images included."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import torch
from torch import Tensor

from glance.targets.positions import token_positions
from glance.types import Prompt

if TYPE_CHECKING:
    from PIL.Image import Image


class _Counted:
    """What these families share."""

    def prompt_positions(self, model: Any, prompt: Prompt) -> tuple[Tensor, int]:
        """[1, n], counting from 0."""
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


class Llava(_Counted):
    """Adapter for LLaVA 1.5, whose CLIP tower sees one square."""

    def text_layers(self, model: Any) -> Sequence[torch.nn.Module]:
        """The decoder layers of the language model."""
        return model.model.language_model.layers


class SmolVLM(_Counted):
    """Adapter for SmolVLM and Idefics3, whose SigLIP tower sees tiles."""

    def text_layers(self, model: Any) -> Sequence[torch.nn.Module]:
        """The decoder layers of the language model."""
        return model.model.text_model.layers
