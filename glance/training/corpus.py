"""What all heads learn from: one set of pages, answered once and kept on disk.

Answers are gathered until the time for them is up; from then on the set is closed, so heads trained
later, or in another run, get no other pages and no more tokens. Records hold the taps of all kinds
of head. In the folder:

    train-*, validation-*   a page each, all its questions answered greedily
    sampled-*               a training page each, its longest answer drawn at random instead
    corpus.json             which training pages there are; written when the set is closed
"""

from __future__ import annotations

import json
import time
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import partial
from multiprocessing import get_context, parent_process
from multiprocessing.synchronize import Event
from pathlib import Path
from typing import Literal

import torch
from safetensors import safe_open

from glance.documents.dataset import page
from glance.heads.config import HeadError
from glance.targets.base import Target
from glance.targets.load import load_target
from glance.together import share, wait
from glance.training.blocks import anchor_rows
from glance.training.capture import (
    Record,
    Sheet,
    Source,
    capture_page,
    load_answers,
    load_record,
    sample_page,
    save_record,
    without_end,
)
from glance.training.say import say
from glance.types import INPUT

LEAST_PAGES = 8  # however little time there is
MOST_PAGES = 2400  # 10 GB at about 1,200 rows and 7 taps of width 256 a page
VALIDATION_PAGES = 8
REPORT_EVERY = 15.0  # seconds

#: Which answers: all of them greedy; a sampled one a page; of the greedy ones as many tokens as
#: make the same total with the sampled ones, page by page, but all of a page where no draft could
#: begin in what that leaves, as with one short question.
Answers = Literal["greedy", "sampled", "rest"]
#: Gives a record of a page its taps, which are not on disk; the number is that of the question in
#: segment 1, from 0 on.
Online = Callable[[Sheet, Record, int], Record]
#: Answers a page, unless it is answered already.
Work = Callable[[Target, int], None]


@dataclass(slots=True)
class Corpus:
    """The closed set."""

    folder: Path
    target_revision: str
    pages: dict[int, int]  # answer tokens of each training page, by its number
    counts: dict[int, int]  # how often the answers have each token
    seconds: float  # spent on the answers
    sampled: dict[int, int] = field(default_factory=dict)  # tokens of each page's sampled answer
    uncut: set[int] = field(default_factory=set)  # pages with all greedy tokens among the rest
    source: Source = page
    apart: bool = False  # records are learned from one at a time, as those of large targets must
    online: Online | None = None  # the records here have no taps: every load takes them anew

    def tokens(self, answers: Answers) -> int:
        """Answer tokens of all pages."""
        whole, drawn = sum(self.pages.values()), sum(self.sampled.values())
        rest = whole - drawn + sum(self.sampled[number] for number in self.uncut)
        return {"greedy": whole, "sampled": drawn, "rest": rest}[answers]

    def teaching(self, answers: Answers) -> list[int]:
        """The training pages that have a token which a draft can begin from.

        Raises:
            HeadError: there is none.
        """
        if answers != "sampled":
            return list(self.pages)
        pages = [number for number in self.pages if self.sampled[number] > 1]
        if not pages:
            raise HeadError("All sampled answers are single tokens: nothing to learn.")
        return pages

    def load(self, answers: Answers, number: int) -> Record:
        """A training page's record.

        Raises:
            HeadError: another target has answered.
        """
        split = "sampled" if answers == "sampled" else "train"
        record = self._read(split, number)
        if answers != "rest" or number in self.uncut:
            return record
        return record.without_end(self.sampled[number])

    def validation(self) -> list[Record]:
        """The records that no head learns from; this process's share of them."""
        files = sorted(self.folder.glob("validation-*.safetensors"))
        numbers = [int(file.stem.removeprefix("validation-")) for file in files]
        return [self._read("validation", number) for number in share(numbers)]

    def sample(self, target: Target, taps: Sequence[int], seconds: float) -> None:
        """See that all pages have their sampled answer; another process may be at it as well.

        Raises:
            HeadError: the time was up before.
        """
        until = time.monotonic() + seconds
        taps = () if self.online else taps
        for number in share(list(reversed(self.pages))):
            if record_path(self.folder, "sampled", number).exists():
                continue
            if time.monotonic() > until:
                raise HeadError(
                    "The time was up before all pages had a sampled answer: resume with more of it."
                )
            sample_answer(target, number, folder=self.folder, taps=taps, source=self.source)
        wait()
        self.sampled = {
            number: len(load_answers(record_path(self.folder, "sampled", number)))
            for number in self.pages
        }
        self.uncut = {
            number
            for number, drawn in self.sampled.items()
            if not _teaches(record_path(self.folder, "train", number), less=drawn)
        }

    def _read(self, split: str, number: int) -> Record:
        record = self._stored(split, number)
        if self.online is None:
            return record
        if split != "sampled":
            return self.online(self.source(split, number), record, 0)
        asked = self._stored("train", number).longest() - 1
        return self.online(self.source("train", number), record, asked)

    def _stored(self, split: str, number: int) -> Record:
        path = record_path(self.folder, split, number)
        record = load_record(path)
        if record.target_revision != self.target_revision:
            raise HeadError(
                f"{path} has answers of target {record.target_revision}, "
                f"not of {self.target_revision}."
            )
        return record


