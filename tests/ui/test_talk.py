"""Follow-ups on the page: what is told to the model, what is kept, and what ends it. No model."""

from __future__ import annotations

import gc
import json
import weakref
from collections.abc import Iterator
from copy import deepcopy

import pytest
from PIL import Image

from app.handlers import on_pages, on_run, on_talk, on_upload, talk_value
from app.held import Held
from app.session import MAX_WARM, Session
from app.settings import NO_LANE
from app.talk import Talk
from app.views import summary
from tests.ui.test_session import wait_until
from tests.ui.toy_page import toy_runner
from tests.ui.toy_trace import toy_trace

CONTROLS = ("ar", NO_LANE, 15, False, 64, 0.0, 0)


class Rows:
    """What is kept of a page: as with tensors, there is no asking whether two are equal."""

    __hash__ = None

    def __eq__(self, other: object) -> bool:
        raise RuntimeError("ambiguous")


class Model:
    """A runner that answers with the question's own text and remembers what it was told of."""

    def __init__(self) -> None:
        self.told: list[tuple] = []

    def __call__(self, documents, question, settings, run_id, talk) -> Iterator[dict]:
        self.told.append(talk.turns)
        talk.prefixes.prefix = Rows()
        yield from toy_runner(0.0)(documents, question, settings, run_id)


@pytest.fixture
def model() -> Model:
    return Model()


@pytest.fixture
def session(model) -> Session:
    session = Session(lambda: model)
    session.load()
    return session


@pytest.fixture
def held(tmp_path) -> Held:
    pages = [Image.new("RGB", (60 + 10 * i, 80), "white") for i in range(2)]
    pages[0].save(tmp_path / "two.tif", save_all=True, append_images=pages[1:])
    held, *_ = on_upload(str(tmp_path / "two.tif"))
    return held


def ask(session: Session, held: Held, question: str) -> dict:
    *_, last = on_run(session, held, question, *CONTROLS)
    return json.loads(last.state)


def test_a_run_is_told_of_what_the_reader_chose_to_go_on_from(session, model, held):
    assert ask(session, held, "Who?")["phase"] == "done"
    ask(session, held, "Where?")  # a question of its own
    same, typed, value = on_talk(held, " Where? ", "again")
    assert same is held
    assert typed == ""
    assert json.loads(value) == [["Where?", "Where?"]]
    ask(session, held, "When?")
    on_talk(held, "", "again")
    _, typed, value = on_talk(held, "half a question", "again")  # nothing new was answered
    assert typed == "half a question"
    assert json.loads(value) == [["Where?", "Where?"], ["When?", "When?"]]
    ask(session, held, "Why?")
    where, when = ("Where?", "Where?"), ("When?", "When?")
    assert model.told == [(), (), (where,), (where, when)]


def test_what_stands_in_the_field_is_left_unless_it_was_just_answered(session, held):
    ask(session, held, "Who?")
    assert on_talk(held, "And where?", "again")[1] == "And where?"
    assert held.talk.turns == (("Who?", "Who?"),)


def test_a_new_conversation_or_page_begins_without_history_and_rows(session, model, held):
    ask(session, held, "Who?")
    on_talk(held, "Who?", "again")
    anew, typed, value = on_talk(held, "Who?", "anew")
    assert (typed, value) == ("Who?", "[]")
    assert anew.documents == held.documents
    turned, *_ = on_pages(held, {"pages": [2], "crop": None})
    refused, *_ = on_pages(held, {"pages": [9], "crop": None})
    assert refused is held
    for fresh in (anew, turned):
        assert fresh.talk.prefixes.prefix is None
        ask(session, fresh, "Who?")
        assert model.told[-1] == ()
    assert talk_value(held) != "[]"
    assert talk_value(None) == "[]"
    assert on_talk(None, "x", "again") == (None, "x", "[]")


def test_a_run_that_was_stopped_is_no_part_of_it(session, held):
    frames = on_run(session, held, "Who?", *CONTROLS)
    next(frames)
    frames.close()
    assert on_talk(held, "Who?", "again")[2] == "[]"


def test_rows_are_kept_for_a_few_conversations_and_die_with_their_page(session, held):
    visits = [deepcopy(held) for _ in range(MAX_WARM + 2)]
    for visit in visits:
        ask(session, visit, "Who?")
    ask(session, visits[2], "Who?")  # the oldest that is left, which asks again
    ask(session, deepcopy(held), "Who?")
    kept = [visit.talk.prefixes.prefix is not None for visit in visits]
    assert kept == [False, False, True, False, *[True] * (MAX_WARM - 2)]
    gone = weakref.ref(visits.pop(2).talk.prefixes)
    gc.collect()
    wait_until(lambda: gone() is None)  # the thread that decoded may be on its way out


def test_visitors_begin_with_conversations_of_their_own(held):
    one, other = deepcopy(held), deepcopy(held)
    one.talk.latest = ("Who?", "me")
    on_talk(one, "", "again")
    assert (other.talk.turns, held.talk.turns) == ((), ())
    assert Talk().prefixes is not Talk().prefixes


def test_the_summary_says_what_was_not_read_again():
    lines = list(toy_trace())
    notes = [fact["note"] for fact in summary(lines)["facts"] if fact["label"] == "Prefill"]
    assert notes == ["reading page and question, before the first token"]
    for line in lines:
        if line["kind"] == "prefill":
            line.update(cache=640, reused=612)
    notes = [fact["note"] for fact in summary(lines)["facts"] if fact["label"] == "Prefill"]
    words = "reused 612 of 640 prompt rows of the question before"
    assert notes == [words]
    for line in lines:
        if line["kind"] == "prefill":
            line["saved"] = 95.4
    notes = [fact["note"] for fact in summary(lines)["facts"] if fact["label"] == "Prefill"]
    assert notes == [f"{words}: 95 ms saved"]
