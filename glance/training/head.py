"""Train drafters' heads on the target's own answers, each in the same way.

The target answers pages for at most a part of the time, once for all heads; it never changes. Then
every head learns until validation is flat or its share of the time is up. In `out`:

    answers-*/      the records, see `glance.training.corpus`
    NAME/           a run each, see `glance.training.loop`; the finished head is in NAME/head
"""

from __future__ import annotations

import os
import time
from collections.abc import Sequence
from contextlib import nullcontext
from functools import partial
from pathlib import Path

import torch

from glance.heads.config import HeadError
from glance.targets.load import load_target
from glance.training.card import card
from glance.training.corpus import answering, gather, sample_answer
from glance.training.loop import SEED, HeadTraining
from glance.training.recipes import RECIPES, all_taps
from glance.training.say import say

ANSWERING = 0.25  # of the time, at most


def train(
    drafters: Sequence[str],
    target: str,
    out: Path,
    minutes: float,
    resume: bool = False,
    device: str = "auto",
    start: Path | None = None,
) -> list[Path]:
    """Train heads for `minutes` in all, shared out evenly; what one leaves goes to the others.

    Args:
        drafters: names of RECIPES; `glance-chain` uses the head of `glance`.
        target: name or folder, as for `load_target`.
        out: folder for records, checkpoints and the finished heads.
        minutes: wall-clock time, that of a resumed run included.
        resume: go on from the checkpoints in `out`; of several heads some may have none yet.
        device: a torch device, or "auto" for a GPU when there is one.
        start: folder of a finished head to go on from, whatever target it was made for; a resumed
            run has its own weights and leaves this alone.

    Returns:
        The folders of the finished heads.

    Raises:
        HeadError: another drafter, no checkpoint to resume or one made for another target, no
            head to start from or one of other shapes, or too little time.
    """
    if unknown := [name for name in drafters if name not in RECIPES]:
        raise HeadError(f"There is no training for {unknown[0]!r}: choose {', '.join(RECIPES)}.")
    begun = [name for name in drafters if (out / name / "state.json").is_file()]
    if resume and not begun:
        raise HeadError(f"There is no checkpoint to resume in {out}.")
    if device == "auto":
        device = "cuda" if torch.cuda.is_available() else "cpu"
    loaded, began = load_target(target, device=device), time.monotonic()
    torch.set_num_threads(max(1, (os.cpu_count() or 1) - 1))  # one core answers pages
    corpus = gather(loaded, target, out, all_taps(loaded), 60 * minutes * ANSWERING)
    say(f"{len(corpus.pages)} pages, {corpus.tokens('greedy')} answer tokens for every head")
    left = 60 * minutes - (time.monotonic() - began)
    which = f"--drafter {drafters[0]}" if len(drafters) == 1 else "--all"
    command = f"python -m glance train head {which} --minutes {minutes:g}"

    drawing = partial(sample_answer, folder=corpus.folder, taps=RECIPES["vispec"].taps(loaded))
    needed = any("sampled" in RECIPES[name].stages for name in drafters)
    folders = []
    with answering(target, drawing, corpus.pages) if needed else nullcontext():
        for number, name in enumerate(drafters):
            torch.manual_seed(SEED)
            run = HeadTraining(
                RECIPES[name](loaded, corpus), corpus, out / name, resume and name in begun, start
            )
            folder = run.run(left / (len(drafters) - number))
            (folder / "README.md").write_text(card(run, command), encoding="utf-8")
            left -= run.progress.seconds
            folders.append(folder)
    return folders
