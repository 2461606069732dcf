"""Rounds replayed on answers the target has already given: tau without running the target.

A greedy round commits what the target would have written anyway, so with the answer and its taps at
hand only the head runs, for many positions in one pass.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field

import torch
from torch import Tensor

from glance.accept import committed_on
from glance.heads.block import BlockHead
from glance.targets.base import Target
from glance.training.blocks import anchor_rows, block_labels, collate, draft_blocks
from glance.training.capture import Record
from glance.tree import RankedOffsets, build, build_chain, rank_offsets

OFFSETS = (1, 2, 4, 8)  # shown in progress
CHUNK = 48  # anchors of a pass


@dataclass(slots=True)
class Replayed:
    """Sums over all rounds, by task; tau pools rounds, as everywhere."""

    committed: Counter[tuple[str, str]] = field(default_factory=Counter)  # (task, "chain" | "tree")
    rounds: Counter[tuple[str, str]] = field(default_factory=Counter)
    hits: list[float] = field(default_factory=lambda: [0.0] * len(OFFSETS))
    seen: list[float] = field(default_factory=lambda: [0.0] * len(OFFSETS))

    def tau(self, task: str, shape: str) -> float:
        """Tokens committed in rounds / rounds; 0 when the task has none."""
        rounds = self.rounds[task, shape]
        return self.committed[task, shape] / rounds if rounds else 0.0

    def accuracy(self) -> list[float]:
        """Share of right argmaxes at each of OFFSETS, over all positions."""
        return [hit / max(seen, 1.0) for hit, seen in zip(self.hits, self.seen, strict=True)]

    def __str__(self) -> str:
        offsets = "/".join(str(offset) for offset in OFFSETS)
        shares = "/".join(f"{100 * share:.0f}" for share in self.accuracy())
        taus = [
            f"{task} {self.tau(task, 'chain'):.2f}/{self.tau(task, 'tree'):.2f}"
            for task in sorted({task for task, _ in self.rounds})
        ]
        return f"offsets {offsets}: {shares}%  tau chain/tree: {', '.join(taus)}"


@torch.inference_mode()
def replay_rounds(
    head: BlockHead, target: Target, records: Sequence[Record], node_budget: int = 15
) -> Replayed:
    """Chain and tree rounds on every answer of `records`, and accuracy by offset."""
    result = Replayed()
    for record in records:
        batch = collate([record], target.device)
        rows = anchor_rows(record.answer, record.segments)
        pieces = [
            draft_blocks(head, target, batch, part[None].to(target.device))[0].float()
            for part in rows.split(CHUNK)
        ]
        if not pieces:
            continue
        logits = torch.cat(pieces)  # [anchors, L, V]
        anchors = rows[None].to(target.device)
        labels, exists = (x[0] for x in block_labels(batch, anchors, logits.shape[1]))
        right = (logits.argmax(-1) == labels) & exists
        for i, offset in enumerate(o for o in OFFSETS if o <= logits.shape[1]):
            result.hits[i] += float(right[:, offset - 1].sum())
            result.seen[i] += float(exists[:, offset - 1].sum())
        _replay(result, record, rows.tolist(), logits.cpu(), node_budget)
    return result


def _replay(
    result: Replayed, record: Record, rows: list[int], logits: Tensor, node_budget: int
) -> None:
    ids, segments = record.ids.tolist(), record.segments.tolist()
    block_of = {row: i for i, row in enumerate(rows)}
    ranked: dict[int, RankedOffsets] = {}
    starts = [row for row in rows if row - 1 not in block_of]  # the prefill token of each answer
    for start in starts:
        segment = segments[start]
        end = start + segments[start:].count(segment)  # one past the answer's last row
        for shape, grow in (("chain", build_chain), ("tree", build)):
            key, row = (record.tasks[segment - 1], shape), start
            while row < end - 1:
                if row not in ranked:
                    ranked[row] = rank_offsets(logits[block_of[row]], node_budget)
                tree = grow(ids[row], ranked[row], node_budget)
                step = committed_on(tree, ids[row + 1 : end])
                result.committed[key] += step
                result.rounds[key] += 1
                row += step