def gather(target: Target, name: str, out: Path, taps: Sequence[int], seconds: float) -> Corpus:
    """The corpus in `out`; answers are gathered in two processes where there is none.

    Args:
        target: the model that answers; `name` loads it once more for the other process.
        taps: of the records.
        seconds: time for the answers; fewer than `LEAST_PAGES` are never gathered.
    """
    folder = out / folder_name(target, taps)
    closed = folder / "corpus.json"
    if not closed.exists():
        folder.mkdir(parents=True, exist_ok=True)
        begun = said = time.monotonic()
        work = partial(greedy_answers, folder=folder, taps=tuple(taps))
        for number in range(VALIDATION_PAGES):
            work(target, number, split="validation")
        with answering(name, work, range(MOST_PAGES)):
            for number in reversed(range(MOST_PAGES)):
                now, done = time.monotonic(), len(list(folder.glob("train-*.safetensors")))
                if now - begun > seconds and done >= LEAST_PAGES:
                    break
                work(target, number)
                if now - said > REPORT_EVERY:
                    said = now
                    say(f"{done} pages answered")
        close(closed, time.monotonic() - begun)
    return opened(closed, target)


def folder_name(target: Target, taps: Sequence[int]) -> str:
    """Where the records of a target with these taps lie."""
    named = "-".join("in" if tap == INPUT else str(tap) for tap in taps) or "online"
    return f"answers-{target.revision or 'unnamed'}-{named}"


def opened(closed: Path, target: Target) -> Corpus:
    """The corpus whose `corpus.json` this is.

    Raises:
        HeadError: there is nothing in it to learn from.
    """
    raw = json.loads(closed.read_text(encoding="utf-8"))
    if not raw["pages"]:
        raise HeadError(f"{target.name} answers with single tokens: nothing to learn.")
    return Corpus(
        closed.parent,
        target.revision,
        pages={int(number): tokens for number, tokens in raw["pages"].items()},
        counts={int(token_id): count for token_id, count in raw["counts"].items()},
        seconds=raw["seconds"],
    )


def close(path: Path, seconds: float) -> None:
    """Write `corpus.json`: from now on the records there are the set."""
    pages: dict[int, int] = {}
    counts: Counter[int] = Counter()
    for record in sorted(path.parent.glob("train-*.safetensors")):
        if not _teaches(record):
            continue
        answers = load_answers(record).tolist()
        pages[int(record.stem.removeprefix("train-"))] = len(answers)
        counts.update(answers)
    raw = {"pages": pages, "counts": dict(sorted(counts.items())), "seconds": round(seconds)}
    partial_file = path.with_suffix(".partial")
    partial_file.write_text(json.dumps(raw) + "\n", encoding="utf-8")
    partial_file.replace(path)


def _teaches(path: Path, less: int = 0) -> bool:
    """Whether a record has a token that a draft can begin from, without so many at the end."""
    with safe_open(path, framework="pt") as file:
        answer, segments = file.get_tensor("answer"), file.get_tensor("segments")
    return len(anchor_rows(without_end(answer, segments, less), segments)) > 0


def record_path(folder: Path, split: str, number: int) -> Path:
    """Where the record of a page lies."""
    return folder / f"{split}-{number:05d}.safetensors"


def greedy_answers(
    target: Target,
    number: int,
    *,
    folder: Path,
    taps: Sequence[int],
    split: str = "train",
    source: Source = page,
) -> None:
    """Answer all questions of a page, unless that is done."""
    path = record_path(folder, split, number)
    if not path.exists():
        save_record(capture_page(target, source(split, number), taps), path)


def sample_answer(
    target: Target, number: int, *, folder: Path, taps: Sequence[int], source: Source = page
) -> None:
    """Draw an answer to one question of a training page, unless that is done."""
    path = record_path(folder, "sampled", number)
    if not path.exists():
        greedy = load_record(record_path(folder, "train", number))
        save_record(sample_page(target, source("train", number), taps, greedy), path)


@contextmanager
def answering(target: str, work: Work, numbers: Iterable[int]) -> Iterator[None]:
    """Work through pages in another process, on one core, while the body runs.

    target: name or folder, for load_target.
    """
    context = get_context("spawn")
    stop = context.Event()
    worker = context.Process(target=_answer, args=(target, work, list(numbers), stop), daemon=True)
    worker.start()
    try:
        yield
    finally:
        stop.set()
        worker.join()


def _answer(target: str, work: Work, numbers: list[int], stop: Event) -> None:
    torch.set_num_threads(1)
    loaded, parent = load_target(target), parent_process()
    for number in numbers:
        if stop.is_set() or (parent is not None and not parent.is_alive()):
            return
        work(loaded, number)
