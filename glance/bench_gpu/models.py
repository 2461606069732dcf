"""Models of a shape with random weights, made on the device."""

from __future__ import annotations

from collections.abc import Sequence

import torch
from transformers import AutoModelForImageTextToText, Qwen3VLConfig

from glance.bench_gpu.shapes import Shape
from glance.drafters.block import BlockDrafter
from glance.heads.block import BlockHead
from glance.heads.config import HeadConfig
from glance.heads.eagle3 import Eagle3Config, Eagle3Head, eagle3_taps
from glance.targets.base import Target
from glance.targets.load import make_target
from glance.types import Prompt


class Ids:
    """Stands in for a tokenizer: an id is its own text."""

    def decode(self, ids: Sequence[int], **_: object) -> str:
        """Numbers."""
        return "".join(f" {token_id}" for token_id in ids)


def random_target(shape: Shape, device: torch.device, dtype: torch.dtype) -> Target:
    """A Qwen3-VL model of the shape; what it says is noise."""
    vision = {
        "depth": 1,
        "hidden_size": 64,
        "num_heads": 2,
        "intermediate_size": 64,
        "out_hidden_size": shape.hidden,
        "deepstack_visual_indexes": [0],
    }
    config = Qwen3VLConfig(
        text_config=shape.text(), vision_config=vision, tie_word_embeddings=shape.tied
    )
    torch.manual_seed(0)
    with device:
        model = AutoModelForImageTextToText.from_config(
            config, dtype=dtype, attn_implementation="sdpa"
        )
    return make_target(shape.name, model, tokenizer=Ids())


def random_drafter(shape: Shape, target: Target) -> BlockDrafter:
    """A DFlash head for it."""
    config = HeadConfig(
        **shape.sizes(),
        num_hidden_layers=shape.draft_layers,
        mask_token_id=shape.mask,
        target_layer_ids=shape.taps,
        rope_theta=5e6,
        max_position_embeddings=262_144,
    )
    with target.device:
        return BlockDrafter(BlockHead(config).to(target.dtype), target)


def random_eagle3(shape: Shape, target: Target) -> Eagle3Head:
    """An EAGLE-3 head for it."""
    config = Eagle3Config(
        **shape.sizes(),
        target_layer_ids=eagle3_taps(shape.layers),
        draft_vocab_size=shape.draft_vocabulary,
    )
    with target.device:
        return Eagle3Head(config).to(target.dtype).eval().requires_grad_(False)


def text_prompt(target: Target, tokens: int) -> Prompt:
    """So many random words."""
    generator = torch.Generator().manual_seed(0)
    ids = torch.randint(256, (1, tokens), generator=generator).to(target.device)
    return Prompt(ids, {"mm_token_type_ids": torch.zeros_like(ids)}, "", image_tokens=0)
