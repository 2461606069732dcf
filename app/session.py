"""One job at a time: load the model, let runs wait for their turn, hand on what they write.

The decoder runs in a thread of its own (`app.job`) and only appends lines; this module reads them
and yields often, so that Stop is heard between two yields. Nothing here imports torch:
`load_runner` does, in the background, after the page is up.
"""

from __future__ import annotations

import json
import logging
import threading
import time
import uuid
import weakref
from collections.abc import Callable, Generator, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cache, partial
from typing import TYPE_CHECKING, Any

from app.examples import load_examples
from app.format import lane_name
from app.host import Host
from app.job import Job
from app.journal import log_run
from app.kept import Kept
from app.settings import Settings
from app.talk import Talk
from app.troubles import INTERNAL, Trouble
from glance.config import AUTO
from glance.documents.intake import Document, DocumentError, check_question
from glance.drafters.load import PLAIN, ready_names
from glance.prefix_cache import PrefixCache
from glance.replay import lanes
from glance.trace import Line, dumps

if TYPE_CHECKING:
    from glance.budget import CostProfile
    from glance.drafters.base import Drafter

#: decodes a question about one page or two: (pages, question, settings, run) and, where there is a
#: conversation, its talk. None among the lines says only that Stop can be heard there
Runner = Callable[..., Iterator[Line | None]]

#: the model that this server runs
TARGET = "embedded"
#: the drafters that are there, and the lanes that a run has unless others are chosen
DRAFTERS = ready_names()
LANES = (DRAFTERS[0], PLAIN)
MEASURED = 48  # tokens of the run that tells how fast this machine is
READING, DECODING = "Reading the page…", "Decoding…"
YIELD_S = 0.1  # at most ten updates a second
MAX_WARM = 8  # conversations whose page the model need not read again: about 15 MB each
MAX_WAITING = 8  # runs behind the one that decodes
MAX_RUNS = MAX_WAITING + 2  # those and the one that decodes, and one more to be told of the queue
FULL = Trouble("The server is busy and its queue is full: please try again in a minute.", "busy")
NO_MODEL = Trouble(
    "There is no working model on this machine: recorded runs can still be replayed.", "missing"
)
NO_DOCUMENT = "There is no document yet: choose a file or one of the examples."

log = logging.getLogger(__name__)


def load_runner(host: Host | None = None, gpu_is_lent: bool = False) -> Runner:
    """The shipped target and drafters, loaded; the one place that knows where they come from.

    Args:
        host: learns how fast this machine is, by a short run of the first example.
        gpu_is_lent: there is a GPU only while a run decodes, so nothing is computed before.
    """

    from glance.ask import ask, warm_up
    from glance.config import DecodeConfig
    from glance.drafters.load import load_drafter
    from glance.engine.choose import best_device
    from glance.profiling import measuring_costs
    from glance.targets.load import load_target

    target = load_target(TARGET, device=best_device())

    @cache
    def loaded(name: str) -> Drafter | None:
        return load_drafter(name, target)

    warm: dict[str, Drafter | None] = {}
    profiles: dict[str, CostProfile] = {}

    # These take the first run that needs them seconds: in pieces, between which Stop is heard.

    def drafter(name: str) -> Generator[None, None, Drafter | None]:
        """Loaded and warm."""
        if name not in warm:
            cold = loaded(name)
            yield
            warm_up(target, [cold])
            warm[name] = cold
            yield
        return warm[name]

    def costs(name: str) -> Generator[None, None, CostProfile]:
        """Of rounds with this drafter, on this machine."""
        if name not in profiles:
            measured = yield from drafter(name)
            profiles[name] = yield from measuring_costs(target, measured)
        return profiles[name]

    def run(
        documents: Sequence[Document],
        question: str,
        settings: Settings,
        run_id: str,
        talk: Talk | None = None,
    ) -> Iterator[Line | None]:
        own: dict[str, CostProfile] = {}
        if settings.node_budget == AUTO:
            for name in [name for name in settings.lanes if name != PLAIN] or [PLAIN]:
                own[name] = yield from costs(name)
        config = DecodeConfig(
            node_budget=settings.node_budget,
            max_new_tokens=settings.max_tokens,
            temperature=settings.temperature,
            seed=settings.seed,
            costs=next(iter(own.values()), None),
        )
        lanes = []
        for name in settings.lanes:
            lanes.append((yield from drafter(name)))
        history, prefixes = (talk.turns, talk.prefixes) if talk else ((), None)
        yield from ask(
            target,
            lanes,
            documents,
            question,
            config,
            run_id,
            history,
            prefixes=prefixes,
            costs=own,
        )

    for name in LANES:
        loaded(name)
        if not gpu_is_lent:
            list(drafter(name))  # all pieces of it
    if host and not gpu_is_lent:
        short = Settings(LANES, max_tokens=MEASURED)
        for example in load_examples()[:1]:
            lines = run([example.document()], example.question, short, "measured")
            host.learn([line for line in lines if line is not None])
    return run


