"""A ZeroGPU Space, as far as it can be had without one: with a stand-in for `spaces`."""

from __future__ import annotations

import importlib
import os
import pickle
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from types import ModuleType, NoneType

import gradio as gr
import pytest
from gradio_client import Client, handle_file

from app.choices import cards
from app.examples import load_examples
from app.session import LANES, Runner, Session, load_runner
from app.settings import NO_LANE, Settings
from app.talk import Talk
from app.ui import build
from app.zerogpu import lent, seconds
from glance.config import AUTO
from glance.replay import lanes
from glance.types import PromptError
from tests.ui.served import served
from tests.ui.test_session import PAGE, wait_until
from tests.ui.toy_page import draw_page, toy_runner

ROOT = Path(__file__).parents[2]
FAKES = Path(__file__).with_name("fakes")
BOTH = Settings(("glance", "ar"))


@pytest.fixture
def spaces(monkeypatch) -> Iterator[ModuleType]:
    monkeypatch.setenv("SPACES_ZERO_GPU", "true")
    monkeypatch.syspath_prepend(FAKES)
    yield importlib.import_module("spaces")
    del sys.modules["spaces"]


def started(runner: Runner) -> Session:
    session = Session(lambda: lent(runner))
    session.load()
    return session


def test_a_run_gives_the_same_lines_through_the_other_process(spaces):
    through = list(started(toy_runner(0.0)).run((PAGE,), "hello there", BOTH))
    assert through[-1].phase == "done"
    lines = [line for update in through for line in update.lines]
    direct = toy_runner(0.0)((PAGE,), "hello there", BOTH, lines[0]["run"])
    assert lines == list(direct)
    assert [call["seconds"] for call in spaces.calls] == [seconds((PAGE,), "hello there", BOTH, "")]


@pytest.mark.usefixtures("spaces")
def test_a_shipped_example_crosses_as_plain_values_and_with_the_same_ids():
    """The model itself, whose lines could hold a tensor or a number of NumPy's."""
    example, settings = load_examples()[0], Settings(LANES, max_tokens=16)
    given = ([example.document()], example.question, settings, "run", Talk())
    pickle.dumps(given)
    runner = load_runner(gpu_is_lent=True)
    crossed = list(lent(runner)(*given))
    for line in crossed:
        check_plain(line)
    there, here = (
        {name: lane.ids for name, lane in lanes([line for line in run if line]).items()}
        for run in (crossed, runner(*given))
    )
    assert set(there) == set(LANES)
    assert there == here


def check_plain(value: object) -> None:
    """Nothing whose class the other process would have to know, at any depth."""
    assert type(value) in (dict, list, str, int, float, bool, NoneType), value
    if isinstance(value, dict):
        assert all(type(key) is str for key in value)
        value = list(value.values())
    for each in value if isinstance(value, list) else ():
        check_plain(each)


@pytest.mark.usefixtures("spaces")
def test_a_conversation_goes_along_without_the_rows_that_were_read_for_it():
    heard = []

    def runner(documents, question, settings, run_id, talk=None) -> Iterator[dict]:
        heard.append(talk)
        yield from toy_runner(0.0)(documents, question, settings, run_id)

    talk = Talk(turns=(("Who?", "Northgate"),))
    talk.prefixes.prefix = lambda: None  # cannot be pickled, like what holds tensors of a GPU
    assert list(started(runner).run((PAGE,), "And what?", BOTH, talk=talk))[-1].phase == "done"
    assert heard[0].turns == talk.turns
    assert heard[0].prefixes.prefix is None


def test_the_time_that_is_asked_for_follows_the_settings():
    def asked(settings: Settings) -> int:
        return seconds((PAGE,), "x", settings, "run")

    assert 15 <= asked(Settings(("glance",))) < asked(BOTH) <= 30
    assert asked(Settings(("glance",), max_tokens=64)) < asked(Settings(("glance",)))
    assert asked(Settings(("glance",), AUTO)) > asked(Settings(("glance",)))
    longest = asked(Settings(("glance", "ar"), AUTO, max_tokens=512))
    several = asked(Settings(("glance", "ngram"), AUTO, max_tokens=512))  # both are measured
    assert longest < several <= 60  # what `spaces` takes where nothing is asked for


