"""Qwen3-VL, dense and mixture of experts."""

from __future__ import annotations

from glance.targets.base import BEFORE_DEEPSTACK
from glance.targets.mrope import MRope


class Qwen3VL(MRope):
    """Adapter for Qwen3-VL.

    DeepStack (arXiv 2406.04334) adds visual features to the outputs of the first few layers,
    after each of them has returned: a tap there is what came before that addition.
    """

    tap_point = BEFORE_DEEPSTACK
