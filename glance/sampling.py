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
    The walk asks once for each committed token, in order, and follows the drawn token where the
    tree has it: every token is a draw from the target's own conditional, whatever was drafted.

    What a seed gives:

    * with the same drafter, node budget, machine and number of threads, the same ids again;
    * with another drafter or budget, or with none, an answer of the same distribution, but no
      promise of the same ids. They are the same in exact arithmetic; in floating point, logits
      of a packed pass and of a pass over one row differ by rounding, and a number that falls
      between two such borders gives two different tokens, after which the answers part;
    * so the lanes of one run, which share its seed, are not independent draws: for those take
      other seeds.
    """

    def __init__(self, temperature: float, seed: int) -> None:
        """`temperature` 0 is greedy; `seed` (below 2**32) feeds a generator of its own."""
        self._temperature = temperature
        self.greedy = temperature == 0.0
        self._generator = torch.Generator().manual_seed(seed)

    def pick(self, logits: Tensor) -> int:
        """The target's token for one row of logits [V]."""
        if self.greedy:
            return int(argmax(logits))
        row = logits.detach().to("cpu", torch.float64)
        # the largest is 0 before the division: however low the temperature, nothing overflows
        scaled = (row - row.max()) / self._temperature
        cumulative = torch.softmax(scaled, dim=-1).cumsum(dim=-1)
        draw = torch.rand((), generator=self._generator, dtype=torch.float64)
        # scaled by the last entry: rounding may leave the sum a little off 1
        return int(torch.searchsorted(cumulative, draw * cumulative[-1], right=True))
