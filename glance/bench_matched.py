"""GLANCE against the chain of EAGLE-3, both heads trained alike: the paper's matched comparison.

Both lanes commit the same tokens, so the ratio of their acceptance lengths is that of their rounds.
No torch.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from glance.bench_rows import Measured, Results, interval, paired_bootstrap
from glance.metrics import tau

OURS, THEIRS = "glance", "eagle3-chain"
POOLED = "pooled"


@dataclass(frozen=True, slots=True)
class Matched:
    """Acceptance lengths on one task, or on all together."""

    task: str
    glance: float
    eagle3_chain: float
    ratio: float
    ci: tuple[float, float] | None  # 95%, over prompts; None with fewer than two


def matched(results: Results) -> list[Matched]:
    """Task by task, then pooled; nothing unless both lanes were right on all prompts."""
    pairs = {
        task: [pair for pair in zip(lanes[OURS], lanes[THEIRS], strict=True) if pair[0].committed]
        for task, lanes in results.items()
        if {OURS, THEIRS} <= set(lanes)
    }
    every = [pair for own in pairs.values() for pair in own]
    if any(one.strays for pair in every for one in pair):
        return []
    groups = {task: own for task, own in {**pairs, POOLED: every}.items() if own}
    return [_ratio(task, own, number) for number, (task, own) in enumerate(groups.items())]


def _ratio(task: str, pairs: Sequence[tuple[Measured, Measured]], number: int) -> Matched:
    lanes = [[one.committed for one in lane] for lane in zip(*pairs, strict=True)]
    glance, chain = (tau([tokens for rounds in lane for tokens in rounds]) for lane in lanes)
    ours, theirs = ([float(len(rounds)) for rounds in lane] for lane in lanes)
    ci = interval(paired_bootstrap(theirs, ours, number)) if len(pairs) > 1 else None
    return Matched(task, glance, chain, sum(theirs) / sum(ours), ci)
