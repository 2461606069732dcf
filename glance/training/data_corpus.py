"""The corpus of a data file: a target's own answers to questions about images that people brought.

As `glance.training.corpus`, but for any target: records hold the taps of the heads to train alone,
or none, and then the target gives them online, again at every step; and every process answers
images of its own. The size of the records is said before the first.
"""

from __future__ import annotations

import hashlib
import math
import random
import shutil
import time
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path

from PIL import Image

from glance.documents.examples import by_image, read_examples
from glance.documents.intake import DocumentError, load_document
from glance.documents.page import Question
from glance.heads.config import HeadError
from glance.targets.base import Target
from glance.together import is_first, processes, share, wait
from glance.training.capture import LONGEST, read_again
from glance.training.corpus import (
    LEAST_PAGES,
    REPORT_EVERY,
    VALIDATION_PAGES,
    Corpus,
    close,
    folder_name,
    greedy_answers,
    opened,
)
from glance.training.say import say
from glance.types import PromptError

SEED = 0
PROBED = 4  # images whose prompts are counted to know the size of all records
HELD_OUT = 5  # of so many images at most one is for validation
BYTES = 2  # of a number of the taps: bfloat16
BESIDE = 57  # bytes a row beside the taps: seven whole numbers, three of them M-RoPE's, and a flag
GB = 1e9


@dataclass(frozen=True, slots=True)
class AskedImage:
    """One image and all questions about it, in the shape of a generated page."""

    index: int
    image: Image.Image  # mode RGB
    questions: tuple[Question, ...]


class DataFile:
    """The images of a data file in a random order; the first of them are for validation.

    Raises:
        DataError: the file cannot be used.
        HeadError: it has too few images to keep one for validation.
    """

    def __init__(self, file: Path) -> None:
        self._images = by_image(read_examples(file))
        random.Random(SEED).shuffle(self._images)
        self.validation = min(VALIDATION_PAGES, len(self._images) // HELD_OUT)
        if not self.validation:
            raise HeadError(
                f"{file} has {len(self._images)} images, fewer than the {HELD_OUT} needed."
            )
        self.tag = hashlib.sha256(file.read_bytes()).hexdigest()[:8]

    @property
    def training(self) -> int:
        """Images to learn from."""
        return len(self._images) - self.validation

    @property
    def questions(self) -> int:
        """About all images."""
        return sum(map(len, self._images))

    def __call__(self, split: str, number: int) -> AskedImage:
        """Image `number` of a split.

        Raises:
            DocumentError: its file cannot be read.
        """
        place = number if split == "validation" else self.validation + number
        asked = self._images[place]
        questions = tuple(Question(e.task, "", e.question, e.answer, ()) for e in asked)
        return AskedImage(place, load_document(asked[0].image).image, questions)


def gather_data(
    target: Target,
    data: DataFile,
    out: Path,
    taps: Sequence[int],
    seconds: float,
    *,
    online: bool = False,
    sampled: bool = False,
    max_pixels: int | None = None,
) -> Corpus:
    """The corpus in `out`; where there is none, the target answers first, in all processes.

    What is not answered then never is: a run that is resumed must find the answers it began with.

    Args:
        target: the model that answers.
        data: what is asked.
        taps: of the records that the corpus loads.
        seconds: time for the answers; fewer than `LEAST_PAGES` images are never answered.
        online: keep no taps on disk; the target gives them whenever a record is loaded.
        sampled: there will be sampled answers too.
        max_pixels: how `target` was loaded; answers at another size are another corpus.

    Raises:
        HeadError: the records would not fit on the disk.
    """
    kept = () if online else taps
    scaled = f"-{max_pixels}px" if max_pixels else ""
    folder = out / f"{folder_name(target, kept)}-{data.tag}{scaled}"
    folder.mkdir(parents=True, exist_ok=True)
    closed = folder / "corpus.json"
    if not closed.exists():
        begun = time.monotonic()
        check_size(target, data, folder, len(kept), sampled)
        for number in share(range(data.validation)):
            _answer(target, data, folder, kept, "validation", number)
        least, said = math.ceil(LEAST_PAGES / processes()), begun
        for done, number in enumerate(share(range(data.training))):
            now = time.monotonic()
            if now - begun > seconds and done >= least:
                break
            if is_first() and now - said > REPORT_EVERY:
                said = now
                say(f"{len(list(folder.glob('train-*.safetensors')))} images answered")
            _answer(target, data, folder, kept, "train", number)
        wait()
        if is_first():
            close(closed, time.monotonic() - begun)
        wait()
    answered = len(list(folder.glob("train-*.safetensors")))
    if is_first() and answered < data.training:
        say(
            f"{answered} of {data.training} images to learn from are answered, and no more will "
            "be: for more name another folder with --out, and more --minutes"
        )
    again = partial(read_again, target, taps) if online else None
    return replace(opened(closed, target), source=data, apart=True, online=again)


def check_size(
    target: Target, data: DataFile, folder: Path, taps: int, sampled: bool = False
) -> None:
    """Say how large all records will be at most, by the prompts of a few images.

    Args:
        taps: that they hold; 0 where they are taken online.
        sampled: every image has a record with a sampled answer too.

    Raises:
        HeadError: they would not fit on the disk.
    """
    rows: list[int] = []
    for number in range(min(PROBED, data.training)):
        with suppress(DocumentError):  # such an image will be left out
            sheet = data("train", number)
            tokens = target.prompt(sheet.image, sheet.questions[0].question).input_ids.shape[1]
            rows.append(tokens * (1 + sampled) + LONGEST * (len(sheet.questions) + sampled))
    images = data.training + data.validation
    row = taps * target.hidden_size * BYTES + BESIDE
    size = images * sum(rows) / max(1, len(rows)) * row
    there = sum(path.stat().st_size for path in folder.glob("*.safetensors"))
    free = shutil.disk_usage(folder).free
    way = "taps cached" if taps else "no taps, which the target gives online at every step"
    if is_first():
        say(
            f"{images} images with {data.questions} questions: their records ({way}) take up to "
            f"{size / GB:.2f} GB in {folder}, where {there / GB:.2f} GB of them are and "
            f"{free / GB:.0f} GB are free"
        )
    if size - there > free:
        raise HeadError(
            f"The records of {images} images take up to {size / GB:.0f} GB, more than is free in "
            f"{folder}: name another folder with --out, or take "
            f"{'--taps online or ' if taps else ''}fewer questions."
        )


def _answer(
    target: Target, data: DataFile, folder: Path, taps: Sequence[int], split: str, number: int
) -> None:
    """Answer one image, unless that is done; one that cannot be read is left out."""
    try:
        greedy_answers(target, number, folder=folder, taps=taps, split=split, source=data)
    except (DocumentError, PromptError) as error:
        say(f"left out: {error}")
