"""Counts from a trace; the prefill token is in no round."""

import pytest

from glance.metrics import (
    committed_per_round,
    disconnected,
    speedup,
    tau,
    tau_without_last,
    verified_nodes,
)
from glance.replay import RecordedLane, Round


def round_(number: int, tokens: int) -> Round:
    return Round(number, {"commit": {"tokens": [{}] * tokens}})


def lane(rounds: list[Round], decode: float = 1.0, end: float = 1.0) -> RecordedLane:
    return RecordedLane("x", None, tuple(rounds), {"tok_s": {"decode": decode, "end_to_end": end}})


ROUNDS = [round_(1, 3), round_(2, 2), round_(3, 1), round_(4, 1)]


def test_tau_pools_rounds_and_counts_the_cut_one():
    committed = committed_per_round(lane(ROUNDS))
    assert committed == [3, 2, 1, 1]
    assert tau(committed) == pytest.approx(7 / 4)
    assert tau_without_last(committed) == pytest.approx(2.0)
    assert tau([]) == tau_without_last([5]) == 0.0


def test_a_drafter_is_disconnected_below_a_bar_over_enough_rounds():
    assert disconnected("x", [1] * 19) is None
    assert disconnected("x", [1] * 19 + [2]) is None  # 1.05
    assert "x has 1.04 tokens a round over 25 rounds" in disconnected("x", [1] * 24 + [2])


def test_verified_nodes_leave_the_root_out_and_plain_rounds_have_none():
    drafted = Round(1, {"build": {"tree": {"id": [5, 6, 7]}}, "commit": {"tokens": [{}]}})
    assert verified_nodes(lane([drafted, drafted, *ROUNDS])) == 4


def test_speedup_is_the_ratio_of_rates():
    found = speedup(lane(ROUNDS, 100.0, 50.0), lane(ROUNDS, 250.0, 75.0))
    assert found is not None
    assert (found.decode, found.end_to_end) == (2.5, 1.5)
    assert speedup(lane([]), lane(ROUNDS)) is None
