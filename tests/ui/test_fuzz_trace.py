"""Traces that anyone may have written: read, drawn and exported, or refused in one sentence.

Run: python -m pytest tests/ui/test_fuzz_trace.py, and with -m slow for 2,000 cases each
"""

from __future__ import annotations

import contextlib
import io
import json
from argparse import Namespace
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from PIL import Image

from app.handlers import on_open, replay_of, rounds_of, tree_of
from app.preview import inline
from glance.cli.replay import run as replay_command
from glance.replay import lanes, replay
from glance.trace import KINDS, TraceError, parse_trace, whole_lines
from tests.ui.toy_trace import toy_trace

HEALTH = [HealthCheck.too_slow, HealthCheck.data_too_large, HealthCheck.function_scoped_fixture]
FEW = settings(max_examples=60, deadline=None, derandomize=True, suppress_health_check=HEALTH)
MANY = settings(max_examples=2000, deadline=None, suppress_health_check=HEALTH)

PICTURE = inline(Image.new("RGB", (40, 40), "white"), 40)
TEXTS = st.text(max_size=8) | st.sampled_from(["", "<b>", "9" * 400, "\ud800", "__proto__", *KINDS])
NUMBERS = st.integers(-3, 40) | st.integers() | st.floats(allow_nan=False) | st.just(10**400)
VALUES = st.recursive(
    st.none() | st.booleans() | NUMBERS | TEXTS,
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(TEXTS, inner, max_size=4),
    max_leaves=8,
)


def places(value: Any, place: tuple = ()) -> Iterator[tuple]:
    """Where in a line something can be put in place of what is there."""
    inside = value.items() if isinstance(value, dict) else enumerate(value)
    for key, each in list(inside):
        yield (*place, key)
        if isinstance(each, dict | list):
            yield from places(each, (*place, key))


@st.composite
def damaged(draw: st.DrawFn) -> str:
    """A well-formed trace of two lanes with a few changes, each anywhere, and perhaps cut short."""
    lines = json.loads(json.dumps(list(toy_trace(text="Total 48.20 EUR\n<b>"))))
    if draw(st.booleans()):
        lines[0]["image"]["bytes"] = PICTURE
    for _ in range(draw(st.integers(1, 3))):
        at = draw(st.integers(0, len(lines) - 1))
        change = draw(st.sampled_from(["set", "set", "set", "delete", "drop", "repeat", "insert"]))
        if change == "drop" and len(lines) > 1:
            lines.pop(at)
        elif change == "repeat":
            lines.insert(draw(st.integers(0, len(lines))), json.loads(json.dumps(lines[at])))
        elif change == "insert":
            lane = draw(st.sampled_from(["glance", "ar", "x"]) | VALUES)
            fresh = draw(st.dictionaries(TEXTS, VALUES, max_size=4))
            lines.insert(at + 1, {"kind": draw(TEXTS), "lane": lane, **fresh})
        else:
            *way, last = draw(st.sampled_from(list(places(lines[at]))))
            home = lines[at]
            for key in way:
                home = home[key]
            if change == "delete":
                del home[last]
            else:
                home[last] = draw(VALUES)
    # JSON has no infinity, but a number that Python reads as one
    text = "".join(json.dumps(line) + "\n" for line in lines).replace("Infinity", "1e999")
    return text[: draw(st.integers(0, len(text)))] if draw(st.integers(0, 7)) == 0 else text


def check(text: str, folder: Path) -> None:
    """Everything that is done with a trace, each ending well or in its documented error."""
    path = folder / "trace.jsonl"
    path.write_bytes(text.encode("utf-8", "surrogatepass"))
    picture, question, frame = on_open(str(path), None)
    if frame.trace is None:
        told = json.loads(frame.state)
        assert told["level"] == "error"
        assert told["text"].endswith(".")
    else:
        for value in (frame.tree, frame.prefix, frame.entropy, frame.tabs, frame.summary):
            json.loads(value, parse_constant=pytest.fail)  # as strict as a browser
        for value in (frame.state, frame.trace, picture or "", question, frame.summary):
            value.encode()
    page, table = replay_of(text), rounds_of(text)
    assert page is None or page.startswith("<!doctype html>")
    assert table is None or table.startswith("round,lane,")
    lines = []
    with contextlib.suppress(TraceError):
        lines = parse_trace(text)
    for line in lines:
        tree_of(json.dumps(line))
    with contextlib.suppress(TraceError), whole_lines():
        list(replay(lines))
        for lane in lanes(lines).values():
            assert isinstance(lane.ids, list)
    with contextlib.suppress(TraceError), contextlib.redirect_stdout(io.StringIO()):
        replay_command(Namespace(trace=path, html=None, json=None))


def bytes_of_a_trace(folder: Path, data: bytes) -> None:
    """A file of any bytes is opened, or it is a sentence."""
    path = folder / "trace.jsonl"
    path.write_bytes(data)
    *_, frame = on_open(str(path), None)
    assert json.loads(frame.state)["text"].endswith(".")


BYTES = st.binary(max_size=200) | st.builds(
    lambda head, tail: head + tail,
    st.sampled_from([b'{"kind":"header","schema":1,', b'{"kind":"header"}\n', b"\xef\xbb\xbf{"]),
    st.binary(max_size=60) | TEXTS.map(lambda text: text.encode("utf-8", "surrogatepass")),
)


@FEW
@given(text=damaged())
def test_a_damaged_trace_is_shown_or_refused_in_a_sentence(tmp_path, text):
    check(text, tmp_path)


@pytest.mark.slow
@MANY
@given(text=damaged())
def test_two_thousand_damaged_traces(tmp_path, text):
    check(text, tmp_path)


@FEW
@given(data=BYTES)
def test_bytes_that_are_no_trace_are_refused_in_a_sentence(tmp_path, data):
    bytes_of_a_trace(tmp_path, data)


@pytest.mark.slow
@MANY
@given(data=BYTES)
def test_two_thousand_files_of_other_bytes(tmp_path, data):
    bytes_of_a_trace(tmp_path, data)


def test_the_damage_reaches_what_is_drawn():
    """Were all of it refused at the door, the views would not be tested."""
    shown = 0

    @settings(FEW, max_examples=30)
    @given(text=damaged())
    def count(text: str) -> None:
        nonlocal shown
        shown += replay_of(text) is not None

    count()
    assert 3 <= shown <= 27
