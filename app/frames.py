"""What one update of the page changes: state in words, trace, figures. Plain values, no torch."""

from __future__ import annotations

import json
import time
from collections.abc import Generator, Iterator
from contextlib import closing
from dataclasses import dataclass

from app.session import Update
from app.views import (
    entropy_figure,
    focus,
    lines_of,
    prefix_figure,
    summary,
    tabs,
    tree_figure,
)
from app.views.figure import view_value
from glance.replay import lanes
from glance.trace import Line, dumps, parse_trace

FIGURE_S = 0.25  # at most four figures a second


@dataclass(frozen=True, slots=True)
class Frame:
    """What one update of the page changes; None leaves a part as it is."""

    state: str | None = None
    trace: str | None = None
    tree: str | None = None
    prefix: str | None = None
    entropy: str | None = None
    summary: str | None = None
    tabs: str | None = None

    @property
    def parts(self) -> tuple[str | None, ...]:
        """The parts in the order of the page's outputs."""
        views = (self.tree, self.prefix, self.entropy, self.summary, self.tabs)
        return self.state, self.trace, *views


def state(
    phase: str,
    text: str,
    level: str = "info",
    *,
    run: str = "",
    source: str = "",
    asked: str | None = None,
) -> str:
    """Value of the state region: what is going on, in words.

    Args:
        phase: idle, waiting, running, done, stopped, error, or refused: of a file that cannot be
            read, about which there is nothing to ask.
        run: which run this is about; the page drops what a run says after another took over.
        source: whose lines the page shows now: live, recorded, opened; empty if unchanged.
        asked: the question as it was typed, which the page compares with what is typed since.
    """
    value = {"phase": phase, "text": text, "level": level, "run": run, "source": source}
    return json.dumps({**value, "asked": asked}, ensure_ascii=False)


def replayed(text: str, source: str, message: str = "", lines: list[Line] | None = None) -> Frame:
    """A whole trace (recorded, or opened from a file), with the figures of its last round.

    Args:
        text: the trace.
        source: recorded or opened.
        message: in words, for the state.
        lines: of the text, where they are parsed already.

    Raises:
        TraceError: the text is no trace.
    """
    lines = lines or parse_trace(text)
    run, asked = lines[0]["run"], str(lines[0]["prompt"]["question"])
    told = _with_warnings("idle", message, lines, run=run, source=source, asked=asked)
    return _frame(text, lines, told, ended=True)


def stopped(text: str, message: str) -> Frame:
    """What is on the page of a run, as one that has ended there.

    Raises:
        TraceError: nothing of it has come yet.
    """
    lines = parse_trace(text)
    return _frame(text, lines, state("stopped", message, run=lines[0]["run"]), ended=True)


def _with_warnings(phase: str, text: str, lines: list[Line], **about: str) -> str:
    """Value of the state region: a sentence, and what a run's lines warn of."""
    notices = [line for line in lines if line["kind"] == "notice"]
    warned = dict.fromkeys(line["text"] for line in notices if line["level"] == "warning")
    words = " ".join([text, *warned]).strip()
    return state(phase, words, "warning" if warned else "info", **about)


def _frame(text: str, lines: list[Line], state_value: str, *, ended: bool) -> Frame:
    run = lines[0]["run"] if lines else ""
    lane = focus(lanes(lines))
    step = lane.rounds[-1] if lane and lane.rounds else None
    return Frame(
        state=state_value,
        trace=text,
        tree=view_value(run, tree_figure(step, run)),
        prefix=view_value(run, prefix_figure(lane, lines, run)),
        entropy=view_value(run, entropy_figure(lane, lines, run)),
        summary=json.dumps(summary(lines, ended=ended), ensure_ascii=False),
        tabs=json.dumps({"run": run, "figures": tabs(lines, run, ended=ended)}),
    )


def lane_figures(lines: list[Line], name: str) -> str:
    """The figures of one lane of a whole trace, for a reader who has chosen it.

    Returns:
        JSON: {"prefix", "entropy": a figure, "tabs": figures by kind}.

    Raises:
        KeyError: it has no such lane.
    """
    lines = lines_of(lines, name)
    run, lane = lines[0]["run"], focus(lanes(lines))
    return json.dumps(
        {
            "prefix": prefix_figure(lane, lines, run),
            "entropy": entropy_figure(lane, lines, run),
            "tabs": tabs(lines, run, ended=True),
        }
    )


def live_frames(updates: Generator[Update, None, None], asked: str) -> Iterator[Frame]:
    """Frames of a run as it goes, each with whole lines. Closing the iterator stops the run.

    Args:
        asked: the question as it was typed.
    """
    text = ""
    lines: list[Line] = []
    figures_at = 0.0
    with closing(updates):
        for update in updates:
            lines += update.lines
            text += "".join(dumps(line) + "\n" for line in update.lines)
            told = _told(update, lines, asked)
            if not lines:
                yield Frame(told)
            elif update.ended or (update.lines and time.monotonic() - figures_at >= FIGURE_S):
                figures_at = time.monotonic()
                yield _frame(text, lines, told, ended=update.ended)
            elif update.lines:
                yield Frame(told, trace=text)
            else:
                yield Frame()  # nothing new, but Stop is heard here


def _told(update: Update, lines: list[Line], asked: str) -> str:
    if not lines:
        return state(update.phase, update.text, update.level, run=update.run)
    about = {"run": update.run, "source": "live", "asked": asked}
    if update.level != "info":
        return state(update.phase, update.text, update.level, **about)
    return _with_warnings(update.phase, update.text, lines, **about)
