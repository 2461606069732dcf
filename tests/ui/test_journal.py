"""The server's log: JSON lines with counts, never a word of a document or a question."""

from __future__ import annotations

import io
import json
import logging
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from app.frames import live_frames
from app.journal import JsonLines
from app.session import Session
from app.settings import Settings
from tests.ui.test_session import PAGE
from tests.ui.toy_page import toy_runner

ROOT = Path(__file__).parents[2]
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


BREAKS = """
import asyncio, logging, warnings
from app.journal import to_stderr
to_stderr()
from tests.ui.served import served
from tests.ui.test_security import CLIENT, called
from tests.ui.toy_page import toy_runner

async def left():
    asyncio.ensure_future(asyncio.wait_for(asyncio.to_thread(lambda: {}["SECRET"]), 9))
    await asyncio.sleep(0.2)

asyncio.run(left())
warnings.warn("a warning")
with served(lambda: toy_runner()) as (address, _):
    logging.getLogger("uvicorn.error").error("two\\nSECRET")
    for each in CLIENT.get(f"{address}/config").json()["dependencies"]:
        if not each["targets"] or each["targets"][0][1] not in ("load", "unload", "tick"):
            called(address, each["id"], [{"path": ["SECRET"]}] * len(each["inputs"]))
"""


def test_whatever_breaks_on_the_server_is_a_line_of_json_without_its_text():
    """Gradio's own traceback of an event, the server's words, a task that nobody waits for."""
    code = BREAKS.replace("SECRET", SECRET)
    command = [sys.executable, "-c", code]
    done = subprocess.run(command, capture_output=True, text=True, cwd=ROOT, check=True)
    told = [json.loads(line) for line in done.stderr.splitlines()]
    assert "Kaboodle" not in done.stderr
    assert {"app.events", "asyncio", "py.warnings", "uvicorn.error"} <= {
        each["logger"] for each in told
    }
    broke = next(each for each in told if each["logger"] == "app.events")
    assert broke["event"] == "an event broke"
    assert broke["exception"]
    assert broke["at"]


def test_a_run_that_is_left_or_refused_is_told_apart(written):
    left = session(toy_runner(0.02)).run((PAGE,), "x" * 200, BOTH)
    next(left)
    left.close()
    list(session().run((PAGE,), " ", BOTH))
    list(live_frames(Session(lambda: 1 / 0).run((), "x", BOTH), "x"))
    outcomes = [each["outcome"] for each in entries(written) if each["event"] == "run"]
    assert outcomes == ["stopped", "refused", "refused"]