@dataclass(frozen=True, slots=True)
class Update:
    """What is new of a run."""

    run: str
    phase: str  # waiting, running, done or error
    text: str  # in words
    level: str = "info"  # or warning, error
    lines: Sequence[Line] = ()  # of its trace, since the last update

    @property
    def ended(self) -> bool:
        """Whether nothing more will come."""
        return self.phase in ("done", "error")


class Session:
    """The model of this server and the queue in front of it."""

    def __init__(self, load: Callable[[], Runner] | None = None, host: Host | None = None) -> None:
        self.host = host or Host()
        self._load = load or (lambda: load_runner(self.host))
        self._runner: Runner | None = None
        self._loaded = threading.Event()
        self._queue: list[str] = []  # run ids, the one that decodes first
        self._changed = threading.Condition()
        self._warm: list[weakref.ref[PrefixCache]] = []  # who asked last stands last
        self._kept = Kept()
        self._since = time.monotonic()

    def start(self) -> None:
        """Load the model in the background."""
        threading.Thread(target=self.load, name="load-model", daemon=True).start()

    def load(self) -> None:
        """Load the model; where that fails, recorded runs are all there is."""
        try:
            self._runner = self._load()
        except Exception:
            log.exception("the model could not be loaded")
        finally:
            self._loaded.set()
        log.info("model %s", json.loads(self.status())["phase"])

    def status(self) -> str:
        """Value of the status region."""
        if not self._loaded.is_set():
            phase, text = "loading", "Model loading…"
        elif self._runner is None:
            phase, text = "missing", "Replay only: no model"
        else:
            phase, text = "ready", "Model ready"
        if device := self.host.device:
            text += f" on {device}"
        # of the plain lane, which says most of the machine, or else of what has run here
        for lane in [PLAIN, *self.host.measured()]:
            if ms := self.host.write_ms(lane):
                way = "token by token" if lane == PLAIN else f"with {lane_name(lane)}"
                text += f": {ms:.1f} ms a token, {way}"
                break
        return json.dumps({"phase": phase, "text": text})

    @property
    def settled(self) -> bool:
        """Whether the model is loaded, or has failed to."""
        return self._loaded.is_set()

    def trace(self, run: str) -> str | None:
        """The trace of a run of the last ten minutes, as far as it came."""
        return self._kept.get(run)

    def health(self) -> dict[str, Any]:
        """What a monitor needs to know: plain counts, nothing of any document."""
        with self._changed:
            waiting = max(len(self._queue) - 1, 0)
            running = bool(self._queue)
        return {
            "model": json.loads(self.status())["phase"],
            "running": int(running),
            "waiting": waiting,
            "most_waiting": MAX_WAITING,
            "up_s": round(time.monotonic() - self._since, 1),
        }

    def run(
        self,
        documents: Sequence[Document],
        question: str,
        settings: Settings,
        source: str = "page",  # or api; for the log
        talk: Talk | None = None,  # that it goes on; gets the answer
    ) -> Generator[Update, None, None]:
        """Updates of one run, in words where it cannot be done. Closing the iterator stops it."""
        run = uuid.uuid4().hex[:12]
        record = _Record(run, source)
        try:
            if not documents:
                raise DocumentError(NO_DOCUMENT)
            question = check_question(question)
        except DocumentError as error:
            yield record.refused(Trouble(str(error), "refused"))
            return
        with self._changed:
            full = len(self._queue) > MAX_WAITING
            if not full:
                self._queue.append(run)
        if full:
            yield record.refused(FULL)
            return
        job = Job()
        try:
            yield from self._wait(run)
            if self._runner is None:
                yield record.failed(NO_MODEL)
                return
            decode = partial(self._runner, documents, question, settings, run)
            if talk:
                self._keep_warm(talk.prefixes)
                decode = partial(decode, talk)
            record.started = time.monotonic()
            job.start(decode, lambda: self._leave(run))
            for update in record.follow(job):
                if talk and update.phase == "done":
                    talk.latest = (question, next(iter(lanes(record.lines).values())).text)
                yield update
        finally:
            job.stop.set()
            if not job.started:
                self._leave(run)
            if record.lines:
                self._kept.put(run, "".join(dumps(line) + "\n" for line in record.lines))
                self.host.learn(record.lines)
            record.log()

    def _keep_warm(self, prefixes: PrefixCache) -> None:
        """Let a conversation keep its rows; of too many, the one that asked longest ago cannot."""
        warm = [each for each in self._warm if each() not in (None, prefixes)]
        warm.append(weakref.ref(prefixes))
        for each in warm[:-MAX_WARM]:
            if (oldest := each()) is not None:
                oldest.clear()
        self._warm = warm[-MAX_WARM:]

    def _wait(self, run: str) -> Generator[Update, None, None]:
        while True:
            with self._changed:
                ahead = self._queue.index(run)
                if ahead:
                    self._changed.wait(0.2)
            if ahead:
                runs = "1 run is" if ahead == 1 else f"{ahead} runs are"
                yield Update(run, "waiting", f"Waiting: {runs} ahead of yours.")
            elif not self._loaded.wait(0.2):
                yield Update(run, "waiting", "The model is still loading: your run starts then.")
            else:
                return

    def _leave(self, run: str) -> None:
        with self._changed:
            self._queue.remove(run)
            self._changed.notify_all()


