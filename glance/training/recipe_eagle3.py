"""The EAGLE-3 head's recipe: the training-time test on every token of an answer."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any, ClassVar

import torch
from torch import Tensor, nn

from glance.heads.eagle3 import Eagle3Config, Eagle3Head, eagle3_taps
from glance.heads.formats_eagle import read_eagle3, write_eagle3
from glance.targets.base import Target
from glance.training.capture import Record
from glance.training.corpus import Answers, Corpus
from glance.training.eagle2 import lessons
from glance.training.eagle3 import (
    OwnSteps,
    draft_vocabulary,
    drafting_rows,
    eagle3_loss,
    guide_loss,
    unroll,
)
from glance.training.looking import stream_cells
from glance.training.recipe import (
    GUIDE_WEIGHT,
    Recipe,
    drawn_question,
    layer_sizes,
    rope_parameters,
)

LARGEST_VOCABULARY = 32_000  # tokens, as published heads have


class Eagle3Recipe(Recipe):
    """One layer over three of the target's depths; a new head speaks the tokens of the answers.

    As with GLANCE, its first attention head is told where on the page to look, which is no part of
    the paper's recipe; without it the losses are the paper's alone.
    """

    name = "eagle3"
    title = "EAGLE-3 head"
    parts = ("guide",)
    settings: ClassVar[dict[str, dict[str, Any]]] = {"": {"image_stream": "pad_embed"}}

    @classmethod
    def reads(cls, target: Target) -> tuple[int, ...]:
        return new_taps(target)  # two coincide where there are too few layers

    @classmethod
    def lessons(cls, target: Target) -> tuple[int, ...]:
        return (target.num_layers - 1,)

    def build(self, corpus: Corpus) -> nn.Module:
        target, rope = self.target, rope_parameters(self.target)
        counts = torch.zeros(target.vocab_size, dtype=torch.long)
        counts[list(corpus.counts)] = torch.tensor(list(corpus.counts.values()))
        kept = draft_vocabulary(counts, min(LARGEST_VOCABULARY, len(corpus.counts)))
        config = Eagle3Config(
            **layer_sizes(target),
            target_layer_ids=new_taps(target),
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
        target, config = self.target, self.head.config
        rows = record.stream(drawn_question(record, self.generator))
        taps = record.tapped(config.target_layer_ids).features[rows]
        last = record.tapped((target.num_layers - 1,)).features[rows, 0]
        at = record.rotary if config.mrope_section else record.positions[None]
        wanted = lessons(record.answer[rows][None]).to(target.device)
        drafting = drafting_rows(wanted)
        guided = self.guided([record])
        attend = OwnSteps(len(rows), target.device, drafting, watched=guided)
        steps = unroll(
            self.head,
            target.embed(record.ids[rows][None].to(target.device)),
            taps[None].to(target.device, target.dtype),
            at[:, rows][None].to(target.device),
            rows=drafting,
            attend=attend,
        )
        says = target.lm_head(target.final_norm(last[None].to(target.device, target.dtype)))
        tokens = eagle3_loss(steps, self.head, says, wanted, drafting)[0]
        if not guided:
            return tokens
        cells = stream_cells(record, rows)[None].to(target.device)
        return tokens + GUIDE_WEIGHT * guide_loss(attend.looks, cells, drafting)

    def write(self, folder: Path) -> None:
        write_eagle3(self.head, folder)

    @classmethod
    def read(cls, folder: Path, target_layers: int) -> Any:
        return read_eagle3(folder, target_layers)


def new_taps(target: Target) -> tuple[int, ...]:
    """The reference's choice, the first one behind the layers that DeepStack adds to.

    There engines differ in what they take for a layer's output. Where there are too few layers for
    that, it stays where it is.
    """
    early, *later = eagle3_taps(target.num_layers)
    vision = getattr(target.model.config, "vision_config", None)
    deep = len(getattr(vision, "deepstack_visual_indexes", None) or ())
    return (max(early, deep) if deep < later[0] else early, *later)
