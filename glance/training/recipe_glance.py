"""The GLANCE head's recipe (DFlash, arXiv 2602.06036): random blocks, and a guided gaze."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any, cast

import torch
from torch import Tensor, nn
from torch.utils.checkpoint import checkpoint

from glance.heads.block import BlockHead, BlockLayer
from glance.heads.config import HeadConfig, HeadError
from glance.heads.formats import read_head, write_head
from glance.targets.base import Target
from glance.training.blocks import (
    Gaze,
    block_cells,
    block_labels,
    block_loss,
    collate,
    draft_blocks,
    sample_anchors,
)
from glance.training.capture import Record
from glance.training.corpus import Answers, Corpus
from glance.training.recipe import GUIDE_WEIGHT, Recipe

BLOCK_SIZE = 16
DRAFT_LAYERS = 3
MANY_ANCHORS, FEW_ANCHORS = 512, 24  # of a page at most: DFlash's on a GPU, and elsewhere


class GlanceRecipe(Recipe):
    """Block-diffusion head in the DFlash layout."""

    name = "glance"
    title = "GLANCE head (block diffusion)"
    parts = ("guide",)

    def __init__(self, target: Target, corpus: Corpus, without: str = "", head: Any = None) -> None:
        super().__init__(target, corpus, without, head)
        self._anchors = most_anchors(target.device)
        self.a_page = f"up to {self._anchors} blocks"
        if target.device.type == "cuda":
            recompute(self.head)
        self._gaze = Gaze(self.head)

    @classmethod
    def reads(cls, target: Target) -> tuple[int, ...]:
        return block_taps(target.num_layers)

    def build(self, corpus: Corpus) -> nn.Module:
        return new_head(self.target)

    def layers(self) -> Iterable[nn.Module]:
        return self.head.layers

    def loss(self, records: Sequence[Record], answers: Answers) -> Tensor:
        batch = collate(records, self.target.device)
        count = min(self._anchors, int(batch.answer.sum()))
        anchors = sample_anchors(batch, count, self.generator)
        # its matrices are the largest here: none where they have nothing to say
        self._gaze.watching = guided = self.guided(records)
        logits = draft_blocks(self.head, self.target, batch, anchors)
        offsets = logits.shape[2]
        tokens = block_loss(logits, *block_labels(batch, anchors, offsets))
        if not guided:
            return tokens
        return tokens + GUIDE_WEIGHT * self._gaze.loss(block_cells(batch, anchors, offsets))

    def write(self, folder: Path) -> None:
        write_head(self.head, folder)

    @classmethod
    def read(cls, folder: Path, target_layers: int) -> Any:
        return read_head(folder)


def most_anchors(device: torch.device) -> int:
    """Blocks to learn from a page at most."""
    return MANY_ANCHORS if device.type == "cuda" else FEW_ANCHORS


def new_head(target: Target, layers: int = DRAFT_LAYERS) -> BlockHead:
    """A head of so many layers with random weights.

    Raises:
        HeadError: the target has no mask token to spare.
    """
    head = BlockHead(replace(head_config(target), num_hidden_layers=layers))
    # The target's lm_head expects rows of this scale.
    head.norm.load_state_dict(target.model.get_decoder().norm.state_dict())
    return head


def deepened(head: BlockHead, layers: int) -> BlockHead:
    """A head of so many layers that drafts as this one does, until it learns.

    The new ones, copies of the last one, add zeros to their input at first.

    Raises:
        HeadError: it has more layers already.
    """
    has = head.config.num_hidden_layers
    if has > layers:
        raise HeadError(f"The head to start from has {has} layers, more than {layers}.")
    deeper = BlockHead(replace(head.config, num_hidden_layers=layers))
    deeper.load_state_dict(head.state_dict(), strict=False)
    for layer in cast("list[BlockLayer]", deeper.layers[has:]):
        layer.load_state_dict(head.layers[-1].state_dict())
        nn.init.zeros_(layer.self_attn.o_proj.weight)
        nn.init.zeros_(layer.mlp.down_proj.weight)
    return deeper


def recompute(head: BlockHead) -> None:
    """Gradient checkpointing: layers keep their inputs alone and run once more in the backward.

    So many blocks' rows would fill a card; on a CPU there are few, and time is what is short.
    """
    for layer in head.layers:
        layer.forward = partial(checkpoint, layer.forward, use_reentrant=False)


def block_taps(layers: int) -> tuple[int, ...]:
    """Four depths of a target, evenly spread.

    The last layer is not among them where there is another: z-lab's loop takes its output from
    `hidden_states`, where it has gone through the target's final norm.
    """
    taps, deepest = min(4, max(1, layers - 1)), max(0, layers - 2)
    return tuple(min((i + 1) * layers // taps - 1, deepest) for i in range(taps))


def mask_token(target: Target) -> int:
    """The tokenizer's mask token, else the first id that it has no token for.

    Embeddings are padded beyond the tokenizer's own ids; for Qwen3 this is z-lab's choice, 151669.

    Raises:
        HeadError: there is no id to spare.
    """
    if target.tokenizer.mask_token_id is not None:
        return target.tokenizer.mask_token_id
    free = max(target.tokenizer.get_vocab().values()) + 1
    if free >= target.vocab_size:
        raise HeadError(f"{target.name} has no token id to spare for the mask of a block head.")
    return free


def head_config(target: Target) -> HeadConfig:
    """A head shaped like one of the target's own layers, reading four of its depths.

    Raises:
        HeadError: the target has no mask token to spare.
    """
    text = target.model.config.get_text_config()
    mask = mask_token(target)
    return HeadConfig(
        hidden_size=target.hidden_size,
        intermediate_size=3 * target.hidden_size,
        num_hidden_layers=DRAFT_LAYERS,
        num_attention_heads=text.num_attention_heads,
        num_key_value_heads=text.num_key_value_heads,
        head_dim=getattr(text, "head_dim", None) or text.hidden_size // text.num_attention_heads,
        vocab_size=target.vocab_size,
        num_target_layers=target.num_layers,
        mask_token_id=mask,
        target_layer_ids=block_taps(target.num_layers),
        block_size=BLOCK_SIZE,
        max_position_embeddings=target.max_context,
        target_revision=target.revision,
    )
