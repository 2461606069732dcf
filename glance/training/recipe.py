"""Recipe: what training must know of a kind of head. One short file each beside this one."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterable, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any, ClassVar

import torch
from torch import Tensor, nn

from glance.heads.config import HeadError
from glance.targets.base import Target
from glance.training.blocks import anchor_rows
from glance.training.capture import Record
from glance.training.corpus import Answers, Corpus
from glance.types import INPUT

GUIDE_WEIGHT = 0.4  # of the loss that tells a head where on the page to look


class Recipe(ABC):
    """A head for a target, and how it learns.

    Attributes:
        name: of the drafter that the head belongs to.
        title: of the head's card.
        a_page: what it learns of a page in one step, for the card.
        stages: the answers that it learns from, in order; every kind of head gets as many tokens.
        parts: what it can be trained without, to see what that part is worth.
        settings: fields of the head's config: "" has those of a whole head, a part what leaving
            it out changes in them.
        without: the part that is left out, "" for none.
        head: float32, with random weights unless one was given.
        generator: every draw of the losses comes from it.
    """

    name: ClassVar[str]
    title: ClassVar[str]
    a_page: str = "every token of one answer"
    stages: ClassVar[tuple[Answers, ...]] = ("greedy",)
    parts: ClassVar[tuple[str, ...]] = ()
    settings: ClassVar[dict[str, dict[str, Any]]] = {}
    head: Any  # the module of the kind

    def __init__(
        self,
        target: Target,
        corpus: Corpus,
        without: str = "",
        head: Any = None,  # from `given`, to go on from
    ) -> None:
        self.target = target
        self.without = without
        self.head = (self.build(corpus) if head is None else head).to(target.device)
        self.generator = torch.Generator()

    @classmethod
    def setting(cls, without: str) -> dict[str, Any]:
        """What is set in the config of a head that one part is left out of, "" for none."""
        return {**cls.settings.get("", {}), **cls.settings.get(without, {})}

    @classmethod
    def given(cls, target: Target, folder: Path, without: str = "") -> Any:
        """A finished head, of whatever target, as one of this target's: it keeps its own shape.

        Raises:
            HeadError: there is none, or it does not fit the target or what is left out.
        """
        head = cls.read(folder, target.num_layers)
        wanted = {"hidden_size": target.hidden_size, "vocab_size": target.vocab_size}
        for name, value in {**wanted, **cls.setting(without)}.items():
            found = getattr(head.config, name)
            if found != value:
                raise HeadError(
                    f"The head in {folder} cannot go on for {target.name}: its {name} is {found}, "
                    f"not {value}."
                )
        head.config = replace(
            head.config, num_target_layers=target.num_layers, target_revision=target.revision
        )
        return head

    @classmethod
    def taps(cls, target: Target, head: Any = None) -> tuple[int, ...]:
        """Layer ids of the features that it learns from, ascending; of a given head, its own."""
        new = cls.reads(target)
        read = new if head is None else getattr(head.config, "target_layer_ids", new)
        return tuple(sorted({*read, *cls.lessons(target)}))

    @classmethod
    @abstractmethod
    def reads(cls, target: Target) -> tuple[int, ...]:
        """Layer ids whose outputs a new head reads."""

    @classmethod
    def lessons(cls, _target: Target) -> tuple[int, ...]:
        """Layer ids that it learns from beside those that it reads."""
        return ()

    @abstractmethod
    def build(self, corpus: Corpus) -> nn.Module:
        """The head, on the CPU.

        Raises:
            HeadError: there can be none for this target.
        """

    @abstractmethod
    def layers(self) -> Iterable[nn.Module]:
        """What the head is made of; Muon takes the matrices."""

    @abstractmethod
    def loss(self, records: Sequence[Record], answers: Answers) -> Tensor:
        """Of records with `taps` that have at least one root each, in a stage of these answers."""

    def guided(self, records: Sequence[Record]) -> bool:
        """Whether they can tell the head where to look; of data that people bring nobody knows."""
        return self.without != "guide" and any(record.has_cells() for record in records)

    @abstractmethod
    def write(self, folder: Path) -> None:
        """Write the head in the method's own layout, in bfloat16."""

    @classmethod
    @abstractmethod
    def read(cls, folder: Path, target_layers: int) -> Any:
        """What `write` wrote, for this target or another; float32, on the CPU.

        `target_layers` is for layouts that do not name the target's layers.

        Raises:
            HeadError: there is no such head.
        """


class FeatureRecipe(Recipe):
    """Of heads that pair the target's last feature with the embedding after it, as EAGLE-2 does."""

    @classmethod
    def reads(cls, target: Target) -> tuple[int, ...]:
        return INPUT, target.num_layers - 1

    def layers(self) -> Iterable[nn.Module]:
        return self.head.layers

    def sizes(self) -> dict[str, Any]:
        """Those of a layer like the target's own, with keys and values for every head."""
        sizes = layer_sizes(self.target)
        return {**sizes, "num_key_value_heads": sizes["num_attention_heads"]}


def drawn_question(record: Record, generator: torch.Generator) -> int:
    """The segment of a question with a root, those with many likelier: a draw of the tokens."""
    roots = anchor_rows(record.answer, record.segments)
    place = torch.randint(len(roots), (), generator=generator)
    return int(record.segments[roots[place]])


def layer_sizes(target: Target) -> dict[str, Any]:
    """Arguments of SequentialConfig for a layer like the target's own."""
    text = target.model.config.get_text_config()
    return {
        "hidden_size": target.hidden_size,
        "intermediate_size": text.intermediate_size,
        "num_attention_heads": text.num_attention_heads,
        "num_key_value_heads": text.num_key_value_heads,
        "head_dim": getattr(text, "head_dim", None) or text.hidden_size // text.num_attention_heads,
        "vocab_size": target.vocab_size,
        "num_target_layers": target.num_layers,
        "max_position_embeddings": target.max_context,
        "rope_theta": float(rope_parameters(target).get("rope_theta", 10_000.0)),
        "target_revision": target.revision,
    }


def rope_parameters(target: Target) -> dict[str, Any]:
    """What the target's config says of its rotary positions."""
    return getattr(target.model.config.get_text_config(), "rope_parameters", None) or {}
