"""Stopping, counting and text, which both kinds of lane share."""

from collections.abc import Sequence

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from glance.clock import FakeClock
from glance.compare import compare
from glance.config import DecodeConfig
from glance.entropy import row_stats
from glance.lane import Lane, TextStream, digits
from tests.tiny_models import EOS, target


def decode_bytes(ids: Sequence[int]) -> str:
    """Byte fallback as tokenizers do it: ids are UTF-8 bytes, broken ones become U+FFFD."""
    return bytes(ids).decode("utf-8", errors="replace")


def streamed(data: Sequence[int]) -> tuple[list[tuple[int, int]], list[str]]:
    stream = TextStream(decode_bytes)
    results = [stream.push(byte, last=n == len(data) - 1) for n, byte in enumerate(data)]
    return [(start, end) for start, end, _ in results], [delta for _, _, delta in results]


def test_a_split_character_waits_until_it_is_whole():
    spans, deltas = streamed("a€b".encode())
    assert deltas == ["a", "", "", "€", "b"]
    assert spans == [(0, 1), (1, 1), (1, 1), (1, 2), (2, 3)]


def test_an_unfinished_character_comes_out_at_the_end():
    _, deltas = streamed("a€".encode()[:-1])
    assert "".join(deltas) == "a\ufffd"


@given(st.text(min_size=1))
@settings(deadline=None)
def test_deltas_concatenate_to_the_answer(text):
    data = list(text.encode())
    spans, deltas = streamed(data)
    answer = "".join(deltas)
    assert answer == decode_bytes(data) == text
    assert [answer[start:end] for start, end in spans] == deltas


def test_a_first_token_that_decodes_otherwise_keeps_its_space():
    """SentencePiece drops a leading space at the beginning only."""

    def decode(ids: Sequence[int]) -> str:
        return "".join(" w" for _ in ids).lstrip()

    stream = TextStream(decode)
    assert [stream.push(n)[2] for n in range(3)] == ["w", " w", " w"]


def lane(**settings: object) -> Lane:
    return Lane(target("llava"), DecodeConfig(**settings), FakeClock(), "ar", "run")


def test_first_end_token_is_the_last_token():
    here = lane()
    assert here.admit([1, EOS, 2, EOS, 3]) == 2
    assert here.reason == "eos"


def test_stop_ids_end_the_answer_too():
    here = lane(stop_ids=(7,))
    assert here.admit([1, 2, 7, 9]) == 3
    assert here.reason == "stop"


def test_limit_cuts_a_block():
    here = lane(max_new_tokens=4)
    here.answer += [1, 2]
    assert here.admit([3, 4, EOS]) == 2
    assert here.reason == "length"


def test_end_token_at_the_limit_counts_as_the_end():
    here = lane(max_new_tokens=3)
    assert here.admit([1, 2, EOS]) == 3
    assert here.reason == "eos"


def test_reaching_the_limit_exactly():
    here = lane(max_new_tokens=3)
    assert here.admit([1, 2, 3]) == 3
    assert here.reason == "length"


def test_going_on():
    here = lane(max_new_tokens=9)
    assert here.admit([1, 2, 3]) == 3
    assert here.reason is None


@pytest.mark.parametrize(("margin", "state"), [(3e-5, "mismatch"), (1.5e-9, "near_tie")])
def test_small_margins_survive_for_those_who_judge_them(margin, state):
    """In float64 a margin of 3e-5 is a clear choice; written as 0.0 it would pass for a tie."""
    logits = torch.tensor([[0.0, 1.0, 1.0 + margin]], dtype=torch.float64)
    [token], _ = lane().commit([2], ["target"], row_stats(logits), [0])
    assert token["margin"] == pytest.approx(margin, rel=1e-5)
    assert compare([token], [{**token, "id": 1}], "float64")["state"] == state


@pytest.mark.parametrize(("p", "short"), [(0.123456, 0.123), (1.0, 1.0), (0.000123456, 0.000123)])
def test_probabilities_are_written_to_three_digits(p, short):
    assert digits(p) == short
