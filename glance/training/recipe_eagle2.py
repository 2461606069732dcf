"""The EAGLE-2 head's recipe: every token of some answers, on noisy features."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from pathlib import Path

import torch
from torch import Tensor, nn

from glance.heads.eagle2 import Eagle2Head
from glance.heads.formats_eagle import read_eagle2, write_eagle2
from glance.heads.llama_layer import SequentialConfig
from glance.targets.base import Target
from glance.training.capture import Record
from glance.training.corpus import Answers, Corpus
from glance.training.eagle2 import eagle2_loss, guess, lessons, noisy
from glance.training.packed import pack
from glance.training.recipe import Recipe, layer_sizes, some_questions
from glance.types import INPUT


class Eagle2Recipe(Recipe):
    """One layer with full multi-head attention over embedding and last feature."""

    name = "eagle2"
    title = "EAGLE-2 head"

    @classmethod
    def taps(cls, target: Target) -> tuple[int, ...]:
        return INPUT, target.num_layers - 1

    def build(self, corpus: Corpus) -> nn.Module:
        sizes = layer_sizes(self.target)
        sizes["num_key_value_heads"] = sizes["num_attention_heads"]
        return Eagle2Head(SequentialConfig(**sizes))

    def layers(self) -> Iterable[nn.Module]:
        return self.head.layers

    def loss(self, records: Sequence[Record], answers: Answers) -> Tensor:
        return torch.stack([self._loss(record) for record in records]).mean()

    def _loss(self, record: Record) -> Tensor:
        record = some_questions(record, self.generator)
        target, packed = self.target, pack(record)
        features = record.features[packed.rows].to(target.device, target.dtype)
        states = target.final_norm(features[None, :, 1])
        guessed = guess(
            self.head,
            features[None, :, 0],
            noisy(states, self.generator),
            record.positions[packed.rows].to(target.device),
            packed.seen.to(target.device),
        )
        wanted = lessons(record.answer[packed.rows][None]).to(target.device)
        return eagle2_loss(guessed, states, wanted, target)[0]

    def write(self, folder: Path) -> None:
        write_eagle2(self.head, folder)

    def read(self, folder: Path) -> nn.Module:
        return read_eagle2(folder, self.target.num_layers)
