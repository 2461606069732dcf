"""The drafter `ngram`: prompt lookup. What followed the last few tokens before may follow again.

It searches the prompt's ids and the answer's, nothing else: neither the page's text nor weights.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from itertools import cycle, islice, takewhile

from torch import Tensor

from glance.types import CandidateTree

SIZES = (3, 2, 1)  # of the n-grams looked up, the longest match first
DRAFTED = 15  # most tokens of a chain (L)


@dataclass(slots=True)
class NgramState:
    """One request: where the text went on after each n-gram, at its last occurrence."""

    after: dict[tuple[int, ...], int] = field(default_factory=dict)
    read: int = 1  # the index knows what follows every n-gram that ends before this place


class NgramDrafter:
    """Proposes what followed the latest earlier occurrence, as a chain; no match, no nodes."""

    name = "ngram"
    taps: tuple[int, ...] = ()
    passes = 0
    block_size = DRAFTED + 1
    revision = ""

    def __init__(self, image_token_id: int) -> None:
        """The image placeholder says nothing: it is neither looked up nor proposed."""
        self.image_token_id = image_token_id

    def start(self, prompt_ids: list[int], positions: Tensor | None = None) -> NgramState:
        """An empty index: the first draft reads the prompt."""
        return NgramState()

    def draft(self, state: NgramState, out: list[int], features: Tensor | None) -> CandidateTree:
        """A chain of at most `DRAFTED` tokens after `out[-1]`."""
        for end in range(state.read, len(out)):  # out[end] follows
            if out[end] != self.image_token_id:
                for size in SIZES:
                    state.after[tuple(out[max(0, end - size) : end])] = end
        state.read = len(out)
        found = (state.after.get(tuple(out[-size:])) for size in SIZES)
        start = next((place for place in found if place is not None), None)
        drafted: list[int] = []
        if start is not None:
            # A match that reaches the end of the text goes on with its own copy.
            repeated = islice(cycle(out[start : start + DRAFTED]), DRAFTED)
            drafted = list(takewhile(lambda token_id: token_id != self.image_token_id, repeated))
        return chain(out[-1], drafted)


def chain(root: int, drafted: list[int]) -> CandidateTree:
    """A tree of width one, each token proposed for certain."""
    rows = len(drafted) + 1
    return CandidateTree(
        token_ids=(root, *drafted),
        parents=tuple(range(-1, rows - 1)),
        depths=tuple(range(rows)),
        ranks=(0,) * rows,
        p_draft=(1.0,) * rows,
    )
