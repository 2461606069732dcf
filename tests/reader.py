"""Drafters that are right if, and only if, they are given the target's states."""

from __future__ import annotations

from dataclasses import dataclass

import torch
from torch import Tensor

from glance.drafters.grown import Children, TreeShape, grow
from glance.types import CandidateTree, DraftBlock
from tests.tiny_models import VOCAB

BLOCK = 8


@dataclass
class Absorbed:
    """How far the features have been read, and a sum over them."""

    prompt: int
    length: int
    total: Tensor


class Reader:
    """Ranks the true continuation 1st to 5th, by a sum over all features that it was given.

    So its drafts are right if, and only if, the features are those that live rounds bring; where
    all are zero, the first of them never is. In double precision, for a target of width 64.
    """

    taps = (0, 2)
    passes = 1
    revision = ""
    block_size = BLOCK

    def __init__(self, answer: list[int], chain: bool = False) -> None:
        """`answer` is what the target will say."""
        self.name = "chain" if chain else "tree"
        self._answer = answer
        self._chain = chain
        generator = torch.Generator().manual_seed(3)
        self._matrix = torch.randn(2 * 64, BLOCK - 1, generator=generator, dtype=torch.float64)

    def start(self, prompt_ids: list[int], _positions: Tensor | None = None) -> Absorbed:
        """Nothing read yet."""
        return Absorbed(len(prompt_ids), 0, torch.zeros(2 * 64, dtype=torch.float64))

    def draft(self, state: Absorbed, out: list[int], features: Tensor | None) -> DraftBlock:
        """The true token of each offset, among four others."""
        assert features is not None
        state.length += len(features)
        assert state.length == len(out) - 1
        state.total = state.total + features.flatten(1).sum(0)
        lean = (-(state.total @ self._matrix).cos()).tolist()  # -1 ... 1 an offset
        done = len(out) - state.prompt
        logits = torch.zeros(BLOCK - 1, VOCAB, dtype=torch.float64)
        for offset, token_id in enumerate(self._answer[done : done + BLOCK - 1]):
            for other in range(4):
                logits[offset, (token_id + 7 + other) % 150] = 5.0 - 0.4 * other
            logits[offset, token_id] = 5.1 + lean[offset]
        return DraftBlock(logits, self._chain)


class Blind(Reader):
    """The same with all features zero: what a drafter gets that is not connected."""

    def draft(self, state: Absorbed, out: list[int], features: Tensor | None) -> DraftBlock:
        """Drafts that say nothing about what comes."""
        assert features is not None
        return super().draft(state, out, torch.zeros_like(features))


class Growing(Reader):
    """Grows its tree itself, level by level, from what a Reader would say."""

    shape = TreeShape(depth=BLOCK - 2, width=4, nodes=63)

    def draft(  # type: ignore[override]
        self, state: Absorbed, out: list[int], features: Tensor | None
    ) -> CandidateTree:
        """The best nodes, best first."""
        best = super().draft(state, out, features).logits.log_softmax(-1).topk(4)
        offsets = [Children(*row) for row in zip(*map(Tensor.tolist, best[::-1]), strict=True)]
        level = 0

        def expand(ids: list[int], _parents: list[int]) -> list[Children]:
            nonlocal level
            level += 1
            return [offsets[level]] * len(ids)

        return grow(out[-1], offsets[0], expand, self.shape)
