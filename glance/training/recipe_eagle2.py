"""The EAGLE-2 head's recipe: every token of an answer, on noisy features."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import torch
from torch import Tensor, nn

from glance.heads.eagle2 import Eagle2Head
from glance.heads.formats_eagle import read_eagle2, write_eagle2
from glance.heads.llama_layer import SequentialConfig
from glance.training.capture import Record
from glance.training.corpus import Answers, Corpus
from glance.training.eagle2 import causal_mask, eagle2_loss, guess, lessons, noisy, shifted
from glance.training.looking import Watched, overlooked, stream_cells
from glance.training.recipe import GUIDE_WEIGHT, FeatureRecipe, drawn_question


class Eagle2Recipe(FeatureRecipe):
    """One layer with full multi-head attention over embedding and last feature.

    Told where to look as the EAGLE-3 head is.
    """

    name = "eagle2"
    title = "EAGLE-2 head"
    parts = ("guide",)

    def build(self, corpus: Corpus) -> nn.Module:
        return Eagle2Head(SequentialConfig(**self.sizes()))

    def loss(self, records: Sequence[Record], answers: Answers) -> Tensor:
        return torch.stack([self._loss(record) for record in records]).mean()

    def _loss(self, record: Record) -> Tensor:
        target, rows = self.target, record.stream(drawn_question(record, self.generator))
        features = record.features[rows][None].to(target.device, target.dtype)
        states = target.final_norm(features[:, :, 1])
        wanted = lessons(record.answer[rows][None]).to(target.device)
        drafting = shifted(wanted, 1)[0].nonzero()[:, 0]
        seen = noisy(states, self.generator)
        attend = None
        if self.guided([record]):
            attend = Watched(causal_mask(len(rows), target.device)[:, :, drafting])
        guessed = guess(self.head, features[:, :, 0], seen, drafting, attend)
        tokens = eagle2_loss(guessed, states, wanted, target, drafting)[0]
        if attend is None:
            return tokens
        assert attend.look is not None
        cells = stream_cells(record, rows)[None].to(target.device)
        total, known = overlooked(attend.look, cells, drafting, ahead=2)
        return tokens + GUIDE_WEIGHT * total / known.clamp(min=1)

    def write(self, folder: Path) -> None:
        write_eagle2(self.head, folder)

    @classmethod
    def read(cls, folder: Path, target_layers: int) -> Any:
        return read_eagle2(folder, target_layers)
