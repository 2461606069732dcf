"""The server's log: JSON lines with counts, never a word of a document or a question."""

from __future__ import annotations

import io
import json
import logging
from collections.abc import Iterator

import pytest

from app.frames import live_frames
from app.journal import JsonLines
from app.session import Session
from app.settings import Settings
from tests.ui.test_session import PAGE
from tests.ui.toy_page import toy_runner

SECRET = "Kaboodle 48.20"
BOTH = Settings(("glance", "ar"))


@pytest.fixture
def written() -> Iterator[io.StringIO]:
    """What goes to the log, as text."""
    stream = io.StringIO()
    handler = logging.StreamHandler(stream)
    handler.setFormatter(JsonLines())
    logger = logging.getLogger("app")
    before = logger.level
    logger.addHandler(handler)
    logger.setLevel(logging.INFO)
    yield stream
    logger.removeHandler(handler)
    logger.setLevel(before)


def session(runner=None) -> Session:
    made = Session(lambda: runner or toy_runner(0.0))
    made.load()
    return made


def entries(written: io.StringIO) -> list[dict]:
    return [json.loads(line) for line in written.getvalue().splitlines()]


def test_a_run_is_one_line_of_counts(written):
    updates = list(session(toy_runner(0.001)).run((PAGE,), SECRET, BOTH, source="api"))
    (entry,) = [each for each in entries(written) if each["event"] == "run"]
    assert entry["run"] == updates[-1].run
    assert (entry["outcome"], entry["source"], entry["compare"]) == ("done", "api", "equal")
    assert set(entry["tokens"]) == set(entry["target_passes"]) == {"glance", "ar"}
    assert entry["tokens"]["ar"] == entry["tokens"]["glance"] > 1
    assert entry["ms"] > 0
    assert entry["waited_ms"] >= 0
    assert SECRET.split()[0] not in written.getvalue()
    assert PAGE.name not in written.getvalue()


def test_what_broke_is_named_without_its_text(written):
    def breaks(*_args) -> Iterator[dict]:
        raise KeyError(SECRET)
        yield {}

    list(session(breaks).run((PAGE,), SECRET, BOTH))
    failure = next(each for each in entries(written) if "exception" in each)
    assert failure["exception"] == "KeyError"
    assert failure["at"][-1].startswith("test_journal.py:")
    assert failure["at"][-1].endswith(" breaks")
    assert next(each for each in entries(written) if each["event"] == "run")["outcome"] == "failed"
    assert "Kaboodle" not in written.getvalue()


def test_a_run_that_is_left_or_refused_is_told_apart(written):
    left = session(toy_runner(0.02)).run((PAGE,), "x" * 200, BOTH)
    next(left)
    left.close()
    list(session().run((PAGE,), " ", BOTH))
    list(live_frames(Session(lambda: 1 / 0).run((), "x", BOTH), "x"))
    outcomes = [each["outcome"] for each in entries(written) if each["event"] == "run"]
    assert outcomes == ["stopped", "refused", "refused"]
