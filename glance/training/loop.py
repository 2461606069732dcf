"""The loop that trains any head: learning rate search, steps until flat, checkpoints, export.

In the folder of a run:

    state.*         weights, optimizer and progress: the checkpoint, one file that appears whole
    curve.*         what every validation found
    head/           the head as it was at the last validation; with its card when it is finished
"""

from __future__ import annotations

import json
import math
import random
import shutil
import time
from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass, field
from functools import cached_property
from pathlib import Path
from typing import Any

import torch
from safetensors import SafetensorError, safe_open
from safetensors.torch import load_file, save_file
from torch import Tensor

from glance.drafters.load import load_drafter
from glance.heads.config import HeadError
from glance.together import agree, gathered, is_first, processes, share, wait
from glance.training.capture import Record
from glance.training.corpus import Answers, Corpus
from glance.training.curve import DRAFTING, write_curve
from glance.training.optimizer import MuonAdamW
from glance.training.plateau import Plateau
from glance.training.recipe import Recipe
from glance.training.replayed import Replayed, replay
from glance.training.say import say

SEED = 0
PAGES_A_STEP = 8
RATES = (1.5e-4, 5e-4, 1.5e-3, 4.5e-3)  # tried for a head; AdamW's, see MuonAdamW
SEARCH_STEPS = 100  # of each trial
SEARCH_SHARE = 0.2  # of a stage's time, at most, for all trials
WARM_UP = 50  # steps
QUESTIONS = 2  # of a validation page every second one is replayed: there are about nine
SAVE_EVERY = 180.0  # seconds
REPORT_EVERY = 15.0  # seconds


CHECKPOINT = "state.safetensors"


@dataclass(slots=True)
class Stage:
    """One stage of a run, so far."""

    answers: Answers
    begun: float  # seconds of the run before it
    tried: list[tuple[float, float]] = field(default_factory=list)  # rate, tau after its trial
    rate: float = 0.0  # the best of them
    steps: int = 0
    plateau: Plateau = field(default_factory=Plateau)
    ended: str = ""  # why, once it has


@dataclass(slots=True)
class Progress:
    """What a resumed run needs beside the weights."""

    target_revision: str
    answer_tokens: int  # of the corpus
    seconds: float = 0.0  # spent so far
    stages: list[Stage] = field(default_factory=list)
    curve: list[dict[str, float | str]] = field(default_factory=list)
    validation: str = ""  # what the last one found
    start: str = ""  # folder or hub id of the head whose weights it began with
    start_revision: str = ""  # hash of those weights
    without: str = ""  # the part that its recipe leaves out

    @property
    def steps(self) -> int:
        """Of all stages."""
        return sum(stage.steps for stage in self.stages)


