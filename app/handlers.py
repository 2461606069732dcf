"""What single events hand back: plain values, tested without a server or a browser."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from dataclasses import replace
from functools import cache
from pathlib import Path
from threading import Semaphore
from typing import Any

from app.examples import GENERAL_QUESTIONS, Example
from app.few import few
from app.frames import Frame, lane_figures, live_frames, replayed, state, stopped
from app.held import Held
from app.picture import take_picture
from app.preview import document_value, inline, look
from app.replay_file import replay_html
from app.session import NO_DOCUMENT, Session
from app.settings import SettingsError, chosen
from app.talk import Talk
from app.troubles import MEMORY
from app.views import study, tree_figure
from glance.documents.intake import Crop, DocumentError, Notice
from glance.replay import lanes
from glance.rounds_csv import rounds_csv
from glance.trace import DAMAGE, TraceError, parse_trace, whole_lines

THUMBNAIL = 240  # pixels
STOPPED = "Stopped. What was decoded until then stays."
FORGOTTEN = "The connection was lost, and the server has forgotten this page: choose it again."
MAX_TRACE_BYTES = 20_000_000
MAX_ROUND_CHARS = 200_000
#: of all visitors: what is made of whole traces, of up to 20 MB each, and what of less
FILES, DRAWN = Semaphore(2), Semaphore(4)


def thumbnails(examples: Sequence[Example], chosen: Example | None) -> str:
    """Value of the examples' region: a picture, a title and the id that links name, each."""
    return json.dumps(
        [
            {
                "id": each.id,
                "title": each.title,
                "image": _thumbnail(each),
                "chosen": each is chosen,
            }
            for each in examples
        ]
    )


@cache
def _thumbnail(example: Example) -> str:
    return inline(example.document().image, THUMBNAIL)


def chips(texts: Sequence[str]) -> str:
    """Value of the suggestions' region."""
    return json.dumps([{"title": text} for text in texts])


def on_pick(example: Example) -> tuple[Held, str, str, str, Frame]:
    """What is held, the page's value, question, suggestions and recorded run of an example."""
    held = Held.first_page(example.image, example.image.name)
    text = example.recorded()
    frame = replayed(text, "recorded") if text else Frame(state("idle", ""))
    shown = document_value(*held.documents)
    return held, shown, example.question, chips(example.suggestions), frame


def on_upload(path: str | None) -> tuple[Held | None, str, str, str]:
    """What is held, the page's value, suggestions and message for a file from the reader's disk."""
    try:
        held = Held.first_page(*_taken(path))
    except (DocumentError, MemoryError) as error:
        return None, "null", chips(GENERAL_QUESTIONS), state("refused", _why(error), "error")
    shown, notices = look(held.documents)
    return held, shown, chips(GENERAL_QUESTIONS), _told(notices)


def _why(error: DocumentError | MemoryError) -> str:
    return MEMORY.text if isinstance(error, MemoryError) else str(error)


def _taken(path: str | None) -> tuple[bytes, str]:
    """The bytes and the name of an uploaded file."""
    try:
        return Path(path or "").read_bytes(), Path(path or "").name
    except OSError as error:
        raise DocumentError("No file arrived: choose it again.") from error


def on_talk(held: Held | None, typed: str, chosen: Any) -> tuple[Held | None, str, str]:
    """What is held, the question field and the dialogue after a press on one of its buttons.

    Args:
        typed: what stands in the question field, which is emptied for the next question.
        chosen: "again" to go on from the latest answer, "anew" to begin a new conversation.
    """
    if held and chosen == "anew":
        held = replace(held, talk=Talk())
    elif held and held.talk.go_on() == typed.strip():
        typed = ""
    return held, typed, talk_value(held)


def talk_value(held: Held | None) -> str:
    """Value of the talk region: the earlier questions about the page and their answers."""
    return (held.talk if held else Talk()).value()


def on_pages(held: Held | None, chosen: Any) -> tuple[Held | None, str | None, str]:
    """What is held, the page's value and message after the reader chose pages or a part of one.

    Args:
        held: the file, of which nothing changes where the choice cannot be had (no value then).
        chosen: {"pages": one or two numbers, "crop": four fractions or None}, from the browser.
    """
    try:
        if held is None:
            raise DocumentError(NO_DOCUMENT)
        if held.is_forgotten:
            raise DocumentError(FORGOTTEN)
        pages, crop = _choice(chosen)
        turned = held.turned(pages, crop)
    except (DocumentError, MemoryError) as error:
        return held, None, state("error", _why(error), "error")
    shown, notices = look(turned.documents)
    return turned, shown, _told(notices)


