"""Train drafters' heads on the target's own answers, each in the same way.

The target answers questions for at most a part of the time, once for all heads; it never changes.
The questions are about generated pages or, for any target, about the images of a data file; then
several processes may share the work (`glance.together`). Then every head learns until
validation is flat or its share of the time is up. In `out`:

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
from glance.heads.files import head_folder
from glance.targets.load import load_target
from glance.together import agree, is_first, own_device, processes
from glance.training.card import card
from glance.training.corpus import answering, gather, sample_answer
from glance.training.data_corpus import DataFile, gather_data
from glance.training.loop import CHECKPOINT, SEED, HeadTraining
from glance.training.recipe_glance import deepened, new_head
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
    data: Path | None = None,
    *,
    online: bool = False,
    max_pixels: int | None = None,
    without: str = "",
    rates: Sequence[float] = (),
    draft_layers: int | None = None,
) -> list[Path]:
    """Train heads for `minutes` in all, shared out evenly; what one leaves goes to the others.

    Args:
        drafters: names of RECIPES; `glance-chain` uses the head of `glance`.
        target: name or folder, as for `load_target`.
        out: folder for records, checkpoints and the finished heads.
        minutes: wall-clock time, that of a resumed run included, but for its answers.
        resume: go on from the checkpoints in `out`, with the time that is left; of several heads
            some may have none yet, and one that validation was flat for stays as it is.
        device: a torch device, or "auto" for a GPU when there is one.
        start: folder of a finished head to go on from, or OWNER/NAME of one on the hub, whatever
            target it was made for, if width and vocabulary are the same; its shape and the layers
            that it reads stay. A resumed run has its own weights and leaves this alone.
        data: JSONL file of questions (`glance.documents.examples`) in place of generated pages.
        online: with data: keep no taps on disk, the target gives them at every step.
        max_pixels: with data: images are scaled down to so many.
        without: the part of the recipe to leave out, one of its `parts`.
        rates: learning rates to try in place of the loop's own.
        draft_layers: of the `glance` head, in place of its recipe's or of those that `start` has,
            which may be fewer.

    Returns:
        The folders of the finished heads.

    Raises:
        HeadError: another drafter, part or depth, no checkpoint to resume or one made for another
            target, no head to start from or one that does not fit, too little time, or several
            processes without a data file.
        DataError: the data file cannot be used.
    """
    if unknown := [name for name in drafters if name not in RECIPES]:
        raise HeadError(f"There is no training for {unknown[0]!r}: choose {', '.join(RECIPES)}.")
    for name in drafters:
        if without and without not in RECIPES[name].parts:
            parts = ", ".join(RECIPES[name].parts)
            raise HeadError(
                f"The {name} head has no part {without!r} to leave out: choose {parts}."
                if parts
                else f"The {name} head has no part to leave out."
            )
    if draft_layers and tuple(drafters) != ("glance",):
        raise HeadError("Only the glance head has as many layers as you like: name it alone.")
    begun = [name for name in drafters if (out / name / CHECKPOINT).is_file()]
    if resume and not begun:
        raise HeadError(f"There is no checkpoint to resume in {out}.")
    if data is None and processes() > 1:
        raise HeadError("Several processes train heads on a data file only: name it with --data.")
    asked = data and DataFile(data)  # refuse before a model loads
    begin = head_folder(start) if start else None  # likewise, and fetch
    if device == "auto":
        device = "cuda" if torch.cuda.is_available() else "cpu"
    # a target that people brought is as large as the card: half of it is enough to learn from
    dtype = torch.bfloat16 if asked and device == "cuda" else torch.float32
    loaded = load_target(target, dtype, own_device(device), max_pixels=max_pixels)
    given = {}  # before the answers: it decides which layers' outputs are kept with them
    for name in drafters:
        own = out / name / "head"
        folder = own if resume and name in begun and own.is_dir() else begin
        if folder:
            given[name] = RECIPES[name].given(loaded, folder, without)
    if draft_layers and not resume:
        torch.manual_seed(SEED)
        head = given.get("glance")
        given["glance"] = deepened(head, draft_layers) if head else new_head(loaded, draft_layers)
    began = time.monotonic()
    sampled = any("sampled" in RECIPES[name].stages for name in drafters)
    if asked:
        torch.set_num_threads(max(1, (os.cpu_count() or 1) // processes()))
        taps = all_taps(loaded, given, drafters)
        corpus = gather_data(
            loaded,
            asked,
            out,
            taps,
            60 * minutes * ANSWERING,
            online=online,
            sampled=sampled,
            max_pixels=max_pixels,
        )
    else:
        threads = torch.get_num_threads()
        torch.set_num_threads(max(1, threads - 1))  # one core answers pages
        corpus = gather(loaded, target, out, all_taps(loaded, given), 60 * minutes * ANSWERING)
        if not sampled:  # which another process draws during the training
            torch.set_num_threads(threads)
    if is_first():
        say(f"{len(corpus.pages)} pages, {corpus.tokens('greedy')} answer tokens for every head")
    (left,) = agree(60 * minutes - (time.monotonic() - began))
    which = f"--drafter {drafters[0]}" if len(drafters) == 1 else "--all"
    several = f"accelerate launch --num_processes {processes()}"
    launched = several if processes() > 1 else "python"
    command = f"{launched} -m glance train head {which} --minutes {minutes:g}"
    if data:
        command += f" --target {target} --data {data}"
        command += " --taps online" if online else ""
        command += f" --max-pixels {max_pixels}" if max_pixels else ""
    command += f" --without {without}" if without else ""
    command += f" --draft-layers {draft_layers}" if draft_layers else ""
    command += "".join(f" --rate {rate:g}" for rate in rates)

    drawing = partial(sample_answer, folder=corpus.folder, taps=RECIPES["vispec"].taps(loaded))
    folders = []
    with answering(target, drawing, corpus.pages) if sampled and not data else nullcontext():
        for number, name in enumerate(drafters):
            torch.manual_seed(SEED)
            run = HeadTraining(
                RECIPES[name](loaded, corpus, without, given.get(name)),
                corpus,
                out / name,
                resume and name in begun,
                str(start or ""),
                rates,
            )
            folder = run.run(left / (len(drafters) - number))
            if is_first():
                (folder / "README.md").write_text(card(run, command), encoding="utf-8")
            left -= run.progress.seconds
            folders.append(folder)
    return folders