class HeadTraining:
    """One run: a recipe's head, its optimizer and its records; the same in all processes.

    Raises:
        HeadError: no checkpoint to resume, or one of another target or corpus.
    """

    def __init__(
        self,
        recipe: Recipe,
        corpus: Corpus,
        folder: Path,
        resume: bool = False,
        start: str = "",  # what people call the finished head that the recipe was given
        rates: Sequence[float] = (),  # learning rates to try, RATES unless given
    ) -> None:
        self.recipe = recipe
        self._to_try = rates or RATES
        self.corpus = corpus
        self.folder = folder
        self.target = recipe.target
        self.taps = recipe.taps(self.target, recipe.head)
        self.progress = Progress(
            self.target.revision, corpus.tokens("greedy"), without=recipe.without
        )
        self.optimizer = self._fresh_optimizer()
        self._check_seconds = 0.0  # of the last validation
        folder.mkdir(parents=True, exist_ok=True)
        if resume:
            self._load()
        elif start:
            self.progress.start, self.progress.start_revision = start, recipe.head.revision()
        self._clock_began = time.monotonic() - self.progress.seconds
        self._draw = random.Random(SEED + self.progress.steps)

    @cached_property
    def validation(self) -> list[Record]:
        """Records that are never learned from, this process's share."""
        return self.corpus.validation()

    def run(self, seconds: float) -> Path:
        """Train until flat or until `seconds` are spent, resumed runs included.

        A run whose time was up goes on in its last stage when it is resumed with more.

        Returns:
            The folder of the head.

        Raises:
            HeadError: the time was up before the answers were there.
        """
        recipe, progress = self.recipe, self.progress
        if "sampled" in recipe.stages:
            self.corpus.sample(self.target, self.taps, seconds - progress.seconds)
        if progress.stages:
            spent = f"{progress.seconds / 60:.1f} of {seconds / 60:.1f} min"
            self._say(f"resumed after {progress.steps} steps and {spent}")
            if not progress.stages[-1].plateau.is_over():
                progress.stages[-1].ended = ""
        for number, answers in enumerate(recipe.stages):
            if number == len(progress.stages):
                progress.stages.append(Stage(answers, begun=self._now()))
            tokens = self.corpus.tokens(answers)
            self._say(f"{len(self.corpus.pages)} pages, {tokens} answer tokens ({answers})")
            stage = progress.stages[number]
            if stage.ended:
                self._say(f"ended after {stage.steps} steps, {stage.ended}")
            else:
                self._teach(stage, seconds * (number + 1) / len(recipe.stages))
        return self.head

    @property
    def head(self) -> Path:
        """Where the head is written."""
        return self.folder / "head"

    def _teach(self, stage: Stage, until: float) -> None:
        """Search, then step, until it is flat or `until` seconds of the run."""
        plateau, said = stage.plateau, -math.inf
        if not stage.tried:
            self._search(stage, until)
        elif (now := self._now()) < until:
            plateau.resume(stage.steps, (now - stage.begun) / (until - stage.begun))
        saved = self._now()
        while not plateau.is_over() and (now := self._now()) + self._check_seconds < until:
            factor = plateau.advance(stage.steps, (now - stage.begun) / (until - stage.begun))
            loss = self.step(stage.answers, stage.rate * factor)
            stage.steps += 1
            if now - said > REPORT_EVERY:
                said = now
                self._say(f"step {stage.steps}  loss {loss:.3f}  {(until - now) / 60:.1f} min left")
            if stage.steps >= plateau.next_check():
                self._note(stage, stage.rate * factor, self.validate())
                saved = now
            elif now - saved > SAVE_EVERY:
                self.save()
                saved = now
        if plateau.points[-1][0] < stage.steps:
            self._note(stage, stage.rate * plateau.factor, self.validate())
        stage.ended = "flat" if plateau.is_over() else "the time was up"
        if (gain := plateau.gain()) is not None:
            stage.ended += f": tau gained {gain[0]:.1%} since step {gain[1]}"
        self._say(f"{stage.answers}: {stage.ended}")
        self.save()

    def _search(self, stage: Stage, until: float) -> None:
        """Short runs from the same weights, one a rate; go on from the best."""
        weights = {name: p.detach().clone() for name, p in self.recipe.head.named_parameters()}
        each, most = SEARCH_SHARE * (until - stage.begun) / len(self._to_try), SEARCH_STEPS
        found: tuple[Replayed, dict[str, Tensor]] | None = None
        for rate in self._to_try:
            self._restore(weights)
            begun, steps = self._now(), 0
            # the first trial may run out of time; the others get as many steps
            while steps < most and (stage.tried or steps == 0 or self._now() - begun < each):
                self.step(stage.answers, rate * min(1.0, (steps + 1) / WARM_UP))
                steps += 1
            most, result = steps, self.validate()
            stage.tried.append((rate, result.tau))
            self._say(f"learning rate {rate:g}: tau {result.tau:.3f} after {steps} steps")
            if found is None or result.tau > found[0].tau:
                found, stage.rate = (result, self._snapshot()), rate
        assert found is not None
        self._restore(found[1])
        self._write()
        stage.steps = most
        self._note(stage, stage.rate, found[0])

    def step(self, answers: Answers, rate: float) -> float:
        """One update from the same pages however many processes share them; the loss.

        Raises:
            HeadError: no page has an answer of more than a token; all processes say so.
        """
        count = max(PAGES_A_STEP, processes())
        numbers = self._draw.choices(self.corpus.teaching(answers), k=count)
        seeds = [self._draw.getrandbits(48) for _ in numbers]
        own = [
            (self.corpus.load(answers, number).tapped(self.taps), seed)
            for number, seed in share(list(zip(numbers, seeds, strict=True)))
        ]
        losses: list[float] = []

        def parts() -> Iterator[Tensor]:
            """Losses whose mean over the processes is the mean over all records."""
            size = 1 if self.corpus.apart or processes() > 1 else len(own)
            for at in range(0, len(own), size):
                records = [record for record, _ in own[at : at + size]]
                self.recipe.generator.manual_seed(own[at][1])
                with torch.autocast(self.target.device.type, dtype=torch.bfloat16):
                    loss = self.recipe.loss(records, answers)
                losses.append(loss.item() * len(records) / count)
                yield loss * (len(records) * processes() / count)

        self.optimizer.step(parts(), [rate])
        return sum(sum(one) for one in gathered(losses))

    def validate(self) -> Replayed:
        """Write the head, load it as a drafter does, and replay rounds on validation pages."""
        begun = time.monotonic()
        self._write()
        wait()
        drafter = load_drafter(self.recipe.name, self.target, self.head)
        assert drafter is not None
        own = replay(drafter, self.target, self.validation, QUESTIONS)
        (self._check_seconds,) = agree(time.monotonic() - begun)
        return Replayed.summed(gathered(own))

    def _write(self) -> None:
        if is_first():
            self.recipe.write(self.head)

    def _note(self, stage: Stage, rate: float, result: Replayed) -> None:
        """Add a validation to the curve; save."""
        progress = self.progress
        stage.plateau.points.append((stage.steps, result.tau))
        progress.validation = str(result)
        progress.curve.append(
            {
                "minutes": round(self._now() / 60, 2),
                "answers": stage.answers,
                "steps": stage.steps,
                "rate": rate,
                "tau": round(result.tau, 4),
            }
        )
        self._say(f"step {stage.steps}  validation {result}")
        self.save()
        if not is_first():
            return
        lines = "".join(json.dumps(point) + "\n" for point in progress.curve)
        (self.folder / "curve.jsonl").write_text(lines, encoding="utf-8")
        write_curve(self.folder, DRAFTING)
        for name in ("curve.jsonl", "curve.svg"):
            shutil.copy(self.folder / name, self.head)

    def _now(self) -> float:
        """Seconds of the run, by the first process's clock: all decide alike."""
        return agree(time.monotonic() - self._clock_began)[0]

    def _say(self, text: str) -> None:
        if is_first():
            say(f"{self.recipe.name}: {text}")

    # --- checkpoint: plain tensors and JSON

    def save(self) -> None:
        """Write the checkpoint."""
        self.progress.seconds = self._now()
        if not is_first():
            return
        partial = self.folder / "state.partial"
        tensors = {**self._snapshot(), **self._buffers()}
        save_file(tensors, partial, {"progress": json.dumps(asdict(self.progress))})
        partial.replace(self.folder / CHECKPOINT)

    def _load(self) -> None:
        progress, tensors = read_progress(self.folder), load_file(self.folder / CHECKPOINT)
        if progress.target_revision != self.target.revision:
            raise HeadError(
                f"The checkpoint was trained on target {progress.target_revision}, "
                f"not {self.target.revision}: start afresh in another folder."
            )
        if progress.answer_tokens != self.progress.answer_tokens:
            raise HeadError(
                f"The checkpoint in {self.folder} was trained on other answers: start afresh."
            )
        if progress.without != self.recipe.without:
            made = f"without its {progress.without}" if progress.without else "whole"
            raise HeadError(f"The head in {self.folder} is trained {made}: resume it like that.")
        self.progress = progress
        for name, buffer in self._buffers().items():
            buffer.copy_(tensors[name])
        self._restore(tensors)

    def _buffers(self) -> dict[str, Tensor]:
        return dict(self.recipe.head.named_buffers())

    def _snapshot(self) -> dict[str, Tensor]:
        return self.optimizer.tensors(self.recipe.head.named_parameters())

    def _restore(self, tensors: dict[str, Tensor]) -> None:
        """Weights, and the optimizer's state where `tensors` have any."""
        self.optimizer = self._fresh_optimizer()
        self.optimizer.load(self.recipe.head.named_parameters(), tensors)

    def _fresh_optimizer(self) -> MuonAdamW:
        return MuonAdamW([list(self.recipe.head.parameters())], layers=self.recipe.layers())


def read_progress(folder: Path) -> Progress:
    """How far the run in a folder had come at its checkpoint.

    Raises:
        HeadError: it has none.
    """
    try:
        with safe_open(folder / CHECKPOINT, framework="pt") as file:
            raw = json.loads(file.metadata()["progress"])
    except (OSError, SafetensorError, KeyError, TypeError) as error:
        raise HeadError(f"There is no checkpoint to resume in {folder}.") from error
    return Progress(**{**raw, "stages": [_stage(each) for each in raw["stages"]]})


def _stage(raw: dict[str, Any]) -> Stage:
    """JSON knows no tuples."""
    plateau = Plateau(**raw["plateau"])
    plateau.points = [(steps, tau) for steps, tau in plateau.points]
    tried = [(rate, tau) for rate, tau in raw["tried"]]
    return Stage(**{**raw, "tried": tried, "plateau": plateau})
