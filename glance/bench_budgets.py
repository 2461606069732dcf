"""The automatic node budget against fixed ones: whether choosing anew each round pays.

Both lanes answer the same prompts in turns, so their times are compared prompt by prompt: that
tells smaller differences than two speed-ups over plain decoding. No torch.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from glance.bench_rows import (
    Measured,
    Results,
    geometric_mean,
    interval,
    mean_interval,
    paired_bootstrap,
)

OVERALL = "geometric mean"


@dataclass(frozen=True, slots=True)
class Against:
    """How much faster one lane decoded than another, on one task or over all of them."""

    task: str
    auto: str  # lanes
    fixed: str
    ratio: float  # of the speeds in the decode window; above 1 where the automatic one is faster
    ci: tuple[float, float] | None  # 95%, over prompts; None with fewer than two


def against_fixed(results: Results, pairs: Sequence[tuple[str, str]]) -> list[Against]:
    """Task by task, then over all; nothing of a pair where a lane was wrong or had no rounds.

    Args:
        results: what was measured.
        pairs: a lane with an automatic budget, and one of the same drafter with a fixed one.
    """
    return [one for auto, fixed in pairs for one in _pair(results, auto, fixed)]


def _pair(results: Results, auto: str, fixed: str) -> list[Against]:
    times = {
        task: _times(lanes[auto], lanes[fixed])
        for task, lanes in results.items()
        if {auto, fixed} <= set(lanes)
    }
    if not times or not all(times.values()):
        return []
    found, draws = [], []
    for number, (task, own) in enumerate(times.items()):
        ours, theirs = zip(*own, strict=True)
        drawn = paired_bootstrap(theirs, ours, number) if len(own) > 1 else None
        ci = None if drawn is None else interval(drawn)
        found.append(Against(task, auto, fixed, sum(theirs) / sum(ours), ci))
        draws.append(drawn)
    mean = geometric_mean([one.ratio for one in found])
    return [*found, Against(OVERALL, auto, fixed, mean, mean_interval(draws))]


def _times(ours: Sequence[Measured], theirs: Sequence[Measured]) -> list[tuple[float, float]]:
    """Both lanes' decode times of every answer that has rounds."""
    both = list(zip(ours, theirs, strict=True))
    if any(one.strays for pair in both for one in pair):
        return []
    known = [(a.decode_ms, b.decode_ms) for a, b in both if a.committed]
    return known if all(ms > 0 for pair in known for ms in pair) else []
