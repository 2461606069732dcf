"""One job at a time: load the model, decode both lanes, hand the page what to show.

The decoder runs in a thread of its own and only appends lines; this module reads them, builds
figures at most four times a second, and yields often, so that Stop is heard between two yields.
Nothing here imports torch: `load_runner` does, in the background, after the page is up.
"""

from __future__ import annotations

import json
import logging
import threading
import time
import uuid
from collections import deque
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass

from app.views import entropy_figure, focus, prefix_figure, summary, tree_figure
from app.views.figure import view_value
from glance.config import AUTO, NodeBudget
from glance.documents.intake import Document, DocumentError, check_question
from glance.replay import lanes
from glance.trace import Line, dumps, parse_trace
from glance.types import PromptError

#: decodes a question about one page or two: (pages, question, lanes, node budget, max tokens, run)
Runner = Callable[[Sequence[Document], str, tuple[str, ...], NodeBudget, int, str], Iterator[Line]]

#: the model that this server runs
TARGET = "embedded"
LANES = {"both": ("glance", "ar"), "glance": ("glance",), "ar": ("ar",)}
YIELD_S = 0.1  # at most ten updates a second
FIGURE_S = 0.25  # at most four figures a second
MAX_WAITING = 8
INTERNAL_ERROR = "The run failed for a reason of the server's own; its log has the details."
NO_MEMORY = "This does not fit into the server's memory: try a smaller image."
NO_MODEL = "There is no working model on this machine: recorded runs can still be replayed."
NO_DOCUMENT = "There is no document yet: choose a file or one of the examples."

log = logging.getLogger(__name__)


def load_runner() -> Runner:
    """The shipped target and drafter, loaded; the one place that knows where they come from."""
    from glance.ask import ask, warm_up
    from glance.config import DecodeConfig
    from glance.drafters.load import load_drafter
    from glance.engine.choose import best_device
    from glance.profiling import measure_costs
    from glance.targets.load import load_target

    target = load_target(TARGET, device=best_device())
    drafters = {name: load_drafter(name, target) for name in LANES["both"]}
    warm_up(target, list(drafters.values()))
    costs = measure_costs(target, drafters["glance"])

    def run(
        documents: Sequence[Document],
        question: str,
        names: tuple[str, ...],
        node_budget: NodeBudget,
        max_tokens: int,
        run_id: str,
    ) -> Iterator[Line]:
        config = DecodeConfig(
            node_budget=node_budget,
            max_new_tokens=max_tokens,
            costs=costs if node_budget == AUTO else None,
        )
        return ask(target, [drafters[name] for name in names], documents, question, config, run_id)

    return run


@dataclass(frozen=True, slots=True)
class Frame:
    """What one update of the page changes; None leaves a part as it is."""

    state: str | None = None
    trace: str | None = None
    tree: str | None = None
    prefix: str | None = None
    entropy: str | None = None
    summary: str | None = None

    @property
    def parts(self) -> tuple[str | None, ...]:
        """The parts in the order of the page's outputs."""
        return self.state, self.trace, self.tree, self.prefix, self.entropy, self.summary


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
        phase: idle, waiting, running, done, stopped or error.
        run: which run this is about; the page drops what a run says after another took over.
        source: whose lines the page shows now: live, recorded, opened; empty if unchanged.
        asked: the question as it was typed, which the page compares with what is typed since.
    """
    value = {"phase": phase, "text": text, "level": level, "run": run, "source": source}
    return json.dumps({**value, "asked": asked}, ensure_ascii=False)


def replayed(text: str, source: str, message: str = "") -> Frame:
    """A whole trace (recorded, or opened from a file), with the figures of its last round.

    Raises:
        TraceError: the text is no trace.
    """
    lines = parse_trace(text)
    run, asked = lines[0]["run"], lines[0]["prompt"]["question"]
    told = _with_warnings("idle", message, lines, run=run, source=source, asked=asked)
    return _frame(text, lines, told)


def _with_warnings(phase: str, text: str, lines: list[Line], **about: str) -> str:
    """Value of the state region: a sentence, and what a run's lines warn of."""
    notices = [line for line in lines if line["kind"] == "notice"]
    warned = dict.fromkeys(line["text"] for line in notices if line["level"] == "warning")
    words = " ".join([text, *warned]).strip()
    return state(phase, words, "warning" if warned else "info", **about)


def _frame(text: str, lines: list[Line], state_value: str) -> Frame:
    run = lines[0]["run"] if lines else ""
    lane = focus(lanes(lines))
    step = lane.rounds[-1] if lane and lane.rounds else None
    return Frame(
        state=state_value,
        trace=text,
        tree=view_value(run, tree_figure(step, run)),
        prefix=view_value(run, prefix_figure(lane, lines, run)),
        entropy=view_value(run, entropy_figure(lane, lines, run)),
        summary=json.dumps(summary(lines), ensure_ascii=False),
    )


