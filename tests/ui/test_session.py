"""The job behind the page: order, words, stopping, and one decoder at a time. No model."""

from __future__ import annotations

import json
import threading
import time
from collections.abc import Iterator
from itertools import pairwise

import pytest
from PIL import Image

from app.frames import live_frames
from app.session import LANES, MAX_WAITING, NO_DOCUMENT, Runner, Session, load_runner
from app.settings import Settings
from glance.budget import CostProfile
from glance.config import AUTO, MOST_NODES
from glance.documents.intake import Document
from glance.drafters.load import PLAIN
from glance.drafters.toy import RandomDrafter
from glance.types import PromptError
from tests.reading_target import reading_target
from tests.ui.toy_page import held_back, toy_runner
from tests.ui.toy_trace import toy_trace

FREED_S = 2.0  # after Stop the place is free again; tests.load.freed has the time itself

PAGE = Document(
    image=Image.new("RGB", (64, 64), "white"),
    notices=(),
    page=1,
    pages=1,
    original_size=(64, 64),
    sha256="0" * 64,
    name="page.png",
)


def started(runner=None) -> Session:
    session = Session(lambda: runner or toy_runner(0.0))
    session.start()
    return session


def run(
    session: Session, question: str = "hello there", lanes: tuple[str, ...] = LANES
) -> Iterator:
    return live_frames(session.run((PAGE,), question, Settings(lanes)), question)


def states(frames) -> list[dict]:
    return [json.loads(frame.state) for frame in frames if frame.state]


def wait_until(condition, seconds: float = 30.0) -> None:
    start = time.monotonic()
    while not condition():
        assert time.monotonic() - start < seconds, "it did not happen in time"
        time.sleep(0.005)


@pytest.mark.parametrize("lanes", [LANES, ("glance",), ("ar",), ("ngram", "glance-chain")])
def test_a_run_ends_with_the_whole_trace_and_every_view(lanes):
    frames = list(run(started(), lanes=lanes))
    last = frames[-1]
    assert json.loads(last.state)["phase"] == "done"
    lines = [json.loads(line) for line in last.trace.splitlines()]
    assert [line["seq"] for line in lines] == list(range(len(lines)))
    assert tuple(line["lane"] for line in lines if line["kind"] == "finish") == lanes
    for value in (last.tree, last.prefix, last.entropy):
        assert json.loads(value)["run"] == lines[0]["run"]
        assert json.loads(value)["figure"]["layout"]["meta"]["caption"]


def own_runner(monkeypatch, measure) -> Runner:
    """The server's own runner, on another target, with drafters that guess."""

    def guessing(name, target):
        drafter = RandomDrafter(target.vocab_size)
        drafter.name = name
        return None if name == PLAIN else drafter

    monkeypatch.setattr("glance.targets.load.load_target", lambda *_, **__: reading_target(2))
    monkeypatch.setattr("glance.drafters.load.load_drafter", guessing)
    monkeypatch.setattr("glance.profiling.measuring_costs", measure)
    return load_runner(gpu_is_lent=True)


def test_each_lane_decodes_by_what_its_own_drafter_costs(monkeypatch):
    measured = []

    def measure(_target, drafter):
        yield
        measured.append(drafter.name)
        draft_ms = 100.0 * len(measured)
        return CostProfile((64,), (0, MOST_NODES), ((9.0, 30.0),), (draft_ms,))

    runner = own_runner(monkeypatch, measure)
    for lanes in (("ngram", "glance"), ("glance", PLAIN)):
        settings = Settings(lanes, AUTO, max_tokens=2)
        header = next(line for line in runner([PAGE], "What?", settings, "run") if line)
        assert header["settings"]["costs"]["draft_ms"] == [100.0 * (measured.index(lanes[0]) + 1)]
        own = header["settings"].get("lane_costs", {})
        assert {name: one["draft_ms"] for name, one in own.items()} == (
            {"ngram": [100.0], "glance": [200.0]} if lanes[0] == "ngram" else {}
        )
    assert measured == ["ngram", "glance"]


def test_what_a_run_warns_of_is_told_while_it_decodes_and_when_it_is_done():
    text = "This page looks unlike what the embedded model reads."
    heard = threading.Event()

    def warns(*settings) -> Iterator[dict]:
        for line in toy_runner(0.0)(*settings):
            yield line
            if line["kind"] == "header":
                for level, said in (("info", "Page 1 of 3."), ("warning", text)):
                    yield {**line, "kind": "notice", "level": level, "code": "x", "text": said}

    told: list[dict] = []
    for frame in run(started(held_back(warns, heard, 3)), "x" * 40):  # the header and both notices
        told += states([frame])
        if text in told[-1]["text"]:
            heard.set()
    assert [each["text"] for each in told if each["phase"] == "done"] == [f"Done. {text}"]
    assert f"Decoding… {text}" in [each["text"] for each in told if each["phase"] == "running"]
    assert told[-1]["level"] == "warning"


def test_the_trace_only_ever_grows():
    texts: list[str] = []
    seen = threading.Event()
    for frame in run(started(held_back(toy_runner(0.01), seen, 20)), "x" * 80):
        if frame.trace:
            texts.append(frame.trace)
            seen.set()
    assert len(texts) > 1
    assert all(later.startswith(earlier) for earlier, later in pairwise(texts))
    assert all(text.endswith("\n") for text in texts)


