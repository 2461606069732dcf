"""The HiViS-style head's recipe: drafts unrolled over every token of an answer."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from pathlib import Path

import torch
from torch import Tensor, nn

from glance.heads.formats_hivis import read_hivis, write_hivis
from glance.heads.hivis import HiViSConfig, HiViSHead, lay_out
from glance.targets.base import Target
from glance.training.capture import Record
from glance.training.corpus import Answers, Corpus
from glance.training.hivis import hivis_loss, trained_rows, unroll
from glance.training.recipe import Recipe, drawn_question, layer_sizes
from glance.training.streams import stream
from glance.types import INPUT


class HiViSRecipe(Recipe):
    """EAGLE-2 without image rows, with a residual for every step."""

    name = "hivis"
    title = "HiViS-style head"

    @classmethod
    def taps(cls, target: Target) -> tuple[int, ...]:
        return INPUT, target.num_layers - 1

    def build(self, corpus: Corpus) -> nn.Module:
        sizes = layer_sizes(self.target)
        sizes["num_key_value_heads"] = sizes["num_attention_heads"]
        return HiViSHead(HiViSConfig(**sizes))

    def layers(self) -> Iterable[nn.Module]:
        return self.head.layers

    def loss(self, records: Sequence[Record], answers: Answers) -> Tensor:
        return torch.stack([self._loss(record) for record in records]).mean()

    def _loss(self, record: Record) -> Tensor:
        one = stream(record, drawn_question(record, self.generator), self.target)
        image = one.ids[:-1] == self.target.model.config.image_token_id
        layout = lay_out(image, self.head.config)
        steps = unroll(self.head, one.embeds, one.states, layout)
        rows = trained_rows(layout, one.roots)
        guessed, states = [step[rows] for step in steps], one.states[one.roots]
        return hivis_loss(self.head, guessed, states, self.target)[0]

    def write(self, folder: Path) -> None:
        write_hivis(self.head, folder)

    def read(self, folder: Path) -> nn.Module:
        return read_hivis(folder)
