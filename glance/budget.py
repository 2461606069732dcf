"""The cost-aware node budget: what a round costs, and so when a tree has grown enough. No torch.

A tree of n nodes commits 1 + Phi(n) tokens a round in expectation, Phi being the sum of the n
largest path probabilities, and costs C_d + C_v(n) milliseconds, to draft and to verify. CaDDTree
(arXiv 2606.01813) verifies the tree with the most expected tokens a millisecond; here the rounds
before it are counted in (`glance.tree.Costs`), as it is the run that should be fast.
`glance.tree.build` finds the tree greedily, which is right because C_v is made convex here.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

import numpy as np

from glance.config import AUTO, MOST_NODES
from glance.replay import RecordedLane
from glance.trace import Line

STRETCH = 64  # tokens of context over which a round is taken to cost the same


class BudgetError(ValueError):
    """There is no usable cost profile; the message is one plain sentence."""


@dataclass(frozen=True, slots=True)
class CostProfile:
    """Milliseconds of drafting and verifying on one machine, as `glance.profiling` measures them.

    Raises:
        BudgetError: sizes do not match, are not ascending, or a time is not above 0.
    """

    contexts: tuple[int, ...]  # committed tokens (S), ascending
    nodes: tuple[int, ...]  # tree sizes, the root not counted: 0, ..., MOST_NODES
    verify_ms: tuple[tuple[float, ...], ...]  # [contexts][nodes]
    draft_ms: tuple[float, ...]  # [contexts]

    def __post_init__(self) -> None:
        for sizes in (self.contexts, self.nodes):
            if not sizes or list(sizes) != sorted(set(sizes)):
                raise BudgetError("The sizes of a cost profile must be ascending.")
        if len(self.nodes) < 2 or (self.nodes[0], self.nodes[-1]) != (0, MOST_NODES):
            raise BudgetError(f"A cost profile must reach from 0 to {MOST_NODES} nodes.")
        shape = [len(self.draft_ms), len(self.verify_ms), *map(len, self.verify_ms)]
        if shape != [len(self.contexts)] * 2 + [len(self.nodes)] * len(self.contexts):
            raise BudgetError("A cost profile needs a time for each of its sizes.")
        if not all(0 < ms < math.inf for row in self.verify_ms for ms in row):
            raise BudgetError("Verifying must take some time in a cost profile.")
        if not all(0 <= ms < math.inf for ms in self.draft_ms):
            raise BudgetError("Drafting must not take negative time in a cost profile.")

    @classmethod
    def fitted(
        cls,
        contexts: Sequence[int],
        nodes: Sequence[int],
        verify_ms: Sequence[Sequence[float]],  # [contexts][nodes] as measured
        draft_ms: Sequence[float],  # [contexts] as measured
    ) -> CostProfile:
        """A profile from noisy measurements: more nodes or a longer context never cost less."""
        curves = np.array([fit_convex(nodes, row) for row in verify_ms])
        curves = np.maximum.accumulate(curves, axis=0)  # the maximum of convex curves is convex
        drafts = np.maximum.accumulate(np.asarray(draft_ms, dtype=float))
        return cls(
            contexts=tuple(contexts),
            nodes=tuple(nodes),
            verify_ms=tuple(tuple(row) for row in curves.tolist()),
            draft_ms=tuple(drafts.tolist()),
        )

    def round_ms(self, context: int) -> list[float]:
        """C_d + C_v of every tree size n = 0 ... MOST_NODES, convex in n, at a context length.

        Linear between the context lengths of the profile, and past them as between the last two.
        """
        verify = self._at(context, np.array(self.verify_ms))
        draft = float(self._at(context, np.array(self.draft_ms)))
        # extrapolation may bend a curve, or take it below what any pass costs
        verify = fit_convex(self.nodes, np.maximum(verify, min(self.verify_ms[0]) / 2))
        curve = np.interp(np.arange(MOST_NODES + 1), self.nodes, verify)
        return (max(draft, 0.0) + curve).tolist()

    def near(self, context: int) -> Sequence[float]:
        """`round_ms` of a context at most STRETCH tokens shorter, worked out once a stretch.

        Between two passes numpy is slow to start: each round would pay half a millisecond.
        """
        return _near(self, context - context % STRETCH)

    def _at(self, context: int, values: np.ndarray) -> np.ndarray:  # [contexts, ...] -> [...]
        if len(self.contexts) == 1:
            return values[0]
        above = int(np.searchsorted(self.contexts, context))
        above = min(max(above, 1), len(self.contexts) - 1)
        left, right = self.contexts[above - 1 : above + 1]
        share = (context - left) / (right - left)
        return values[above - 1] + share * (values[above] - values[above - 1])

    def to_json(self) -> dict[str, Any]:
        """Plain lists, which `from_json` reads back to the same profile, bit by bit."""
        return {
            "contexts": list(self.contexts),
            "nodes": list(self.nodes),
            "verify_ms": [list(row) for row in self.verify_ms],
            "draft_ms": list(self.draft_ms),
        }

    @classmethod
    def from_json(cls, value: Any) -> CostProfile:
        """The profile that `to_json` wrote.

        Raises:
            BudgetError: it is none.
        """
        try:
            return cls(
                contexts=tuple(int(tokens) for tokens in value["contexts"]),
                nodes=tuple(int(nodes) for nodes in value["nodes"]),
                verify_ms=tuple(tuple(float(ms) for ms in row) for row in value["verify_ms"]),
                draft_ms=tuple(float(ms) for ms in value["draft_ms"]),
            )
        except BudgetError:
            raise
        except (KeyError, TypeError, ValueError, OverflowError) as error:
            raise BudgetError(
                "The cost profile is damaged: a field is missing or wrong."
            ) from error


@lru_cache(maxsize=256)
def _near(profile: CostProfile, context: int) -> tuple[float, ...]:
    return tuple(profile.round_ms(context))


def fit_convex(sizes: Sequence[int], ms: Sequence[float] | np.ndarray) -> np.ndarray:
    """The curve through `sizes` near `ms` whose first and second differences are not negative.

    Least squares over the slopes, each weighted with its width (pool adjacent violators), then
    over the height. A curve that is convex and rising already comes back as it is.
    """
    x, y = np.asarray(sizes, dtype=float), np.asarray(ms, dtype=float)
    widths = np.diff(x)
    pools: list[tuple[float, float, int]] = []  # slope, width, how many slopes are pooled
    for slope, width in zip((np.diff(y) / widths).tolist(), widths.tolist(), strict=True):
        pool = (slope, width, 1)
        while pools and pools[-1][0] > pool[0]:
            before = pools.pop()
            whole = before[1] + pool[1]
            mean = (before[0] * before[1] + pool[0] * pool[1]) / whole
            pool = (mean, whole, before[2] + pool[2])
        pools.append(pool)
    slopes = np.repeat([max(slope, 0.0) for slope, _, _ in pools], [many for *_, many in pools])
    rise = np.concatenate([[0.0], np.cumsum(slopes * widths)])
    return rise + (y - rise).mean()


def recorded_costs(lines: Sequence[Line]) -> dict[str, CostProfile]:
    """The cost profiles in the header of a trace, by lane; "" where all lanes had the same.

    Raises:
        BudgetError: the run had a fixed node budget, or a profile is damaged.
    """
    found = lines[0].get("settings")
    settings = found if isinstance(found, dict) else {}
    costs = settings.get("costs")
    if costs is None:
        raise BudgetError("The trace has no cost profile: its run did not use --budget auto.")
    own = settings.get("lane_costs") or {"": costs}
    if not isinstance(own, dict):
        raise BudgetError("The cost profiles are damaged: they name no lanes.")
    return {lane: CostProfile.from_json(one) for lane, one in own.items()}


def costs_of(recorded: Mapping[str, CostProfile], lane: str) -> CostProfile:
    """What `recorded_costs` has of a lane; of the first lane where it did not run."""
    return recorded.get(lane) or next(iter(recorded.values()))


def used_words(settings: dict[str, Any], lane: RecordedLane) -> str | None:
    """Such as "auto, 3 to 22 used"; None for a lane without an automatic node budget."""
    used = [each.lines["build"]["node_budget"] for each in lane.rounds if "build" in each.lines]
    if settings.get("node_budget") != AUTO or not used:
        return None
    low, high = min(used), max(used)
    return f"{AUTO}, {low} used" if low == high else f"{AUTO}, {low} to {high} used"