def test_stop_reaches_the_other_process(spaces):
    updates = started(toy_runner(0.1)).run((PAGE,), "x" * 500, BOTH)  # a run of a minute
    while not next(updates).lines:
        pass
    updates.close()
    wait_until(lambda: spaces.calls[0]["stopped"])


@pytest.mark.usefixtures("spaces")
@pytest.mark.parametrize(
    ("error", "words"),
    [
        (PromptError("The page and the question do not fit."), "The page and the question do not"),
        (MemoryError(), "does not fit into the server's memory"),
        (KeyError("secret"), "for a reason of the server's own"),
    ],
)
def test_what_goes_wrong_there_is_told_here(error, words):
    def breaks(*_args) -> Iterator[dict]:
        raise error
        yield {}

    last = list(started(breaks).run((PAGE,), "x", BOTH))[-1]
    assert words in last.text
    assert "secret" not in last.text


def test_a_used_up_quota_is_told_and_the_next_run_is_none_the_worse(spaces):
    session = started(toy_runner(0.0))
    spaces.refuse.append(gr.Error("60s requested vs. 2s left", title="ZeroGPU quota exceeded"))
    last = list(session.run((PAGE,), "hello there", BOTH))[-1]
    assert "used up" in last.text
    assert "recorded runs" in last.text
    assert list(session.run((PAGE,), "hello there", BOTH))[-1].phase == "done"


def test_the_visitor_whose_quota_it_is_can_be_found(spaces, tmp_path):
    """`spaces` reads the visitor's token off the event's request, in the decoder's thread too."""
    draw_page(tmp_path / "page.png", "Total 48.20")
    with served(lambda: lent(toy_runner(0.0))) as (address, _):
        client = Client(address, verbose=False, headers={"x-ip-token": "visitor"})
        client.predict(handle_file(str(tmp_path / "page.png")), "hello", api_name="/ask")
    assert spaces.calls[0]["request"].headers["x-ip-token"] == "visitor"


def test_spaces_comes_before_anything_that_may_touch_the_gpu():
    code = (
        "import runpy; runpy.run_path('app.py', run_name='imported');"
        "import spaces; print(spaces.LOADED_BEFORE)"
    )
    done = subprocess.run(
        [sys.executable, "-c", code],
        capture_output=True,
        text=True,
        cwd=ROOT,
        env={**os.environ, "PYTHONPATH": str(FAKES), "SPACES_ZERO_GPU": "true"},
        check=False,
    )
    assert done.stdout.strip() == "[]", done.stderr


@pytest.mark.parametrize(("there", "compare"), [("true", False), ("", True)])
def test_a_program_pays_for_a_second_lane_only_if_it_asks(monkeypatch, there, compare):
    monkeypatch.setenv("SPACES_ZERO_GPU", there)
    demo = build(Session(lambda: toy_runner()), ())
    (ask,) = (each for each in demo.fns.values() if each.api_name == "ask")
    assert ask.inputs[4].value is compare


@pytest.mark.parametrize(("there", "lanes"), [("true", ["glance"]), ("", list(LANES))])
def test_cards_and_cost_are_of_the_lanes_that_are_chosen_when_the_page_opens(
    monkeypatch, there, lanes
):
    monkeypatch.setenv("SPACES_ZERO_GPU", there)
    asked = []
    monkeypatch.setattr("app.ui.hint", lambda *given: asked.append(given[2:4]) or "")
    demo = build(Session(lambda: toy_runner()), ())
    chosen = [each.value for each in demo.blocks.values() if isinstance(each, gr.Dropdown)]
    assert [lane for lane in chosen if lane != NO_LANE] == lanes
    assert asked == [tuple(chosen)]
    assert cards(*lanes) in [getattr(each, "value", None) for each in demo.blocks.values()]


def test_elsewhere_nothing_changes(monkeypatch):
    monkeypatch.delenv("SPACES_ZERO_GPU", raising=False)
    runner = toy_runner()
    assert lent(runner) is runner
