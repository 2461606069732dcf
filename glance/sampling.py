"""Logits to a token. One argmax for every path, and draws that any tree leaves unchanged."""

from __future__ import annotations

import torch
from torch import Tensor


def argmax(logits: Tensor) -> Tensor:
    """Index of the largest logit of the last axis; ties go to the lowest id.

    Plain, chain and tree decoding must break ties alike, or equal logits give unequal text.
    """
    return torch.argmax(logits, dim=-1)


class Sampler:
    """Picks the target's token at a row: its argmax at temperature 0, else a draw.

    A draw takes exactly one number from the generator and inverts the cumulative distribution.
    One number is used per committed token, in order, whatever was drafted: in exact arithmetic
    the same seed gives the same text with and without a drafter.
    """

    def __init__(self, temperature: float, seed: int) -> None:
        """`temperature` 0 is greedy; `seed` feeds a generator of this sampler's own."""
        self._temperature = temperature
        self.greedy = temperature == 0.0
        self._generator = torch.Generator().manual_seed(seed)

    def pick(self, logits: Tensor) -> int:
        """The target's token for one row of logits [V]."""
        if self.greedy:
            return int(argmax(logits))
        scaled = logits.detach().to("cpu", torch.float64) / self._temperature
        cumulative = torch.softmax(scaled, dim=-1).cumsum(dim=-1)
        draw = torch.rand((), generator=self._generator, dtype=torch.float64)
        # scaled by the last entry: rounding may leave the sum a little off 1
        return int(torch.searchsorted(cumulative, draw * cumulative[-1], right=True))
