"""EAGLE heads with random weights for any tiny target, and their drafters."""

from __future__ import annotations

import torch
from torch import nn

from glance.drafters.eagle2 import Eagle2Drafter
from glance.drafters.eagle3 import Eagle3Drafter
from glance.drafters.grown import TreeShape
from glance.heads.eagle2 import Eagle2Head
from glance.heads.eagle3 import Eagle3Config, Eagle3Head
from glance.heads.llama_layer import SequentialConfig
from glance.targets.base import Target

SHAPE = TreeShape(depth=3, width=4, nodes=12)


def sizes(target: Target, **changes: object) -> dict:
    """Arguments of a head's config."""
    common = {
        "hidden_size": target.hidden_size,
        "intermediate_size": 96,
        "num_attention_heads": 4,
        "num_key_value_heads": 2,
        "head_dim": 16,
        "vocab_size": target.vocab_size,
        "num_target_layers": target.num_layers,
        "target_revision": target.revision,
    }
    return {**common, **changes}


def drawn(head: nn.Module) -> None:
    """Weights wider than at initialisation: what a head attends to then shows in what it says."""
    generator = torch.Generator().manual_seed(0)
    with torch.no_grad():
        for name, parameter in head.named_parameters():
            if "norm" not in name:
                noise = torch.randn(parameter.shape, generator=generator)
                parameter.copy_(noise * 1.5 / parameter.shape[-1] ** 0.5)


def eagle2_head(target: Target, **changes: object) -> Eagle2Head:
    """Seeded, the same each time."""
    head = Eagle2Head(SequentialConfig(**sizes(target, **changes)))
    drawn(head)
    return head


def eagle3_head(target: Target, **changes: object) -> Eagle3Head:
    """Seeded, with every second token as its vocabulary unless `changes` say otherwise."""
    own = {
        "target_layer_ids": (0, 1, 2),
        "draft_vocab_size": target.vocab_size // 2,
        "mrope_section": (4, 2, 2),
        "mrope_interleaved": True,
    }
    head = Eagle3Head(Eagle3Config(**sizes(target, **{**own, **changes})))
    drawn(head)
    every = target.vocab_size // head.config.draft_vocab_size
    head.speak(torch.arange(head.config.draft_vocab_size) * every)
    return head


def drafter(name: str, target: Target, shape: TreeShape = SHAPE, **changes: object):
    """The drafter `eagle2` or `eagle3` around a random head."""
    if name == "eagle2":
        return Eagle2Drafter(eagle2_head(target, **changes), target, shape)
    return Eagle3Drafter(eagle3_head(target, **changes), target, shape)