@pytest.mark.parametrize(
    ("documents", "question", "word"),
    [
        ((), "What is it?", NO_DOCUMENT),
        ((PAGE,), "", "no question"),
        ((PAGE,), "  \n ", "no question"),
        ((PAGE,), "x" * 2001, "2,001 characters"),
    ],
)
def test_bad_input_is_one_sentence_and_the_session_goes_on(documents, question, word):
    session = started()
    frames = list(live_frames(session.run(documents, question, Settings(LANES)), question))
    assert len(frames) == 1
    told = json.loads(frames[0].state)
    assert told["level"] == "error"
    assert word in told["text"]
    assert states(run(session))[-1]["phase"] == "done"


def test_a_prompt_that_does_not_fit_is_told_in_its_own_words():
    def too_long(*_args) -> Iterator[dict]:
        raise PromptError("The page and the question do not fit.")
        yield {}

    assert states(run(started(too_long)))[-1]["text"] == "The page and the question do not fit."


def test_a_defect_shows_no_internals_and_keeps_what_was_decoded():
    def breaks(*_args) -> Iterator[dict]:
        yield from list(toy_trace())[:6]
        raise RuntimeError("secret path /home/someone")

    frames = list(run(started(breaks)))
    told = json.loads(frames[-1].state)
    assert told["phase"] == "error"
    assert "secret" not in told["text"]
    assert len(frames[-1].trace.splitlines()) == 6


def test_closing_a_run_stops_the_decoder_and_frees_the_slot():
    ended = threading.Event()
    made = 0

    def endless(*_args) -> Iterator[dict]:
        nonlocal made
        try:
            for line in toy_trace(text="x" * 100_000, lanes=("ar",)):
                time.sleep(0.01)
                made += 1
                yield line
        finally:
            ended.set()

    session = started(endless)
    frames = run(session)
    while not next(frames).trace:
        pass
    frames.close()
    before = made
    wait_until(lambda: ended.is_set() and not session.health()["running"], FREED_S)
    assert made <= before + 1  # the line that was on its way
    following = run(session)
    wait_until(lambda: next(following).trace is not None)
    following.close()


def test_stop_is_heard_while_costs_are_measured(monkeypatch):
    """Before the first line, which a run with measured costs comes to after some seconds."""
    pieces = 0

    def endless(*_given):
        nonlocal pieces
        while True:
            time.sleep(0.01)
            pieces += 1
            yield

    session = started(own_runner(monkeypatch, endless))
    updates = session.run((PAGE,), "What?", Settings(LANES, AUTO))
    wait_until(lambda: next(updates).phase == "running" and pieces)
    updates.close()
    wait_until(lambda: not session.health()["running"], FREED_S)
    done = pieces
    time.sleep(0.1)
    assert pieces == done


def test_one_run_decodes_at_a_time_and_the_others_are_told():
    active: list[int] = []
    most = 0
    all_there = threading.Event()

    def counting(*settings) -> Iterator[dict]:
        nonlocal most
        active.append(1)
        most = max(most, len(active))
        yield from toy_runner(0.01)(*settings)
        active.pop()

    session = started(held_back(counting, all_there, 1))
    outcomes: list[list[dict]] = []

    def visit() -> None:
        told: list[dict] = []
        outcomes.append(told)
        for frame in run(session):
            told += states([frame])

    def waited() -> int:
        return sum(any("ahead of yours" in each["text"] for each in told) for told in outcomes)

    threads = [threading.Thread(target=visit) for _ in range(3)]
    for thread in threads:
        thread.start()
    wait_until(lambda: waited() == 2)
    all_there.set()
    for thread in threads:
        thread.join(60)
    assert most == 1
    assert [told[-1]["phase"] for told in outcomes] == ["done"] * 3
    assert waited() == 2


def test_a_full_queue_says_so():
    session = started(toy_runner(0.5))
    running = [run(session) for _ in range(MAX_WAITING + 1)]
    for frames in running:
        next(frames)
    told = states(run(session))
    assert "queue is full" in told[-1]["text"]
    for frames in running:
        frames.close()


def test_two_visitors_never_see_each_other():
    """Interleaved runs: each one's trace holds its own question only."""
    session = started(toy_runner(0.002))
    texts: dict[str, str] = {}

    def visit(question: str) -> None:
        for frame in run(session, question):
            texts[question] = frame.trace or texts.get(question, "")

    threads = [threading.Thread(target=visit, args=(q,)) for q in ("alpha page", "omega sheet")]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(60)
    assert "alpha" in texts["alpha page"]
    assert "omega" not in texts["alpha page"]
    assert "alpha" not in texts["omega sheet"]
    assert (
        texts["alpha page"].split('"run":"')[1][:12]
        != texts["omega sheet"].split('"run":"')[1][:12]
    )


def test_a_missing_model_leaves_replay_and_says_so():
    def missing():
        raise FileNotFoundError("no such folder")

    session = Session(missing)
    session.start()
    told = states(run(session))
    assert "recorded runs" in told[-1]["text"]
    assert json.loads(session.status())["phase"] == "missing"


def test_a_run_waits_for_the_model():
    gate = threading.Event()

    def slow():
        gate.wait(60)
        return toy_runner(0.0)

    session = Session(slow)
    session.start()
    frames = run(session)
    assert "still loading" in json.loads(next(frames).state)["text"]
    gate.set()
    assert states(frames)[-1]["phase"] == "done"