class _Record:
    """What is known of one run: when it came and started, its lines, how it went."""

    def __init__(self, run: str, source: str) -> None:
        self.run, self.source = run, source
        self.came = time.monotonic()
        self.started: float | None = None
        self.lines: list[Line] = []
        self.outcome = "stopped"  # unless it comes to an end

    def failed(self, trouble: Trouble) -> Update:
        """The last update of a run that did not end well."""
        self.outcome = trouble.outcome
        level = "warning" if trouble.outcome in ("busy", "missing") else "error"
        return Update(self.run, "error", trouble.text, level)

    def refused(self, trouble: Trouble) -> Update:
        """The only update of a run that never came to wait."""
        update = self.failed(trouble)
        self.log()
        return update

    def follow(self, job: Job) -> Generator[Update, None, None]:
        """Updates of a running job, at most ten a second."""
        yield Update(self.run, "running", READING)
        ended = False
        while not ended:
            fresh, ended = job.read(YIELD_S)
            self.lines += fresh
            if not ended:
                yield Update(self.run, "running", DECODING if self.lines else READING, lines=fresh)
        if job.trouble or not self.lines:
            yield replace(self.failed(job.trouble or INTERNAL), lines=fresh)
        else:
            self.outcome = "done"
            yield Update(self.run, "done", "Done.", lines=fresh)

    def log(self) -> None:
        """Write the run's line into the log."""
        now = time.monotonic()
        started = now if self.started is None else self.started
        log_run(
            self.run,
            self.outcome,
            source=self.source,
            waited_ms=1000 * (started - self.came),
            ms=1000 * (now - started),
            lines=self.lines,
        )
