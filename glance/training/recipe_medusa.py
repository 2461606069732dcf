"""The Medusa heads' recipe: random root tokens of the answers, a plain sum over the heads."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

from torch import Tensor, nn

from glance.heads.medusa import MedusaConfig, MedusaHead, read_medusa, write_medusa
from glance.targets.base import Target
from glance.training.blocks import block_labels, collate, sample_anchors
from glance.training.capture import Record
from glance.training.corpus import Answers, Corpus
from glance.training.medusa import draft_offsets, medusa_loss
from glance.training.recipe import Recipe

ANCHORS_A_PAGE = 128  # one costs a few rows of lm_head and nothing else


class MedusaRecipe(Recipe):
    """Medusa-1: five heads that share the target's lm_head."""

    name = "medusa"
    title = "Medusa heads"
    a_page = f"{ANCHORS_A_PAGE} root tokens"

    @classmethod
    def reads(cls, target: Target) -> tuple[int, ...]:
        return (target.num_layers - 1,)

    def build(self, corpus: Corpus) -> nn.Module:
        target = self.target
        return MedusaHead(
            MedusaConfig(
                hidden_size=target.hidden_size,
                vocab_size=target.vocab_size,
                num_target_layers=target.num_layers,
                target_revision=target.revision,
            )
        )

    def layers(self) -> Iterable[nn.Module]:
        return self.head

    def loss(self, records: Sequence[Record], answers: Answers) -> Tensor:
        batch = collate(records, self.target.device)
        anchors = sample_anchors(batch, ANCHORS_A_PAGE, self.generator)
        logits = draft_offsets(self.head, self.target, batch, anchors)
        return medusa_loss(logits, *block_labels(batch, anchors, logits.shape[2]))

    def write(self, folder: Path) -> None:
        write_medusa(self.head, folder)

    @classmethod
    def read(cls, folder: Path, target_layers: int) -> Any:
        return read_medusa(folder)
