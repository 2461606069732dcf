"""Qwen2.5-VL."""

from __future__ import annotations

from glance.targets.base import LAYER_OUTPUT
from glance.targets.mrope import MRope


class Qwen25VL(MRope):
    """Adapter for Qwen2.5-VL, whose image features all enter at the embeddings."""

    tap_point = LAYER_OUTPUT
