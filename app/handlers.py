"""What single events hand back: plain values, tested without a server or a browser."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import replace
from functools import cache
from pathlib import Path

from app.examples import GENERAL_QUESTIONS, Example
from app.preview import document_value, inline
from app.session import TARGET, Frame, replayed, state
from app.views import tree_figure
from glance.documents.intake import Document, DocumentError, load_document
from glance.limits import limits_of
from glance.replay import lanes
from glance.trace import TraceError

THUMBNAIL = 240  # pixels
MAX_TRACE_BYTES = 20_000_000
MAX_ROUND_CHARS = 200_000

Loaded = tuple[Document | None, str, str, str]


def thumbnails(examples: Sequence[Example], chosen: Example | None) -> str:
    """Value of the examples' region: a picture and a title each."""
    return json.dumps(
        [
            {
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


def on_pick(example: Example) -> tuple[Document, str, str, str, Frame]:
    """Document, its region's value, question, suggestions and recorded run of an example."""
    document = example.document()
    text = example.recorded()
    frame = replayed(text, "recorded") if text else Frame(state("idle", ""))
    return document, document_value(document), example.question, chips(example.suggestions), frame


def on_upload(path: str | None) -> Loaded:
    """Document, its region's value, suggestions and message for a file from the reader's disk."""
    try:
        if path is None:
            raise DocumentError("No file arrived: choose it again.")
        document = load_document(path)
    except DocumentError as error:
        return None, "null", chips(GENERAL_QUESTIONS), state("error", str(error), "error")
    warned = limits_of(TARGET).of_page(document.image)
    shown = replace(document, notices=(*document.notices, *warned))
    words = " ".join(notice.text for notice in shown.notices)
    told = state("idle", words, "warning" if warned else "info")
    return document, document_value(shown), chips(GENERAL_QUESTIONS), told


def on_open(path: str | None) -> Frame:
    """The frame of a trace file, or one sentence on why it is none."""
    try:
        if path is None or Path(path).stat().st_size > MAX_TRACE_BYTES:
            limit = MAX_TRACE_BYTES // 1_000_000
            raise TraceError(f"The trace is larger than {limit} MB, too large to open here.")
        text = Path(path).read_text(encoding="utf-8")
        return replayed(text, "opened", f"Opened {Path(path).name}.")
    except (TraceError, OSError, UnicodeDecodeError) as error:
        words = str(error) if isinstance(error, TraceError) else "The file is no trace: not text."
        return Frame(state("error", words, "error"))
    except (KeyError, TypeError, ValueError, IndexError, AttributeError):
        # a trace by its header, but with lines that lack what their kind promises
        return Frame(
            state("error", "The trace is damaged: a line lacks some of its fields.", "error")
        )


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
    except (KeyError, TypeError, ValueError, IndexError, AttributeError, StopIteration):
        return None
