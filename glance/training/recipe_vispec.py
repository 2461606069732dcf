"""The ViSpec head's recipe: two stages, the second on sampled answers and on own guesses too."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from itertools import islice
from pathlib import Path
from typing import Any, ClassVar

import torch
from torch import Tensor, nn

from glance.heads.formats_vispec import read_vispec, write_vispec
from glance.heads.vispec import ViSpecConfig, ViSpecHead, image_spans, lay_out
from glance.training.capture import Record
from glance.training.corpus import Answers, Corpus
from glance.training.eagle2 import noisy
from glance.training.recipe import FeatureRecipe, drawn_question
from glance.training.streams import stream
from glance.training.vispec import first_loss, rollouts, trained_rows, vispec_loss


class ViSpecRecipe(FeatureRecipe):
    """EAGLE-2 with one row an image and a global vector.

    The second stage has the question with the longest answer of every page, sampled, and the first
    has the rest. ViSpec's own first stage is text alone; here there is none without a page.
    """

    name = "vispec"
    title = "ViSpec head"
    parts = ("adaptor", "global-vector")
    settings: ClassVar[dict[str, dict[str, Any]]] = {
        "": {"adaptor": True, "global_vector": True},
        "adaptor": {"adaptor": False},
        "global-vector": {"global_vector": False},
    }
    stages = ("rest", "sampled")

    def build(self, corpus: Corpus) -> nn.Module:
        first: Any = self.target.family.text_layers(self.target.model)[0]
        bias = first.self_attn.q_proj.bias is not None  # configs do not always say so
        config = ViSpecConfig(**self.sizes(), **self.setting(self.without), attention_bias=bias)
        return ViSpecHead(config)

    def layers(self) -> Iterable[nn.Module]:
        return self.head.layers, self.head.imadpt

    def loss(self, records: Sequence[Record], answers: Answers) -> Tensor:
        target, two = self.target, answers == "sampled"
        guessed: list[Tensor] = []  # [rows, d]
        states: list[Tensor] = []  # [rows, d]
        for record in records:
            one = stream(record, drawn_question(record, self.generator), target)
            spans = image_spans(one.ids.tolist(), target.model.config.image_token_id, one.moments)
            layout = lay_out(len(one.states), spans, self.head.config.adaptor, one.ids.device)
            features = noisy(one.states[None], self.generator)[0]
            rolled = rollouts(self.head, one.embeds, features, layout)
            rows = trained_rows(layout, one.roots)
            for guesses in islice(rolled, 2 if two else 1):
                guessed.append(guesses[rows])
                states.append(one.states[one.roots])
        guess, true = torch.cat(guessed), torch.cat(states)
        logits, wanted = target.lm_head(guess), target.lm_head(true)
        return vispec_loss(logits, wanted) if two else first_loss(guess, true, logits, wanted)

    def write(self, folder: Path) -> None:
        write_vispec(self.head, folder)

    @classmethod
    def read(cls, folder: Path, target_layers: int) -> Any:
        return read_vispec(folder, target_layers)
