"""Blocks to train a block head on: anchors, mask, labels, loss (DFlash, arXiv 2602.06036).

Letters: P pages, S packed rows of a page, A anchors of a page, B block size, L = B - 1.
An anchor is the row of a block's root token. Of a page's A blocks, block a row j is query a*B + j.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, cast

import torch
from torch import Tensor, nn
from torch.nn import functional as F

from glance.heads.block import BlockAttention, BlockHead, BlockLayer, KeysValues, Rope, rotate
from glance.targets.base import Target
from glance.training.capture import Record
from glance.training.looking import missed

PADDING = -1  # segment of rows that only fill up a batch


@dataclass(frozen=True, slots=True)
class Batch:
    """Records of P pages, filled up to the longest."""

    ids: Tensor  # [P, S]
    positions: Tensor  # [P, S]
    segments: Tensor  # [P, S]
    answer: Tensor  # [P, S] bool
    features: Tensor  # [P, S, K, d]
    cells: Tensor  # [P, S]


def collate(records: Sequence[Record], device: torch.device) -> Batch:
    """Fill up with rows of segment PADDING."""

    def stack(rows: list[Tensor], value: int = 0) -> Tensor:
        padded = torch.nn.utils.rnn.pad_sequence(rows, batch_first=True, padding_value=value)
        return padded.to(device)

    return Batch(
        ids=stack([r.ids for r in records]),
        positions=stack([r.positions for r in records]),
        segments=stack([r.segments for r in records], PADDING),
        answer=stack([r.answer for r in records]),
        features=stack([r.features for r in records]),
        cells=stack([r.cells for r in records], -1),
    )


def anchor_rows(
    answer: Tensor,  # [S] bool
    segments: Tensor,  # [S]
) -> Tensor:
    """Rows that may be a root: an answer token whose next token is of the same answer."""
    follows = answer[:-1] & answer[1:] & (segments[:-1] == segments[1:])
    return follows.nonzero()[:, 0]


def sample_anchors(batch: Batch, count: int, generator: torch.Generator) -> Tensor:
    """Random anchors [P, A], drawn with replacement so that every page has as many."""
    picked = []
    for answer, segments in zip(batch.answer.cpu(), batch.segments.cpu(), strict=True):
        rows = anchor_rows(answer, segments)
        picked.append(rows[torch.randint(len(rows), (count,), generator=generator)])
    return torch.stack(picked).to(batch.ids.device)


def block_mask(
    positions: Tensor,  # [P, S]
    segments: Tensor,  # [P, S]
    anchors: Tensor,  # [P, A]
    block_size: int,
) -> Tensor:
    """Who attends to whom: bool [P, 1, A*B, S + A*B].

    A block row may see the context rows of the page and of its own question that stand strictly
    before its anchor, and every row of its own block, later ones too. It may not see its anchor's
    context row, other questions, other blocks or padding.
    """
    at, own = positions.gather(1, anchors), segments.gather(1, anchors)  # [P, A]
    same = (segments[:, None] == 0) | (segments[:, None] == own[..., None])
    context = same & (positions[:, None] < at[..., None])  # [P, A, S]
    pages, count = anchors.shape
    blocks = torch.eye(count, dtype=torch.bool, device=anchors.device)
    blocks = blocks.repeat_interleave(block_size, 0).repeat_interleave(block_size, 1)
    return torch.cat(
        (context.repeat_interleave(block_size, 1), blocks.expand(pages, -1, -1)), dim=-1
    )[:, None]


def block_labels(
    batch: Batch,
    anchors: Tensor,  # [P, A]
    offsets: int,  # L
) -> tuple[Tensor, Tensor]:
    """Tokens at offsets 1..L after each anchor, and which of them exist: both [P, A, L]."""
    return _following(batch, batch.ids, anchors, offsets)


def block_cells(batch: Batch, anchors: Tensor, offsets: int) -> Tensor:
    """Page rows that the tokens at offsets 1..L were copied from, -1 none: [P, A, L]."""
    cells, exists = _following(batch, batch.cells, anchors, offsets)
    return cells.masked_fill(~exists, -1)


def _following(
    batch: Batch, values: Tensor, anchors: Tensor, offsets: int
) -> tuple[Tensor, Tensor]:
    rows = anchors[..., None] + torch.arange(1, offsets + 1, device=anchors.device)
    inside = rows < batch.ids.shape[1]
    flat = rows.clamp(max=batch.ids.shape[1] - 1).flatten(1)
    segments = batch.segments.gather(1, flat).view(rows.shape)
    own = batch.segments.gather(1, anchors)[..., None]
    return values.gather(1, flat).view(rows.shape), inside & (segments == own)


def draft_blocks(
    head: BlockHead,
    target: Target,
    batch: Batch,
    anchors: Tensor,  # [P, A]
) -> Tensor:
    """Logits [P, A, L, V] of the blocks that start at the anchors, all in one pass."""
    config = head.config
    size = config.block_size
    pages, count = anchors.shape
    context = head.fuse(batch.features.to(head.fc.weight.dtype))
    context_rope = head.rope(batch.positions[:, None, None])
    keys, values = head.context_kv(context, context_rope, head.context_weights())

    def join(layer: int, k: Tensor, v: Tensor) -> KeysValues:
        own = keys[:, layer].to(v.dtype), values[:, layer].to(v.dtype)
        return torch.cat((own[0], k.to(v.dtype)), 2), torch.cat((own[1], v), 2)

    ids = torch.full((pages, count, size), config.mask_token_id, device=anchors.device)
    ids[..., 0] = batch.ids.gather(1, anchors)
    depths = torch.arange(size, device=anchors.device)
    at = batch.positions.gather(1, anchors)[..., None] + depths  # [P, A, B]
    mask = block_mask(batch.positions, batch.segments, anchors, size)
    hidden = head(target.embed(ids.flatten(1)), head.rope(at.flatten(1)[:, None]), join, mask)
    return target.lm_head(hidden.view(pages, count, size, -1)[:, :, 1:])


def decay(block_size: int) -> int:
    """DFlash's gamma: 7, 5 and 4 for blocks of 16, 10 and 8, as its paper has them.

    Of other sizes it says nothing; the rule is the line through the first two, rounded down.
    """
    return (block_size + 5) // 3


def block_loss(
    logits: Tensor,  # [P, A, L, V]
    labels: Tensor,  # [P, A, L]
    exists: Tensor,  # [P, A, L] bool
) -> Tensor:
    """Cross-entropy weighted exp(-(k-1)/gamma) at offset k, over the sum of the weights.

    An early miss ends the accepted prefix, so early offsets weigh more; offsets past the end of an
    answer weigh nothing.
    """
    steps = torch.arange(labels.shape[-1], device=labels.device)
    weights = torch.exp(-steps / decay(len(steps) + 1)) * exists
    losses = F.cross_entropy(logits.float().flatten(0, -2), labels.flatten(), reduction="none")
    return (losses.view_as(weights) * weights).sum() / weights.sum()


class Gaze:
    """Guided attention: the first head of a layer must look at what its row predicts.

    So in every layer but the first, which finds out where the answer is on the page. The weights
    are computed again from what a layer was given; the head itself is unchanged.

    Attributes:
        watching: keep what the layers are given, for `loss`; off where it will not be asked for.
    """

    watching = True

    def __init__(self, head: BlockHead) -> None:
        self._seen: dict[BlockAttention, tuple[Any, ...]] = {}
        for layer in head.layers[1:] or head.layers:
            cast("BlockLayer", layer).self_attn.register_forward_pre_hook(self._see)

    def _see(self, attention: nn.Module, args: tuple[Any, ...]) -> None:
        if self.watching:
            self._seen[cast("BlockAttention", attention)] = args

    def loss(self, cells: Tensor) -> Tensor:  # [P, A, L] from block_cells
        """Mean of -log(attention on the cell) over layers, and the rows whose cell is known."""
        assert self._seen, "draft blocks before asking for the loss"
        pages, count, offsets = cells.shape
        losses = []
        for attention, seen in self._seen.items():
            look = first_head(attention, *seen).view(pages, count, offsets + 1, -1)[:, :, 1:]
            total, known = missed(look, cells)
            losses.append(total / known.clamp(min=1))
        return torch.stack(losses).mean()


def first_head(
    attention: BlockAttention,
    x: Tensor,  # [P, Q, d]
    rope: Rope,
    join: Callable[[Tensor, Tensor], KeysValues],
    mask: Tensor,  # bool [P, 1, Q, S+Q]
) -> Tensor:
    """Log attention [P, Q, S+Q] of the first of a layer's attention heads."""
    e = attention.head_dim
    q = rotate(attention.q_norm(F.linear(x, attention.q_proj.weight[:e]))[:, None], rope)
    k = attention.k_proj(x).view(*x.shape[:2], -1, e)
    k = rotate(attention.k_norm(k).transpose(1, 2), rope)
    keys, _ = join(k, k)
    score = (q[:, 0].to(keys.dtype) @ keys[:, 0].transpose(-1, -2)).float() * e**-0.5
    return score.masked_fill(~mask[:, 0], -1e9).log_softmax(-1)
