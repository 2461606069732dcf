"""A trace read back: the same events, on a clock that all lanes share."""

import pytest

from glance.config import DecodeConfig
from glance.decode import Decoder
from glance.drafters.toy import NoisyDrafter
from glance.replay import lanes, replay
from glance.trace import SCHEMA, dumps, read_trace
from tests.tiny_models import VOCAB, prompt, target


@pytest.fixture(scope="module")
def trace() -> list[dict]:
    """Two lanes, one after the other, as a run writes them."""
    tiny, ask = target("smolvlm"), prompt("smolvlm")
    config = DecodeConfig(max_new_tokens=24)
    lines: list[dict] = [{"kind": "header", "schema": SCHEMA}]
    lines += Decoder(tiny, None, config).stream(ask)
    answer = lanes(lines)["ar"].ids
    lines += Decoder(tiny, NoisyDrafter(answer, VOCAB), config).stream(ask)
    lines += [{"kind": "compare"}, {"kind": "grounding", "lane": "ar", "copy": []}]
    return lines


def test_the_same_events_come_back(trace):
    text = "".join(dumps(line) + "\n" for line in trace)
    back = [line for _, line in replay(read_trace(text))]
    assert sorted(map(dumps, back)) == sorted(map(dumps, trace))
    for name in ("ar", "noisy"):
        assert [line for line in back if line.get("lane") == name and "t" in line] == [
            line for line in trace if line.get("lane") == name and "t" in line
        ]


def test_lanes_run_side_by_side(trace):
    moments = [when for when, _ in replay(trace)]
    assert moments == sorted(moments)
    order = [line.get("lane") for _, line in replay(trace) if "t" in line]
    first_finish = [line["kind"] for _, line in replay(trace)].index("finish")
    assert {"ar", "noisy"} <= set(order[:first_finish])
    kinds = [line["kind"] for _, line in replay(trace)]
    assert kinds[0] == "header"
    assert kinds[-2:] == ["compare", "grounding"]


def test_lane_views(trace):
    seen = lanes(trace)
    assert list(seen) == ["ar", "noisy"]
    assert seen["ar"].ids == seen["noisy"].ids
    assert seen["ar"].text == seen["noisy"].text
    assert [seen["noisy"].text[t["start"] : t["end"]] for t in seen["noisy"].tokens] == list(
        seen["noisy"].text
    )
    assert [r.number for r in seen["noisy"].rounds] == list(range(1, len(seen["noisy"].rounds) + 1))


def test_a_trace_may_stop_anywhere(trace):
    for stop in range(1, len(trace)):
        part = trace[:stop]
        for lane in lanes(part).values():
            assert all("commit" in round_.lines for round_ in lane.rounds)
        for _, line in replay(part):
            if "r" in line:
                assert any(
                    other["kind"] == "commit"
                    and (other["lane"], other["r"]) == (line["lane"], line["r"])
                    for other in part
                    if "r" in other
                )