def _choice(chosen: Any) -> tuple[list[int], Crop | None]:
    try:
        pages = [int(page) for page in chosen["pages"]]
        if not chosen["crop"]:
            return pages, None
        left, top, right, bottom = map(float, chosen["crop"])
    except (KeyError, TypeError, ValueError, OverflowError) as error:
        raise DocumentError("A page has a number, and a crop has four: choose again.") from error
    return pages, (left, top, right, bottom)


def _told(notices: Sequence[Notice]) -> str:
    """Value of the state region: all there is to say of a page."""
    warned = any(notice.level == "warning" for notice in notices)
    words = " ".join(notice.text for notice in notices)
    return state("idle", words, "warning" if warned else "info")


def on_run(session: Session, held: Held | None, question: str, *controls: Any) -> Iterator[Frame]:
    """Frames of a run; the controls' values stand in the order of `app.settings.chosen`."""
    try:
        settings = chosen(*controls)
    except SettingsError as error:
        yield Frame(state("error", str(error), "error"))
        return
    if held and held.is_forgotten:
        yield Frame(state("error", FORGOTTEN, "error"))
        return
    pages, talk = (held.documents, held.talk) if held else ((), None)
    updates = session.run(pages, question, settings, talk=talk)
    yield from live_frames(updates, question)


def on_stop(trace: Any) -> Frame:
    """The frame after Stop: nothing more will come to what the page shows.

    Args:
        trace: the trace as the page has it.
    """
    if isinstance(trace, str) and len(trace) <= MAX_TRACE_BYTES:
        with suppress(TraceError), whole_lines():  # the run may not have begun to decode
            return stopped(trace, STOPPED)
    return Frame(state("stopped", STOPPED))


def on_open(path: str | None, held: Held | None) -> tuple[str | None, str | None, Frame]:
    """The page's value, the question and the frame of a trace file.

    The value is the picture that the trace carries, or none at all ("null") rather than a page that
    the trace is not about. Where what is held is its page, there is no value, and that stays.
    There is no question where the file is no trace; the frame then says why in one sentence.
    """
    try:
        if path is None or Path(path).stat().st_size > MAX_TRACE_BYTES:
            limit = MAX_TRACE_BYTES // 1_000_000
            raise TraceError(f"The trace is larger than {limit} MB, too large to open here.")
        text, picture = take_picture(Path(path).read_text(encoding="utf-8"))
        words = f"Opened {Path(path).name}."
        with whole_lines():
            lines = parse_trace(text)
            header = lines[0]
            if picture:
                words += " Its picture is only shown: to ask about the page, choose its file."
            elif not (held and held.is_page_of(header)):
                picture = "null"
                words += " The trace has no picture of its page."
            frame = replayed(text, "opened", words, lines)
            return picture, str(header["prompt"]["question"]), frame
    except (TraceError, OSError, UnicodeDecodeError) as error:
        words = str(error) if isinstance(error, TraceError) else "The file is no trace: not text."
        return None, None, Frame(state("error", words, "error"))


@few(DRAWN)
def tree_of(round_lines: str) -> str | None:
    """The candidate tree's figure for the lines of one round, which the page sends.

    The page has the whole trace, so the server keeps none: any round of any run can be asked for.
    """
    try:
        if len(round_lines) > MAX_ROUND_CHARS:
            return None
        lines = [json.loads(line) for line in round_lines.splitlines()]
        lane = next(iter(lanes(lines).values()))
        return json.dumps(tree_figure(lane.rounds[0], lines[0]["run"]))
    except (*DAMAGE, StopIteration):
        return None


@few(FILES)
def lane_of(asked: str) -> str | None:
    """The figures of the lane that the page asks for, or None if there is none.

    Args:
        asked: JSON, {"lane": its name, "trace": the trace's text}.
    """
    try:
        chosen = json.loads(asked)
        name, trace = chosen["lane"], chosen["trace"]
    except DAMAGE:
        return None
    return _exported(lambda text: lane_figures(parse_trace(text), name), trace)


@few(DRAWN)
def study_of(_asked: object = None) -> str:
    """Value of the study's tab; a component's server function is always given one argument."""
    return json.dumps(study(), ensure_ascii=False)


@few(FILES)
def replay_of(trace: str) -> str | None:
    """The replay file of the trace that the page sends, or None if it is none."""
    return _exported(replay_html, trace)


@few(FILES)
def rounds_of(trace: str) -> str | None:
    """The table of rounds of the trace that the page sends, or None if it is none."""
    return _exported(lambda text: rounds_csv(parse_trace(text)), trace)


def _exported(make: Callable[[str], str], trace: str) -> str | None:
    try:
        if not isinstance(trace, str) or len(trace) > MAX_TRACE_BYTES:
            return None
        with whole_lines():
            # a lone surrogate, spelled out in the trace, has no place in UTF-8
            return make(trace).encode("utf-8", "replace").decode()
    except TraceError:
        return None
