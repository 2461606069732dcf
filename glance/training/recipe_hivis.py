"""The HiViS-style head's recipe: drafts unrolled over every token of some answers."""

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
from glance.training.recipe import Recipe, layer_sizes, some_questions
from glance.training.streams import Stream, streams
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
        drawn = [some_questions(record, self.generator) for record in records]
        found = [(s, len(s.roots)) for record in drawn for s in streams(record, self.target)]
        total = torch.stack([self._loss(stream) * count for stream, count in found]).sum()
        return total / sum(count for _, count in found)

    def _loss(self, stream: Stream) -> Tensor:
        image = stream.ids[:-1] == self.target.model.config.image_token_id
        layout = lay_out(image, self.head.config)
        steps = unroll(self.head, stream.embeds, stream.states, layout)
        rows = trained_rows(layout, stream.roots)
        guessed, states = [step[rows] for step in steps], stream.states[stream.roots]
        return hivis_loss(self.head, guessed, states, self.target)[0]

    def write(self, folder: Path) -> None:
        write_hivis(self.head, folder)

    def read(self, folder: Path) -> nn.Module:
        return read_hivis(folder)
