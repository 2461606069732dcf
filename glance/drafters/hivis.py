"""The drafter `hivis`, HiViS-style: EAGLE-2's tree, from a head that sees text alone.

Letters as in `glance.types`.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import torch
from torch import Tensor
from torch.nn import functional as F

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
from glance.heads.formats_hivis import read_hivis
from glance.heads.hivis import HiViSHead, lay_out
from glance.heads.llama_layer import ALL, Attend, Rows
from glance.types import CandidateTree, PromptError

if TYPE_CHECKING:
    from glance.targets.base import Target

SHAPE = paper_shape("hivis")


@dataclass(slots=True)
class HiViSState:
    """One request: keys and values of rows made with the target's features, no guesses."""

    cache: LayerCache
    image: Tensor  # [n] bool: image tokens of the prompt
    length: int = 0  # positions absorbed: more than the cache has rows


class HiViSDrafter(RolloutDrafter):
    """Reads the target's last layer and its input embeddings, of text alone unless told otherwise.

    Positions are places in line or among the rows, whatever the target's are.

    Raises:
        HeadError: the head was made for another target.
    """

    name = "hivis"

    head: HiViSHead

    def __init__(self, head: HiViSHead, target: Target, shape: TreeShape = SHAPE) -> None:
        super().__init__(head, target, shape)

    def start(self, prompt_ids: list[int], positions: Tensor | None = None) -> HiViSState:
        """Fresh state for one request.

        Raises:
            PromptError: the prompt is images alone.
        """
        c, target = self.head.config, self.target
        ids = torch.tensor(prompt_ids, device=target.device)
        image = ids == target.model.config.image_token_id
        rows = len(lay_out(image, c).places)
        if rows == 0:
            raise PromptError("The drafter hivis reads text alone, and this prompt has none.")
        # Room for a usual answer; the cache grows by itself.
        return HiViSState(LayerCache.empty(c, rows + 256, target.device, target.dtype), image)

    @torch.inference_mode()
    def draft(self, state: HiViSState, out: list[int], features: Tensor | None) -> CandidateTree:
        """One pass over the new positions, one a level of the tree.

        Of new positions but the last there are keys and values only: no layer comes after.

        Raises:
            RuntimeError: the features do not continue what the state has absorbed.
        """
        c, cache, start = self.head.config, state.cache, len(out) - 1
        features = check_continued(state.length, start, features)
        embeds, states = self._paired(out[-1], features)
        # Images are in the prompt and nowhere else.
        image = F.pad(state.image, (0, start - len(state.image)))
        layout = lay_out(image[state.length :], c)
        before = cache.length if c.compact_positions else state.length
        positions = before + layout.positions
        attend = cache.attend(everything(cache.length + len(positions), features.device))
        rows = embeds[None, layout.reads], states[None, layout.places]
        hidden = self._at_step(*rows, 0, positions, attend, LAST)
        state.length = start

        def step(ids: Tensor, above: Tensor, level: int, attend: Attend) -> Tensor:
            at = positions[-1:].expand(len(ids)) + level
            return self._at_step(self.target.embed(ids[None]), above, level, at, attend)

        return draft_tree(out[-1], hidden, cache, self.shape, step, self._rank)

    def _at_step(
        self,
        embeds: Tensor,
        states: Tensor,
        step: int,
        positions: Tensor,
        attend: Attend,
        wanted: Rows = ALL,
    ) -> Tensor:
        rope = self.head.config.rope(positions[None], embeds.dtype)
        return self.head(embeds, states, step, rope, attend, wanted)


def load_hivis(target: Target, folder: Path, shape: TreeShape = SHAPE) -> HiViSDrafter:
    """A folder's head as `hivis`.

    Raises:
        HeadError: there is no readable head, or it was made for another target.
    """
    return HiViSDrafter(read_hivis(folder), target, shape)
