"""The drafters `glance` and `glance-chain`: one forward of the block head drafts a whole block.

Knows the head and the target's embedding and lm_head; nothing of verification, trees or the
target's cache. Letters as in `glance.heads.block`.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import torch
from torch import Tensor
from torch.nn import functional as F

from glance.heads.block import BlockHead, KeysValues
from glance.heads.config import check_fits
from glance.heads.formats import read_head
from glance.heads.layout import by_input, ready
from glance.types import DraftBlock

if TYPE_CHECKING:
    from glance.targets.base import Target


@dataclass(slots=True)
class BlockState:
    """One request: the projected, rotated context of every layer, and nothing else of the past."""

    keys: Tensor  # [1, n, g, capacity, e]
    values: Tensor
    block_ids: Tensor  # [B]: root, then mask tokens
    length: int = 0  # context rows in use

    def reserve(self, rows: int) -> None:
        """Make room for `rows` rows in all, doubling so that growth is rare."""
        capacity = self.keys.shape[3]
        if rows <= capacity:
            return
        extra = max(rows, 2 * capacity) - capacity
        self.keys = F.pad(self.keys, (0, 0, 0, extra))
        self.values = F.pad(self.values, (0, 0, 0, extra))

    def append(self, keys: Tensor, values: Tensor) -> None:
        """Take in context rows, each tensor [1, n, g, m, e]."""
        end = self.length + keys.shape[3]
        self.keys[:, :, :, self.length : end] = keys
        self.values[:, :, :, self.length : end] = values
        self.length = end

    def join(self, layer: int, k: Tensor, v: Tensor) -> KeysValues:
        """Context and block of one layer.

        The block is written past the context but never counted: the next round overwrites it,
        which is the crop.
        """
        end = self.length + k.shape[2]
        self.keys[:, layer, :, self.length : end] = k
        self.values[:, layer, :, self.length : end] = v
        return self.keys[:, layer, :, :end], self.values[:, layer, :, :end]


class BlockDrafter:
    """The drafter `glance` (candidate tree from a block's marginals) or `glance-chain` (width one).

    Raises:
        HeadError: the head was made for another target.
    """

    passes = 1

    def __init__(self, head: BlockHead, target: Target, *, chain: bool = False) -> None:
        check_fits(head.config, target)
        self.name = "glance-chain" if chain else "glance"
        self.taps = head.config.target_layer_ids
        self.block_size = head.config.block_size
        self.revision = head.revision()
        ready(head, target.device, target.dtype)
        self.head = head
        self.target = target
        self.chain = chain
        matrix, norms = head.context_weights()
        self.context_weights = by_input(matrix), norms

    def start(self, prompt_ids: list[int], positions: Tensor | None = None) -> BlockState:
        c, device = self.head.config, self.target.device
        capacity = len(prompt_ids) + 256 + c.block_size  # a usual answer; reserve() grows it
        shape = (1, c.num_hidden_layers, c.num_key_value_heads, capacity, c.head_dim)
        keys = torch.empty(shape, device=device, dtype=self.target.dtype)
        ids = torch.full((c.block_size,), c.mask_token_id, device=device)
        return BlockState(keys, torch.empty_like(keys), ids)

    @torch.inference_mode()
    def draft(
        self,
        state: BlockState,
        out: list[int],
        features: Tensor | None,  # [m, K, d]: taps of the positions committed since the last call
    ) -> DraftBlock:
        """One forward: logits [L, V] of the offsets after `out[-1]`.

        Raises:
            RuntimeError: the features do not continue what the state has absorbed.
        """
        start, block_size = len(out) - 1, self.block_size
        new = 0 if features is None else features.shape[0]
        if state.length + new != start:
            raise RuntimeError(f"{state.length} + {new} context positions, expected {start}")
        state.reserve(start + block_size)
        # New context rows and block rows are neighbours in the stream: one table serves both.
        positions = torch.arange(state.length, start + block_size, device=state.keys.device)
        cos, sin = self.head.rope(positions)
        if features is not None:
            rope = cos[:new], sin[:new]
            context = self.head.fuse(features[None])
            state.append(*self.head.context_kv(context, rope, self.context_weights))
        state.block_ids[0] = out[-1]
        x = self.target.embed(state.block_ids[None])
        hidden = self.head(x, (cos[new:], sin[new:]), state.join)
        return DraftBlock(self.target.lm_head(hidden[0, 1:]), chain=self.chain)


def load_block_drafter(target: Target, folder: Path, *, width_one: bool = False) -> BlockDrafter:
    """A folder's head as `glance`, or as `glance-chain` with `width_one`.

    Raises:
        HeadError: there is no readable head, or it was made for another target.
    """
    return BlockDrafter(read_head(folder), target, chain=width_one)
