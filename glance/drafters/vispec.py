"""The drafter `vispec`: EAGLE-2's tree, from a head that sees one row an image.

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
from glance.heads.formats_vispec import read_vispec
from glance.heads.llama_layer import ALL, Attend, Rows
from glance.heads.vispec import Span, ViSpecHead, image_spans, lay_out
from glance.types import CandidateTree

if TYPE_CHECKING:
    from glance.targets.base import Target

SHAPE = paper_shape("vispec")


@dataclass(slots=True)
class ViSpecState:
    """One request: keys and values of rows made with the target's features, no guesses."""

    cache: LayerCache
    spans: tuple[Span, ...]  # pairs of each image of the prompt
    vector: Tensor  # [d] of the last image; zeros before there is one
    length: int = 0  # positions absorbed: more than the cache has rows


class ViSpecDrafter(RolloutDrafter):
    """Reads the target's last layer and its input embeddings, the images' among them.

    Positions are places in line, whatever the target's are.

    Raises:
        HeadError: the head was made for another target.
    """

    name = "vispec"

    head: ViSpecHead

    def __init__(self, head: ViSpecHead, target: Target, shape: TreeShape = SHAPE) -> None:
        super().__init__(head, target, shape)

    def start(self, prompt_ids: list[int], positions: Tensor | None = None) -> ViSpecState:
        c, target = self.head.config, self.target
        moments = [0] * len(prompt_ids)
        if positions is not None and len(positions) > 1:
            moments = positions[0].tolist()
        spans = image_spans(prompt_ids, target.model.config.image_token_id, moments)
        dropped = sum(end - first - 1 for first, end in spans) if c.adaptor else 0
        rows = len(prompt_ids) - dropped + 256  # a usual answer; the cache grows by itself
        vector = torch.zeros(c.hidden_size, device=target.device, dtype=target.dtype)
        cache = LayerCache.empty(c, rows, target.device, target.dtype)
        return ViSpecState(cache, spans, vector)

    @torch.inference_mode()
    def draft(self, state: ViSpecState, out: list[int], features: Tensor | None) -> CandidateTree:
        """One pass over the new positions, one a level of the tree.

        Of new positions but the last there are keys and values only: no layer comes after.

        Raises:
            RuntimeError: the features do not continue what the state has absorbed.
        """
        cache, start = state.cache, len(out) - 1
        features = check_continued(state.length, start, features)
        embeds, states = self._paired(out[-1], features)
        if state.length == 0:  # the prompt: images are in it and nowhere else
            layout = lay_out(len(features), state.spans, self.head.config.adaptor, features.device)
            sight = self.head.see(embeds, state.spans)
            x = self.head.inputs(embeds, states[layout.places], layout, sight)
            places, state.vector = layout.places, sight.vectors[len(state.spans) - 1]
        else:
            places = torch.arange(state.length, start, device=features.device)
            x = self.head.pairs(embeds, states, state.vector)
        state.length = start
        attend = cache.attend(everything(cache.length + len(x), features.device))
        hidden = self._layer(x, places, attend, LAST)

        def step(ids: Tensor, above: Tensor, level: int, attend: Attend) -> Tensor:
            x = self.head.pairs(self.target.embed(ids), above[0], state.vector)
            return self._layer(x, torch.full_like(ids, start + level - 1), attend)

        return draft_tree(out[-1], hidden, cache, self.shape, step, self._rank)

    def _layer(self, x: Tensor, places: Tensor, attend: Attend, wanted: Rows = ALL) -> Tensor:
        rope = self.head.config.rope(places[None], x.dtype)
        return self.head(x[None], rope, attend, wanted)


def load_vispec(target: Target, folder: Path, shape: TreeShape = SHAPE) -> ViSpecDrafter:
    """A folder's head as `vispec`.

    Raises:
        HeadError: there is no readable head, or it was made for another target.
    """
    return ViSpecDrafter(read_vispec(folder, target.num_layers), target, shape)
