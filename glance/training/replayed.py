"""Rounds replayed on answers the target has already given: tau without running the target.

A greedy round commits what the target would have written anyway, so with the answer and its taps at
hand only the drafter runs, as it does when it serves.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field

import torch

from glance.accept import committed_on
from glance.config import DecodeConfig
from glance.drafters.base import Drafter
from glance.targets.base import Target
from glance.training.capture import Record
from glance.tree import RankedOffsets, candidates, rank_offsets
from glance.types import CandidateTree, DraftBlock

NODE_BUDGET = DecodeConfig().most_nodes  # one for all drafters


@dataclass(slots=True)
class Replayed:
    """Sums over all rounds, by task."""

    committed: Counter[str] = field(default_factory=Counter)
    rounds: Counter[str] = field(default_factory=Counter)

    @classmethod
    def summed(cls, parts: Iterable[Replayed]) -> Replayed:
        """All rounds of the parts."""
        whole = cls()
        for part in parts:
            whole.committed.update(part.committed)
            whole.rounds.update(part.rounds)
        return whole

    @property
    def tau(self) -> float:
        """Tokens committed in rounds / rounds, pooled; 0 without a round."""
        return self.committed.total() / max(self.rounds.total(), 1)

    def __str__(self) -> str:
        tasks = (f"{task} {self.committed[task] / self.rounds[task]:.2f}" for task in self.rounds)
        return f"tau {self.tau:.3f} ({', '.join(sorted(tasks))})"


@torch.inference_mode()
def replay(
    drafter: Drafter,
    target: Target,
    records: Sequence[Record],  # with the drafter's taps among theirs
    every: int = 1,  # question of a page, from the first on
) -> Replayed:
    """All rounds of the answers."""
    result = Replayed()
    for record in records:
        features = record.tapped(drafter.taps).features.to(target.device, target.dtype)
        rotary = record.rotary.to(target.device)
        for segment in range(1, len(record.tasks) + 1, every):
            task = record.tasks[segment - 1]
            rows = record.stream(segment)
            ids = record.ids[rows].tolist()
            root = len(ids) - int(record.answer[rows].sum())  # place of the prefill token
            state, absorbed = drafter.start(ids[:root], rotary[:, rows[:root]]), 0
            while root < len(ids) - 1:
                own = features[rows[absorbed:root]]
                tree = _tree(drafter.draft(state, ids[: root + 1], own), ids[root])
                absorbed = root
                step = committed_on(tree, ids[root + 1 :])
                result.committed[task] += step
                result.rounds[task] += 1
                root += step
    return result


def _tree(drafted: DraftBlock | CandidateTree, root: int) -> CandidateTree:
    offsets = RankedOffsets([], [], [])
    if isinstance(drafted, DraftBlock):
        offsets = rank_offsets(drafted.logits, 1 if drafted.chain else NODE_BUDGET)
    return candidates(root, drafted, offsets, NODE_BUDGET)
