"""What sequential drafters share: a cache of one layer, and trees grown by passes through it."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import torch
from torch import Tensor
from torch.nn import functional as F

from glance.drafters.grown import Children, TreeShape, grow
from glance.heads.config import check_fits
from glance.heads.layout import ready
from glance.heads.llama_layer import ALL, Attend, Rows, SequentialConfig
from glance.types import INPUT, CandidateTree

if TYPE_CHECKING:
    from glance.targets.base import Target


@dataclass(slots=True)
class LayerCache:
    """Keys and values of a drafter's one layer; between rounds, of committed positions only."""

    keys: Tensor  # [1, g, capacity, e], rotated
    values: Tensor
    length: int = 0  # rows in use

    @classmethod
    def empty(
        cls, config: SequentialConfig, rows: int, device: torch.device, dtype: torch.dtype
    ) -> LayerCache:
        """Room for `rows` rows; more is made when needed."""
        shape = (1, config.num_key_value_heads, rows, config.head_dim)
        keys = torch.empty(shape, device=device, dtype=dtype)
        return cls(keys, torch.empty_like(keys))

    def attend(self, mask: Tensor) -> Attend:
        """Take in the rows of a pass, and let those that ask see what their mask allows.

        mask: bool [rows that ask, length + rows].
        """

        def through(q: Tensor, k: Tensor, v: Tensor) -> Tensor:
            self._append(k, v)
            keys, values = self.keys[:, :, : self.length], self.values[:, :, : self.length]
            return F.scaled_dot_product_attention(
                q, keys, values, attn_mask=mask[None, None], enable_gqa=True
            )

        return through

    def _append(self, k: Tensor, v: Tensor) -> None:
        end, capacity = self.length + k.shape[2], self.keys.shape[2]
        if end > capacity:
            extra = max(end, 2 * capacity) - capacity  # doubling: growth is rare
            self.keys = F.pad(self.keys, (0, 0, 0, extra))
            self.values = F.pad(self.values, (0, 0, 0, extra))
        self.keys[:, :, self.length : end] = k
        self.values[:, :, self.length : end] = v
        self.length = end


def check_continued(absorbed: int, start: int, features: Tensor | None) -> Tensor:
    """The features of the positions from `absorbed` to `start`, the root token's.

    Raises:
        RuntimeError: they do not fill the gap.
    """
    new = 0 if features is None else features.shape[0]
    if features is None or absorbed + new != start:
        raise RuntimeError(f"{absorbed} + {new} context positions, expected {start}")
    return features


def everything(rows: int, device: torch.device) -> Tensor:
    """What the last of so many rows sees, itself included: bool [1, rows]."""
    return torch.ones(1, rows, dtype=torch.bool, device=device)


LAST = slice(-1, None)  # row
#: Outputs [1, f, d] of a level's rows: tokens [f], their parents' outputs [1, f, d], level from 1.
Step = Callable[[Tensor, Tensor, int, Attend], Tensor]
#: The best tokens after each row of [1, f, d].
Rank = Callable[[Tensor], list[Children]]


def draft_tree(
    root: int,
    hidden: Tensor,  # [1, 1, d] output of the last committed row, which has the root's embedding
    cache: LayerCache,
    shape: TreeShape,
    step: Step,
    rank: Rank,
) -> CandidateTree:
    """A tree grown by `shape.depth` passes, one a level; the cache is left as it was.

    Drafted rows see all committed rows, their own ancestors and themselves.
    """
    committed, device = cache.length, hidden.device
    seen = torch.zeros(1, 0, dtype=torch.bool, device=device)  # [rows above, rows drafted so far]
    level = 0

    def expand(ids: list[int], parents: list[int]) -> list[Children]:
        nonlocal hidden, seen, level
        level += 1
        own = torch.eye(len(ids), dtype=torch.bool, device=device)
        seen = torch.cat((seen[parents], own), dim=1)
        mask = F.pad(seen, (committed, 0), value=True)
        tokens = torch.tensor(ids, device=device)
        hidden = step(tokens, hidden[:, parents], level, cache.attend(mask))
        return rank(hidden)

    tree = grow(root, rank(hidden)[0], expand, shape)
    cache.length = committed
    return tree


def best_children(logits: Tensor, width: int) -> list[Children]:
    """The `width` best tokens of every row of [f, V], in one copy to the host."""
    precise = torch.promote_types(logits.dtype, torch.float32)
    log_q = torch.log_softmax(logits, dim=-1, dtype=precise)
    best = torch.topk(log_q, min(width, logits.shape[-1]), dim=-1)
    rows = zip(best.indices.tolist(), best.values.tolist(), strict=True)
    return [Children(ids, values) for ids, values in rows]


class RolloutDrafter:
    """What drafters of one layer have in common: they read features and grow a tree by passes.

    Raises:
        HeadError: the head was made for another target.
    """

    head: Any  # the module of the kind

    def __init__(
        self,
        head: Any,
        target: Target,
        shape: TreeShape,
        taps: Sequence[int] | None = None,  # the input embeddings and the last layer by default
    ) -> None:
        check_fits(head.config, target)
        self.taps = (INPUT, target.num_layers - 1) if taps is None else tuple(taps)
        self.passes = shape.depth + 1
        self.block_size = shape.depth + 2
        self.revision = head.revision()
        ready(head, target.device, target.dtype)
        self.head = head
        self.target = target
        self.shape = shape

    def _rows(
        self,
        embeds: Tensor,  # [1, rows, d] of the tokens after the states'
        states: Tensor,  # [1, rows, d]
        positions: Tensor,  # [axes, rows]
        attend: Attend,
        wanted: Rows = ALL,
    ) -> Tensor:
        rope = self.head.config.rope(positions, embeds.dtype)
        return self.head(embeds, states, rope, attend, wanted)

    def _paired(self, root: int, features: Tensor) -> tuple[Tensor, Tensor]:
        """Of new rows [m, 2, d]: the embedding after each, [m, d], and the state at it, [m, d]."""
        embed = self.target.embed(torch.tensor([root], device=features.device))
        return torch.cat((features[1:, 0], embed)), self.target.final_norm(features[:, 1])

    def _rank(self, hidden: Tensor) -> list[Children]:
        return best_children(self.target.lm_head(hidden[0]), self.shape.width)