class Session:
    """The model of this server and the queue in front of it."""

    def __init__(self, load: Callable[[], Runner] = load_runner) -> None:
        self._load = load
        self._runner: Runner | None = None
        self._loaded = threading.Event()
        self._queue: list[str] = []  # run ids, the one that decodes first
        self._changed = threading.Condition()

    def start(self) -> None:
        """Load the model in the background."""
        threading.Thread(target=self._load_model, name="load-model", daemon=True).start()

    def _load_model(self) -> None:
        try:
            self._runner = self._load()
        except Exception:
            log.exception("the model could not be loaded")
        finally:
            self._loaded.set()

    def status(self) -> str:
        """Value of the status region."""
        if not self._loaded.is_set():
            phase, text = "loading", "Model loading…"
        elif self._runner is None:
            phase, text = "missing", "Replay only: no model"
        else:
            phase, text = "ready", "Model ready"
        return json.dumps({"phase": phase, "text": text})

    @property
    def settled(self) -> bool:
        """Whether the model is loaded, or has failed to."""
        return self._loaded.is_set()

    def run(
        self,
        documents: Sequence[Document],
        question: str,
        mode: str,
        node_budget: NodeBudget,
        max_tokens: int,
    ) -> Iterator[Frame]:
        """Frames of one run, in words where it cannot be done. Closing the iterator stops it."""
        try:
            if not documents:
                raise DocumentError(NO_DOCUMENT)
            question = check_question(question)
        except DocumentError as error:
            yield Frame(state("error", str(error), "error"))
            return
        run = uuid.uuid4().hex[:12]
        with self._changed:
            if len(self._queue) > MAX_WAITING:
                words = "The server is busy and its queue is full: please try again in a minute."
                yield Frame(state("error", words, "warning"))
                return
            self._queue.append(run)
        job = _Job()
        try:
            yield from self._wait(run)
            if self._runner is None:
                yield Frame(state("error", NO_MODEL, "warning", run=run))
                return
            settings = (documents, question, LANES[mode], node_budget, int(max_tokens), run)
            job.start(self._runner, settings, lambda: self._leave(run))
            yield from _frames(job, question, run)
        finally:
            job.stop.set()
            if not job.started:
                self._leave(run)

    def _wait(self, run: str) -> Iterator[Frame]:
        while True:
            with self._changed:
                ahead = self._queue.index(run)
                if ahead:
                    self._changed.wait(0.2)
            if ahead:
                runs = "1 run is" if ahead == 1 else f"{ahead} runs are"
                yield Frame(state("waiting", f"Waiting: {runs} ahead of yours.", run=run))
            elif not self._loaded.wait(0.2):
                words = "The model is still loading: your run starts then."
                yield Frame(state("waiting", words, run=run))
            else:
                return

    def _leave(self, run: str) -> None:
        with self._changed:
            self._queue.remove(run)
            self._changed.notify_all()


class _Job:
    """The decoder's thread and the lines that it has written."""

    def __init__(self) -> None:
        self.lines: deque[Line] = deque()
        self.stop = threading.Event()
        self.ended = threading.Event()
        self.started = False
        self.error = ""

    def start(self, runner: Runner, settings: tuple, leave: Callable[[], None]) -> None:
        self.started = True
        work = threading.Thread(target=self._work, args=(runner, settings, leave), daemon=True)
        work.start()

    def _work(self, runner: Runner, settings: tuple, leave: Callable[[], None]) -> None:
        try:
            for line in runner(*settings):
                self.lines.append(line)
                if self.stop.is_set():
                    break
        except (DocumentError, PromptError) as error:
            self.error = str(error)
        except MemoryError:
            self.error = NO_MEMORY
        except Exception as error:
            log.exception("the run failed")
            # torch's own error of a full GPU goes by its name: nothing here imports torch
            full = type(error).__name__ == "OutOfMemoryError"
            self.error = NO_MEMORY if full else INTERNAL_ERROR
        finally:
            leave()
            self.ended.set()

    def read(self, seconds: float) -> tuple[list[Line], bool]:
        """The lines written within the next `seconds`, and whether the job has ended.

        Sleeps rather than waiting for each line: being woken by every line would cost the
        decoder some percent of its time.
        """
        ended = self.ended.wait(seconds)
        lines: list[Line] = []
        while self.lines:
            lines.append(self.lines.popleft())
        return lines, ended


def _frames(job: _Job, asked: str, run: str) -> Iterator[Frame]:
    """Frames of a running job, at most ten a second, each with whole lines."""
    text = ""
    lines: list[Line] = []
    figures_at = 0.0
    live: dict[str, str] = {"run": run, "source": "live", "asked": asked}
    yield Frame(state("running", "Reading the page…", run=run))
    while True:
        fresh, ended = job.read(YIELD_S)
        lines += fresh
        text += "".join(dumps(line) + "\n" for line in fresh)
        if ended:
            break
        running = _with_warnings("running", "Decoding…", lines, **live)
        if not fresh:
            yield Frame()  # nothing new, but Stop is heard here
        elif time.monotonic() - figures_at >= FIGURE_S:
            figures_at = time.monotonic()
            yield _frame(text, lines, running)
        else:
            yield Frame(running, trace=text)
    if not lines:
        yield Frame(state("error", job.error or INTERNAL_ERROR, "error", run=run))
    elif job.error:
        yield _frame(text, lines, state("error", job.error, "error", **live))
    else:
        yield _frame(text, lines, _with_warnings("done", "Done.", lines, **live))
