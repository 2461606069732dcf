"""Copy mode from the gains of a grounding line."""

import random
from itertools import pairwise
from pathlib import Path

import pytest

from glance.copying import COPY_NATS, copy_mode
from glance.trace import read_trace

TRACES = Path(__file__).resolve().parents[2] / "assets" / "traces"


def spans(*gains: float) -> list[tuple[int, int]]:
    return copy_mode({"gain": [COPY_NATS + gain for gain in gains], "copy": []})


def test_letters_that_go_without_saying_do_not_end_a_word() -> None:
    assert spans(3, -0.8, -0.9, 2, 1) == [(0, 5)]


def test_a_stretch_that_the_page_did_not_decide_parts_two() -> None:
    assert spans(-1, 2, 1, -2, -2, 3, -1) == [(1, 3), (5, 6)]


def test_nothing_is_copied_from_a_blank_page() -> None:
    assert copy_mode({"gain": [0.0] * 9, "copy": []}) == []
    assert copy_mode({"gain": [], "copy": []}) == []


@pytest.mark.parametrize("seed", range(20))
def test_spans_are_the_maximal_scoring_subsequences(seed: int) -> None:
    """No end of a span can be cut off for a larger sum, and no two neighbours joined."""
    chance = random.Random(seed)
    scores = [chance.gauss(0, 2) for _ in range(60)]
    found = spans(*scores)
    assert found
    for begin, end in found:
        assert all(sum(scores[begin:cut]) > 0 for cut in range(begin + 1, end + 1))
        assert all(sum(scores[cut:end]) > 0 for cut in range(begin, end))
    for (begin, end), (after, last) in pairwise(found):
        assert end <= after
        apart = max(sum(scores[begin:end]), sum(scores[after:last]))
        assert sum(scores[begin:last]) <= apart
    outside = [n for n in range(60) if not any(begin <= n < end for begin, end in found)]
    assert all(scores[n] <= 0 for n in outside)


@pytest.mark.parametrize("path", sorted(TRACES.glob("*.jsonl")), ids=lambda path: path.stem)
def test_traces_without_gains_keep_the_spans_found_on_the_page(path: Path) -> None:
    """Those that ship were recorded before a token had a gain, and are still read."""
    line = next(line for line in read_trace(path) if line["kind"] == "grounding")
    line = {name: value for name, value in line.items() if name != "gain"}
    assert copy_mode(line) == [tuple(span["tokens"]) for span in line["copy"]] != []
