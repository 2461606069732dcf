"""Prefix caching: what the prefill of one question leaves for the next about the same page.

Rows of a causal model depend on nothing that follows them. So a prompt that begins with the tokens
of an earlier one, over the same pixels, has its keys, values and hidden states there, and only the
rest is read (as serving engines do; RadixAttention, arXiv:2312.07104, section 3). No torch here.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from glance.types import Prompt

if TYPE_CHECKING:
    from torch import Tensor

    from glance.targets.base import Request


@dataclass(frozen=True, slots=True, eq=False)
class Prefix:
    """The rows of one prompt, as its prefill left them."""

    prompt: Prompt
    layers: tuple[tuple[Tensor, Tensor], ...]  # keys and values of each, [1, heads, n, e]
    features: dict[int, Tensor]  # [n, d] by tapped layer
    read_ms: float = 0.0  # what it took to read the rows, the reused ones when they were new

    @classmethod
    def of(
        cls,
        prompt: Prompt,
        request: Request,  # fresh from the prefill
        taps: Sequence[int],
        features: Tensor | None,  # [n, K, d]
        read_ms: float = 0.0,
    ) -> Prefix:
        """What a prefill has read. Shares its tensors: later passes append to copies of them."""
        return cls(
            replace(prompt, images=()),
            tuple((layer.keys, layer.values) for layer in request.cache.layers),
            {} if features is None else dict(zip(taps, features.unbind(1), strict=True)),
            read_ms,
        )

    def saved_ms(self, rows: int) -> float:
        """Milliseconds that reading the first so many rows took."""
        return self.read_ms * rows / self.prompt.input_ids.shape[1]

    def shared(self, prompt: Prompt) -> int:
        """How many rows the prompt has in common with this one, one less than all of its own.

        None (0) where the pixels differ. The last row is always read anew, for its logits.
        """
        if not _same_pixels(self.prompt, prompt):
            return 0
        mine, theirs = self.prompt.input_ids[0], prompt.input_ids[0]
        most = min(len(mine), len(theirs) - 1)
        return int((mine[:most] == theirs[:most]).long().cumprod(0).sum())


def _same_pixels(one: Prompt, other: Prompt) -> bool:
    first, second = _pixels(one), _pixels(other)
    return first.keys() == second.keys() and all(
        value.equal(second[name]) for name, value in first.items()
    )


def _pixels(prompt: Prompt) -> dict[str, Tensor]:
    """The inputs that belong to images; those with an entry a token follow from the ids."""
    return {
        name: value
        for name, value in prompt.model_inputs.items()
        if value.shape != prompt.input_ids.shape
    }


@dataclass(slots=True, weakref_slot=True, eq=False)
class PrefixCache:
    """The prefix of one conversation's latest question; no other is kept."""

    prefix: Prefix | None = None

    def keep(self, prefix: Prefix) -> None:
        """Take in a lane's prefill; lanes of one question add to each other's features."""
        last = self.prefix
        if last and last.prompt.input_ids is prefix.prompt.input_ids:
            prefix = replace(last, features=last.features | prefix.features)
        self.prefix = prefix

    def covering(self, taps: Sequence[int]) -> Prefix | None:
        """The prefix, if it has the features of all these layers."""
        prefix = self.prefix
        return prefix if prefix and set(taps) <= prefix.features.keys() else None

    def clear(self) -> None:
        """Let go of the memory."""
        self.prefix = None
