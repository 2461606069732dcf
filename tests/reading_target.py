"""A target of the embedded kind with random weights, for tests that ask about generated pages."""

from __future__ import annotations

import torch

from glance.targets.base import Target
from glance.targets.embedded import FIRST_CHARACTER, VOCABULARY, build_model, build_processor
from glance.targets.load import make_target


def reading_target(layers: int) -> Target:
    """A target that reads pages, with weights so large that its text varies."""
    torch.manual_seed(0)
    model = build_model(layers=layers, width=64, vision_layers=1)
    with torch.no_grad():
        for weights in model.parameters():
            if weights.dim() > 1:
                weights.copy_(torch.randn_like(weights) * 1.5 / weights[0].numel() ** 0.5)
        model.get_input_embeddings().weight.mul_(8.0)
    head = torch.randn(VOCABULARY, 64) / 8
    head[:FIRST_CHARACTER] = 0.0
    model.lm_head.weight = torch.nn.Parameter(head)
    return make_target("tiny", model, processor=build_processor())
