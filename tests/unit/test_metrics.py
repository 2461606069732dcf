"""Counts from a trace; the prefill token is in no round."""

import pytest

from glance.metrics import committed_per_round, speedup, tau, tau_without_last
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


def test_speedup_is_the_ratio_of_rates():
    found = speedup(lane(ROUNDS, 100.0, 50.0), lane(ROUNDS, 250.0, 75.0))
    assert found is not None
    assert (found.decode, found.end_to_end) == (2.5, 1.5)
    assert speedup(lane([]), lane(ROUNDS)) is None
