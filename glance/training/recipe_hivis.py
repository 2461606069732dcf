"""The HiViS-style head's recipe: drafts unrolled over every token of an answer."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any, ClassVar

import torch
from torch import Tensor, nn

from glance.heads.formats_hivis import read_hivis, write_hivis
from glance.heads.hivis import HiViSConfig, HiViSHead, lay_out
from glance.training.capture import Record
from glance.training.corpus import Answers, Corpus
from glance.training.hivis import hivis_loss, trained_rows, unroll
from glance.training.recipe import FeatureRecipe, drawn_question
from glance.training.streams import stream

RESIDUALS = 5  # steps with a residual of their own


class HiViSRecipe(FeatureRecipe):
    """EAGLE-2 without image rows, with a residual for every step."""

    name = "hivis"
    title = "HiViS-style head"
    parts = ("hiding", "residual")
    settings: ClassVar[dict[str, dict[str, Any]]] = {
        "": {"image_tokens": False, "residual_steps": RESIDUALS},
        "hiding": {"image_tokens": True},
        "residual": {"residual_steps": 0},
    }

    def build(self, corpus: Corpus) -> nn.Module:
        return HiViSHead(HiViSConfig(**self.sizes(), **self.setting(self.without)))

    def loss(self, records: Sequence[Record], answers: Answers) -> Tensor:
        return torch.stack([self._loss(record) for record in records]).mean()

    def _loss(self, record: Record) -> Tensor:
        one = stream(record, drawn_question(record, self.generator), self.target)
        image = one.ids[:-1] == self.target.model.config.image_token_id
        layout = lay_out(image, self.head.config)
        rows = trained_rows(layout, one.roots)
        guessed = unroll(self.head, one.embeds, one.states, layout, rows)
        return hivis_loss(self.head, guessed, one.states[one.roots], self.target)[0]

    def write(self, folder: Path) -> None:
        write_hivis(self.head, folder)

    @classmethod
    def read(cls, folder: Path, target_layers: int) -> Any:
        return read_hivis(folder)
