"""verify: a whole candidate tree through the target in one pass.

The tree is packed into rows, root first. A row stands at the position of its depth, attends to
every committed token and, inside the tree, to its ancestors and itself. So its logits are those
that the target would give after the committed text and the row's own path.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
import torch
from torch import Tensor

from glance.cache import compact
from glance.entropy import RowStats, row_stats
from glance.targets.base import FULL, SLIDING, Mask, Request, Target
from glance.tree import visibility
from glance.types import CandidateTree


@dataclass(frozen=True, slots=True)
class Verified:
    """What the target says about every row of a tree."""

    logits: Tensor  # [rows, V]
    stats: RowStats  # p_token: of each node's own token; 1.0 for the root
    features: Tensor | None  # [rows, K, d]


class Verifier:
    """Packs trees for one target and keeps its cache on the accepted path."""

    def __init__(self, target: Target, taps: Sequence[int] = ()) -> None:
        """`taps` are the layers whose outputs the drafter reads."""
        self._target = target
        self._taps = tuple(taps)

    def visible(self, tree: CandidateTree) -> np.ndarray:
        """Who attends to whom inside the tree: [rows, rows] bool."""
        return visibility(tree)

    def verify(self, request: Request, tree: CandidateTree) -> Verified:
        """One target pass over the tree; appends its rows to the cache."""
        device = self._target.device
        packed = torch.tensor([tree.token_ids, tree.depths, (0, *tree.parents[1:])], device=device)
        ids, depths, parents = packed
        visible = torch.from_numpy(self.visible(tree)).to(device)
        mask = pass_mask(self._target, visible, depths, request.length)
        logits, features = self._target.forward(request, ids, depths, mask, self._taps)
        stats = row_stats(logits, asked=torch.stack([parents, ids], dim=1))
        stats.p_token[0] = 1.0
        return Verified(logits, stats, features)

    def keep(self, request: Request, tree: CandidateTree, path: Sequence[int]) -> None:
        """Commit the path's rows: the cache holds them and nothing after them."""
        compact(request.cache, rows=len(tree), path=path)
        request.length += len(path)


def pass_mask(
    target: Target,
    visible: Tensor,  # [rows, rows] bool: who attends to whom inside the pass
    depths: Tensor,  # [rows] long
    committed: int,  # tokens in the cache before the pass (S), which every row attends to
) -> Mask:
    """Of a pass over rows that follow the committed tokens; by kind of layer where some slide."""
    seen = torch.cat([visible.new_ones(len(visible), committed), visible], dim=1)

    def places() -> Tensor:
        return torch.cat([torch.arange(committed, device=depths.device), committed + depths])

    return placed_mask(target, seen, places)


def placed_mask(
    target: Target,
    seen: Tensor,  # [rows, S + rows] bool: who attends to whom, however far away
    places: Callable[[], Tensor],  # [S + rows] long, asked for only where layers slide
) -> Mask:
    """`pass_mask` where rows do not attend to all that is cached.

    `places` are those of all that is cached, then of the rows, each in its own stream. A sliding
    layer sees what lies less than a window before a row's own place, whatever its branch.
    """
    full = mask_for(target.attention, seen[None, None], target.dtype)
    if target.window is None:
        return full
    at = places()
    near = at > at[-len(seen) :, None] - target.window
    sliding = mask_for(target.attention, (seen & near)[None, None], target.dtype)
    return {FULL: full, SLIDING: sliding}


def mask_for(attention: str, mask: Tensor, dtype: torch.dtype) -> Tensor:
    """A bool mask, True = may attend, as the attention takes it: bool for sdpa, else additive.

    Eager attention adds the mask to its scores: given a bool it would add 0 and 1, raise no
    error, and be wrong.
    """
    if attention == "sdpa":
        return mask
    additive = torch.zeros(mask.shape, dtype=dtype, device=mask.device)
    return additive.masked_fill(~mask, torch.finfo(dtype).min)
