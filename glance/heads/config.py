"""Sizes of a block head, and whether a head belongs to a target. No torch."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import pairwise
from typing import TYPE_CHECKING, Protocol

if TYPE_CHECKING:
    from glance.targets.base import Target

SIZES = (
    "hidden_size",
    "intermediate_size",
    "num_hidden_layers",
    "num_attention_heads",
    "num_key_value_heads",
    "head_dim",
    "vocab_size",
    "num_target_layers",
    "max_position_embeddings",
)


class HeadError(ValueError):
    """A head that cannot be used; the message is one plain sentence."""


@dataclass(frozen=True, slots=True)
class HeadConfig:
    """Sizes of a block head and of the target it was made for.

    Raises:
        HeadError: a size, the mask token or the tapped layers make no sense.
    """

    hidden_size: int  # d, equal to the target's
    intermediate_size: int
    num_hidden_layers: int  # draft layers
    num_attention_heads: int
    num_key_value_heads: int
    head_dim: int
    vocab_size: int  # V of the target
    num_target_layers: int  # M
    mask_token_id: int
    #: 0-based ids of the decoder layers whose outputs are tapped, strictly increasing
    target_layer_ids: tuple[int, ...]
    block_size: int = 16
    rope_theta: float = 10_000.0
    rms_norm_eps: float = 1e-6
    max_position_embeddings: int = 8192
    #: hash of the target's weights; empty when the head's maker gave none
    target_revision: str = ""

    def __post_init__(self) -> None:
        for name in SIZES:
            if getattr(self, name) < 1:
                raise HeadError(f"The head's {name} must be positive, not {getattr(self, name)}.")
        if self.block_size < 2:
            raise HeadError(
                "The head's block_size must be at least 2: a root token and one drafted token."
            )
        if self.num_attention_heads % self.num_key_value_heads:
            raise HeadError(
                "The head's num_attention_heads must be a multiple of its num_key_value_heads."
            )
        if not 0 <= self.mask_token_id < self.vocab_size:
            raise HeadError(
                f"The head's mask_token_id {self.mask_token_id} is outside its vocabulary."
            )
        taps = self.target_layer_ids
        if not taps or any(a >= b for a, b in pairwise(taps)):
            raise HeadError(
                f"The head's target_layer_ids must be strictly increasing, not {list(taps)}."
            )
        if taps[0] < 0 or taps[-1] >= self.num_target_layers:
            raise HeadError(
                f"The head's target_layer_ids {list(taps)} do not fit "
                f"{self.num_target_layers} target layers."
            )


class MadeFor(Protocol):
    """What the config of every kind of head says about its target."""

    @property
    def vocab_size(self) -> int:
        """V of the target."""
        ...

    @property
    def hidden_size(self) -> int:
        """Width of the target (d)."""
        ...

    @property
    def num_target_layers(self) -> int:
        """Decoder layers of the target (M)."""
        ...

    @property
    def target_revision(self) -> str:
        """Hash of the target's weights; empty when the head's maker gave none."""
        ...


def check_fits(config: MadeFor, target: Target) -> None:
    """Refuse a head made for another target.

    Raises:
        HeadError: vocabulary, width, depth or the hash of the weights differ.
    """
    for what, wanted, found in (
        ("vocabulary", config.vocab_size, target.vocab_size),
        ("hidden size", config.hidden_size, target.hidden_size),
        ("number of layers", config.num_target_layers, target.num_layers),
    ):
        if wanted != found:
            raise HeadError(
                f"The head was made for a {what} of {wanted}; {target.name} has {found}. "
                "Use --drafter ar."
            )
    if config.target_revision and config.target_revision != target.revision:
        raise HeadError(
            f"The head was trained on target weights {config.target_revision}; "
            f"{target.name} has {target.revision}. Use --drafter ar."
        )
