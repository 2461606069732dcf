"""GLANCE against EAGLE-3's chain: ratios of rounds, their intervals, and when there are none.

Run: python -m pytest tests/unit/test_bench_matched.py
"""

import pytest

from glance.bench_matched import Matched, matched
from glance.bench_rows import Measured
from glance.paper import (
    MATCHED_POOLED,
    MATCHED_RATIO,
    MATCHED_TAU,
    TASKS,
    TAU,
)


def lane(*prompts: tuple[int, ...], at: int | None = None) -> list[Measured]:
    return [
        Measured(at, sum(own) + 1, sum(own), own, len(own), 0, 0, 1.0, 2.0, {}) for own in prompts
    ]


def test_ratios_by_task_and_pooled_over_prompts() -> None:
    results = {
        "docvqa": {"glance": lane((4,), (4, 2)), "eagle3-chain": lane((2, 2), (2, 2, 2))},
        "caption": {"glance": lane((3,)), "eagle3-chain": lane((1, 1, 1))},
    }
    docvqa, caption, pooled = matched(results)
    assert (docvqa.task, docvqa.glance, docvqa.eagle3_chain) == ("docvqa", 10 / 3, 2.0)
    assert docvqa.ratio == pytest.approx(5 / 3) == pytest.approx(docvqa.glance / 2.0)
    assert docvqa.ci == pytest.approx((1.5, 2.0))  # the two prompts by themselves
    assert caption == Matched("caption", 3.0, 1.0, 3.0, None)
    assert (pooled.task, pooled.ratio) == ("pooled", 2.0)
    assert (pooled.glance, pooled.eagle3_chain) == (13 / 4, 13 / 8)
    low, high = pooled.ci
    assert 1.5 <= low < 2.0 < high <= 3.0


def test_a_wrong_answer_or_a_missing_lane_leaves_nothing_to_compare() -> None:
    right = {"glance": lane((4,)), "eagle3-chain": lane((2, 2))}
    assert len(matched({"docvqa": right})) == 2
    assert matched({"docvqa": {"glance": lane((4,))}}) == []
    assert matched({"docvqa": {**right, "glance": lane((4,), at=1)}}) == []
    assert matched({"docvqa": {"glance": lane(()), "eagle3-chain": lane(())}}) == []


def test_the_papers_figures_agree_with_each_other() -> None:
    assert all(len(row) == len(TASKS) for row in (*TAU.values(), *MATCHED_TAU.values()))
    above, below = MATCHED_POOLED["glance"], MATCHED_POOLED["eagle3-chain"]
    assert above / below == pytest.approx(MATCHED_RATIO, abs=0.005)
    for name, row in MATCHED_TAU.items():
        assert min(row) <= MATCHED_POOLED[name] <= max(row)
