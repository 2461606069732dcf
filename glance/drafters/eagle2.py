"""The drafter `eagle2`: one layer that guesses the target's next feature, and a tree of guesses.

Letters as in `glance.types`.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import torch
from torch import Tensor

from glance.drafters.grown import TreeShape
from glance.drafters.presets import paper_shape
from glance.drafters.rollout import (
    LAST,
    LayerCache,
    RolloutDrafter,
    check_continued,
    draft_tree,
    everything,
)
from glance.heads.eagle2 import Eagle2Head
from glance.heads.formats_eagle import read_eagle2
from glance.heads.llama_layer import Attend
from glance.types import CandidateTree

if TYPE_CHECKING:
    from glance.targets.base import Target

SHAPE = paper_shape("eagle2")


@dataclass(slots=True)
class Eagle2State:
    """One request: keys and values of rows made with the target's features, no guesses."""

    cache: LayerCache


class Eagle2Drafter(RolloutDrafter):
    """Reads the target's last layer, and every input embedding, those of images included.

    Row t pairs feature t with the embedding at t+1, so the last row has the root token's.

    Raises:
        HeadError: the head was made for another target.
    """

    name = "eagle2"

    head: Eagle2Head

    def __init__(self, head: Eagle2Head, target: Target, shape: TreeShape = SHAPE) -> None:
        super().__init__(head, target, shape)

    def start(self, prompt_ids: list[int], positions: Tensor | None = None) -> Eagle2State:
        rows = len(prompt_ids) + 256  # a usual answer; the cache grows by itself
        c, target = self.head.config, self.target
        return Eagle2State(LayerCache.empty(c, rows, target.device, target.dtype))

    @torch.inference_mode()
    def draft(self, state: Eagle2State, out: list[int], features: Tensor | None) -> CandidateTree:
        """One pass over the new positions, one a level of the tree.

        Of new positions but the last there are keys and values only: no layer comes after.

        Raises:
            RuntimeError: the features do not continue what the state has absorbed.
        """
        cache, start = state.cache, len(out) - 1
        features = check_continued(cache.length, start, features)
        new = features.shape[0]
        embeds, states = self._paired(out[-1], features)
        positions = torch.arange(start - new, start, device=features.device)[None]
        attend = cache.attend(everything(start, features.device))
        hidden = self._rows(embeds[None], states[None], positions, attend, LAST)

        def step(ids: Tensor, above: Tensor, level: int, attend: Attend) -> Tensor:
            positions = torch.full_like(ids, start + level - 1)[None]
            return self._rows(self.target.embed(ids[None]), above, positions, attend)

        return draft_tree(out[-1], hidden, cache, self.shape, step, self._rank)


def load_eagle2(target: Target, folder: Path, shape: TreeShape = SHAPE) -> Eagle2Drafter:
    """A folder's head as `eagle2`.

    Raises:
        HeadError: there is no readable head, or it was made for another target.
    """
    return Eagle2Drafter(read_eagle2(folder, target.num_layers), target, shape)
