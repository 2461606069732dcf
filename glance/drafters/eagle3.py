"""The drafter `eagle3`: one layer over several of the target's depths, a vocabulary of its own.

Letters as in `glance.types`.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import torch
from torch import Tensor

from glance.drafters.grown import Children, TreeShape
from glance.drafters.presets import paper_shape
from glance.drafters.rollout import (
    LAST,
    LayerCache,
    RolloutDrafter,
    best_children,
    check_continued,
    draft_tree,
    everything,
)
from glance.heads.eagle3 import Eagle3Head
from glance.heads.formats_eagle import read_eagle3
from glance.heads.llama_layer import Attend
from glance.types import INPUT, CandidateTree

if TYPE_CHECKING:
    from glance.targets.base import Target

SHAPE = paper_shape("eagle3")


@dataclass(slots=True)
class Eagle3State:
    """One request: keys and values of rows made with the target's features, no guesses."""

    cache: LayerCache
    positions: Tensor  # [axes, n] of the prompt, as the head counts them

    def at(self, first: int, rows: int) -> Tensor:
        """Positions [axes, rows] of rows from `first` on; after the prompt all axes go alike."""
        n = self.positions.shape[1]
        counts = torch.arange(max(first, n), first + rows, device=self.positions.device)
        delta = self.positions.max() + 1 - n
        later = (counts + delta).expand(self.positions.shape[0], -1)
        return torch.cat((self.positions[:, first : first + rows], later), dim=1)


class Eagle3Drafter(RolloutDrafter):
    """Row t pairs the target's taps at t with the embedding at t+1; guesses pair with guesses.

    Raises:
        HeadError: the head was made for another target.
    """

    name = "eagle3"

    head: Eagle3Head

    def __init__(self, head: Eagle3Head, target: Target, shape: TreeShape = SHAPE) -> None:
        taps = head.config.target_layer_ids
        self._sees = head.config.image_stream == "vision_embed"
        super().__init__(head, target, shape, (INPUT, *taps) if self._sees else taps)
        self._token_ids = head.token_ids().tolist()

    def start(self, prompt_ids: list[int], positions: Tensor | None = None) -> Eagle3State:
        c, target, n = self.head.config, self.target, len(prompt_ids)
        if positions is None or not c.mrope_section:
            positions = torch.arange(n, device=target.device)[None]
        rows = n + 256  # a usual answer; the cache grows by itself
        return Eagle3State(LayerCache.empty(c, rows, target.device, target.dtype), positions)

    @torch.inference_mode()
    def draft(self, state: Eagle3State, out: list[int], features: Tensor | None) -> CandidateTree:
        """One pass over the new positions, one a level of the tree.

        Of new positions but the last there are keys and values only: no layer comes after.

        Raises:
            RuntimeError: the features do not continue what the state has absorbed.
        """
        cache, start = state.cache, len(out) - 1
        features = check_continued(cache.length, start, features)
        new = features.shape[0]
        embeds = self.target.embed(torch.tensor(out[-new:], device=features.device))
        if self._sees:  # all but the root token have been through the target
            embeds = torch.cat((features[1:, 0], embeds[-1:]))
            features = features[:, 1:]
        states = self.head.fuse(features)
        attend = cache.attend(everything(start, features.device))
        positions = state.at(start - new, new)
        hidden = self._rows(embeds[None], states[None], positions, attend, LAST)

        def step(ids: Tensor, above: Tensor, level: int, attend: Attend) -> Tensor:
            positions = state.at(start + level - 1, 1).expand(-1, len(ids))
            return self._rows(self.target.embed(ids[None]), above, positions, attend)

        return draft_tree(out[-1], hidden, cache, self.shape, step, self._rank)

    def _rank(self, hidden: Tensor) -> list[Children]:
        ranked = best_children(self.head.logits(hidden[0]), self.shape.width)
        return [Children([self._token_ids[i] for i in c.ids], c.log_q) for c in ranked]


def load_eagle3(target: Target, folder: Path, shape: TreeShape = SHAPE) -> Eagle3Drafter:
    """A folder's head as `eagle3`.

    Raises:
        HeadError: there is no readable head, or it was made for another target.
    """
    return Eagle3Drafter(read_eagle3(folder, target.num_layers), target, shape)
