"""Cost profiles of machines that there are none of."""

from __future__ import annotations

from collections.abc import Sequence

from glance.budget import CostProfile
from glance.config import MOST_NODES


def straight(
    ends: Sequence[tuple[float, float]],  # ms of a round with no nodes and with MOST_NODES
    draft_ms: Sequence[float],
    contexts: Sequence[int] = (64,),
) -> CostProfile:
    """Every size of tree was measured, and each node costs as much as the one before."""
    share = [n / MOST_NODES for n in range(MOST_NODES + 1)]
    rows = [tuple(first + (last - first) * part for part in share) for first, last in ends]
    return CostProfile(tuple(contexts), tuple(range(MOST_NODES + 1)), tuple(rows), tuple(draft_ms))
