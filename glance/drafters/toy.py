"""Test drafters: they need no weights, and each is right or wrong in a known way.

They take no features. `answer` is what the target will say after the prompt, so a drafter can
know the truth; each keeps the contract on absorbed positions only by looking at `out`.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import torch
from torch import Tensor

from glance.types import DraftBlock


@dataclass(frozen=True, slots=True)
class ToyState:
    """One request."""

    prompt: int  # tokens
    generator: torch.Generator


class _Toy:
    taps: tuple[int, ...] = ()
    passes = 1
    revision = ""
    name = "toy"

    def __init__(
        self, vocab_size: int, seed: int = 0, block_size: int = 16, chain: bool = False
    ) -> None:
        self.vocab_size = vocab_size
        self.seed = seed
        self.block_size = block_size
        self.chain = chain

    def start(self, prompt_ids: list[int], positions: Tensor | None = None) -> ToyState:
        """The prompt's length, and chance that begins anew with every request."""
        return ToyState(len(prompt_ids), torch.Generator().manual_seed(self.seed))

    def _flat(self) -> Tensor:
        return torch.zeros(self.block_size - 1, self.vocab_size)


class _Knowing(_Toy):
    """Knows the answer in advance."""

    def __init__(
        self,
        answer: Sequence[int],
        vocab_size: int,
        seed: int = 0,
        block_size: int = 16,
        chain: bool = False,
    ) -> None:
        super().__init__(vocab_size, seed, block_size, chain)
        self._answer = list(answer)

    def _truth(self, state: ToyState, out: list[int]) -> list[int]:
        done = len(out) - state.prompt
        return self._answer[done : done + self.block_size - 1]


class OracleDrafter(_Knowing):
    """Always right: every round accepts the whole block."""

    name = "oracle"

    def draft(self, state: ToyState, out: list[int], features: Tensor | None) -> DraftBlock:
        """The true continuation, beyond doubt."""
        logits = self._flat()
        for offset, token_id in enumerate(self._truth(state, out)):
            logits[offset, token_id] = 20.0
        return DraftBlock(logits, self.chain)


class AlwaysWrong(_Knowing):
    """Never right: the true token is the last it would say, so every round commits one token."""

    name = "always-wrong"

    def draft(self, state: ToyState, out: list[int], features: Tensor | None) -> DraftBlock:
        """Anything but the true continuation."""
        logits = self._flat()
        for offset, token_id in enumerate(self._truth(state, out)):
            logits[offset, token_id] = float("-inf")
        return DraftBlock(logits, self.chain)


class NoisyDrafter(_Knowing):
    """Knows the answer, and ranks it first with probability p, else second to fourth.

    So accepted paths leave the chain of best tokens, and rounds end at any depth.
    """

    name = "noisy"

    def __init__(
        self,
        answer: Sequence[int],
        vocab_size: int,
        p: float = 0.7,
        seed: int = 0,
        block_size: int = 16,
        chain: bool = False,
    ) -> None:
        super().__init__(answer, vocab_size, seed, block_size, chain)
        self._p = p

    def draft(self, state: ToyState, out: list[int], features: Tensor | None) -> DraftBlock:
        """The true continuation among three others an offset."""
        logits = self._flat()
        for offset, token_id in enumerate(self._truth(state, out)):
            others = torch.randint(self.vocab_size, (3,), generator=state.generator)
            logits[offset, others] = torch.tensor([9.0, 8.8, 8.6])
            first = float(torch.rand((), generator=state.generator)) < self._p
            place = int(torch.randint(3, (), generator=state.generator))
            logits[offset, token_id] = 10.0 if first else (8.9, 8.7, 8.5)[place]
        return DraftBlock(logits, self.chain)


class RandomDrafter(_Toy):
    """Knows nothing: random logits from a seed."""

    name = "random"

    def draft(self, state: ToyState, out: list[int], features: Tensor | None) -> DraftBlock:
        """Noise, peaked enough for the tree to have depth."""
        shape = (self.block_size - 1, self.vocab_size)
        return DraftBlock(4.0 * torch.randn(shape, generator=state.generator), self.chain)
