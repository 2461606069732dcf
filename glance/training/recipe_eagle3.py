"""The EAGLE-3 head's recipe: the training-time test on every token of some answers."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from pathlib import Path

import torch
from torch import Tensor, nn

from glance.heads.eagle3 import Eagle3Config, Eagle3Head, eagle3_taps
from glance.heads.formats_eagle import read_eagle3, write_eagle3
from glance.targets.base import Target
from glance.training.capture import Record
from glance.training.corpus import Answers, Corpus
from glance.training.eagle2 import lessons
from glance.training.eagle3 import STEPS, draft_vocabulary, drafting_rows, eagle3_loss, unroll
from glance.training.packed import pack
from glance.training.recipe import Recipe, layer_sizes, rope_parameters, some_questions

LARGEST_VOCABULARY = 32_000  # tokens, as published heads have


class Eagle3Recipe(Recipe):
    """One layer over three of the target's depths; its vocabulary is that of the answers."""

    name = "eagle3"
    title = "EAGLE-3 head"

    @classmethod
    def taps(cls, target: Target) -> tuple[int, ...]:
        # Two of them coincide where a target is too small for such a head.
        taps = set(eagle3_taps(target.num_layers)) | {target.num_layers - 1}
        return tuple(sorted(taps))

    def build(self, corpus: Corpus) -> nn.Module:
        target, rope = self.target, rope_parameters(self.target)
        counts = torch.zeros(target.vocab_size, dtype=torch.long)
        counts[list(corpus.counts)] = torch.tensor(list(corpus.counts.values()))
        kept = draft_vocabulary(counts, min(LARGEST_VOCABULARY, len(corpus.counts)))
        config = Eagle3Config(
            **layer_sizes(target),
            target_layer_ids=eagle3_taps(target.num_layers),
            draft_vocab_size=len(kept),
            mrope_section=tuple(rope.get("mrope_section", ())),
            mrope_interleaved=bool(rope.get("mrope_interleaved", False)),
        )
        head = Eagle3Head(config)
        head.speak(kept)
        return head

    def layers(self) -> Iterable[nn.Module]:
        return [self.head.midlayer]

    def loss(self, records: Sequence[Record], answers: Answers) -> Tensor:
        return torch.stack([self._loss(record) for record in records]).mean()

    def _loss(self, record: Record) -> Tensor:
        record = some_questions(record, self.generator)
        target, packed = self.target, pack(record, gap=STEPS - 1)
        taps = record.tapped(self.head.config.target_layer_ids).features
        last = record.tapped((target.num_layers - 1,)).features[:, 0]
        at = record.rotary if self.head.config.mrope_section else record.positions[None]

        def laid_out(values: Tensor, dtype: torch.dtype | None = None) -> Tensor:
            return values[packed.rows][None].to(target.device, dtype)

        wanted = lessons(record.answer[packed.rows][None]).to(target.device)
        rows = drafting_rows(wanted, packed.real.to(target.device))
        steps = unroll(
            self.head,
            target.embed(laid_out(record.ids)),
            laid_out(taps, target.dtype),
            laid_out(at.T).transpose(1, 2),
            seen=packed.seen.to(target.device),
            rows=rows,
        )
        says = target.lm_head(target.final_norm(laid_out(last, target.dtype)))
        return eagle3_loss(steps, self.head, says, wanted, rows)[0]

    def write(self, folder: Path) -> None:
        write_eagle3(self.head, folder)

    def read(self, folder: Path) -> nn.Module:
        return read_eagle3(folder, self.target.num_layers)
