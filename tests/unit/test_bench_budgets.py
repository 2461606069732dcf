"""The automatic node budget against fixed ones: ratios of speeds, and when there are none.

Run: python -m pytest tests/unit/test_bench_budgets.py
"""

import pytest

from glance.bench_budgets import OVERALL, Against, against_fixed
from glance.bench_rows import Measured

PAIR = [("glance@auto", "glance@15")]


def lane(
    *decode_ms: float, committed: tuple[int, ...] = (3, 2), at: int | None = None
) -> list[Measured]:
    many = sum(committed)
    return [
        Measured(at, many + 1, many, committed, len(committed), 0, 0, ms, ms + 9, {})
        for ms in decode_ms
    ]


def both(auto: list[Measured], fixed: list[Measured]) -> dict[str, list[Measured]]:
    return {"ar": lane(1.0), "glance@auto": auto, "glance@15": fixed}


def test_ratios_of_speeds_by_task_and_their_mean() -> None:
    results = {
        "docvqa": both(lane(10.0, 20.0), lane(20.0, 20.0)),
        "caption": both(lane(10.0, 10.0), lane(5.0, 10.0)),
    }
    docvqa, caption, overall = against_fixed(results, PAIR)
    assert (docvqa.task, docvqa.auto, docvqa.fixed) == ("docvqa", "glance@auto", "glance@15")
    assert docvqa.ratio == pytest.approx(40 / 30)
    assert docvqa.ci == pytest.approx((1.0, 2.0))  # the two prompts by themselves
    assert caption.ratio == 0.75
    assert (overall.task, overall.ratio) == (OVERALL, pytest.approx(1.0))
    low, high = overall.ci
    assert low < 1.0 < high


def test_one_prompt_has_no_interval() -> None:
    docvqa, overall = against_fixed({"docvqa": both(lane(10.0), lane(15.0))}, PAIR)
    assert docvqa == Against("docvqa", *PAIR[0], 1.5, None)
    assert overall.ci is None


def test_a_wrong_answer_a_missing_lane_or_no_round_leaves_nothing_to_compare() -> None:
    right = both(lane(4.0), lane(2.0))
    assert len(against_fixed({"docvqa": right}, PAIR)) == 2
    assert against_fixed({"docvqa": {"glance@auto": lane(4.0)}}, PAIR) == []
    assert against_fixed({"docvqa": both(lane(4.0, at=1), lane(2.0))}, PAIR) == []
    assert against_fixed({"docvqa": both(*[lane(4.0, committed=())] * 2)}, PAIR) == []
    assert against_fixed({"docvqa": both(lane(0.0), lane(2.0))}, PAIR) == []
    assert against_fixed({"docvqa": right}, []) == []
