"""A page that another engine drew, the checks it has to pass, and its files."""

import json
import random
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from PIL import Image

from glance.documents import mix
from glance.documents.fields import nouns_of
from glance.documents.phrasings import ask_for
from glance.documents.values import Values

LICENCE = "Drawn by this project; released under its MIT licence. The faces are not in the file."
TASKS = {"sign": "textvqa", "infographic": "infovqa", "chart": "chartqa"}  # others: docvqa
STEP = 28  # sides are multiples of it, px
AREA = 448 * 448  # most px of a page
TEXT_PX = (11, 22)  # least and most font size, px
LENGTH = (60, 350)  # least and most characters of a page's text
ASKS = (3, 4)
LOSS = 6  # grey levels that a colour may move when a palette is made


class UnfitError(Exception):
    """The page drawn breaks a rule; another one has to be drawn in its place."""


@dataclass(frozen=True, slots=True)
class Ask:
    type: str  # an entry of the fields table
    nouns: tuple[str, ...]
    answer: str


class Paper:
    """What a page's layout draws from: random values, and the questions it collects."""

    def __init__(self, seed: str) -> None:
        self.rng = random.Random(seed)
        self.v = Values(self.rng, "test")
        self.asks: list[Ask] = []

    def ask(self, type_: str, *answers: str, nouns: str = "") -> None:
        """Let the answers, joined by commas, be asked for by the type's name or by `nouns`."""
        names = tuple(nouns.split("|")) if nouns else nouns_of(type_)
        self.asks.append(Ask(type_, names, ", ".join(answers)))


@dataclass(frozen=True, slots=True)
class Drawn:
    kind: str
    layout: str
    face: str
    text_px: int  # font size of most of the text
    image: Image.Image
    lines: list[str]  # visual lines in reading order


def fold(text: str) -> str:
    """The text with every stretch of white space made one space."""
    return " ".join(text.split())


def check(drawn: Drawn, paper: Paper) -> None:
    """Raise UnfitError for a page of the wrong size, length or letters, or with a lost answer."""
    width, height = drawn.image.size
    if width % STEP or height % STEP or width * height > AREA:
        raise UnfitError(f"size {width}x{height}")
    text = "\n".join(drawn.lines)
    if not LENGTH[0] <= len(text) <= LENGTH[1]:
        raise UnfitError(f"{len(text)} characters")
    if not TEXT_PX[0] <= drawn.text_px <= TEXT_PX[1]:
        raise UnfitError(f"text of {drawn.text_px} px")
    for char in text:
        if not (" " <= char <= "~" or char in "£€\n"):
            raise UnfitError(f"letter {char!r}")
    folded = fold(text)
    for ask in paper.asks:
        for part in ask.answer.split(", "):
            if fold(part) not in folded:
                raise UnfitError(f"answer {part!r} is not on the page")
    if len(paper.asks) < ASKS[0]:
        raise UnfitError("too few questions")


def save(drawn: Drawn, paper: Paper, seed: int, folder: Path, name: str) -> None:
    """Write `name`.png and `name`.json in the form of `glance.documents.page.save_sample`."""
    rng = paper.rng
    picked = rng.sample(paper.asks, min(len(paper.asks), rng.randint(*ASKS)))
    task = TASKS.get(drawn.kind, "docvqa")
    asked = [("transcribe", "transcribe", "", "\n".join(drawn.lines))]
    asked += [(task, a.type, rng.choice(a.nouns), a.answer) for a in picked]
    questions = []
    for task, type_, noun, answer in asked:
        held_out = rng.random() < mix.HELD_OUT_PHRASING
        questions.append(
            {
                "task": task,
                "type": type_,
                "question": ask_for(type_, noun, rng, held_out),
                "answer": answer,
                "held_out": held_out,
                "history": [],
                "glyphs": [],
            }
        )
    record = {
        "kind": drawn.kind,
        "layout": drawn.layout,
        "split": "test",
        "seed": seed,
        "face": drawn.face,
        "text_px": drawn.text_px,
        "degradations": [],
        "size": list(drawn.image.size),
        "glyphs": [],
        "questions": questions,
        "licence": LICENCE,
    }
    small(drawn.image).save(folder / f"{name}.png", optimize=True)
    path = folder / f"{name}.json"
    path.write_text(json.dumps(record, ensure_ascii=False) + "\n", encoding="utf-8")


def small(image: Image.Image) -> Image.Image:
    """The image with a palette where that moves no colour by more than LOSS, else as it is."""
    image = image.convert("RGB")
    for colours in (16, 64, 256):
        few = image.quantize(colours, dither=Image.Dither.NONE)
        moved = np.asarray(few.convert("RGB")).astype(int) - np.asarray(image).astype(int)
        if np.abs(moved).max() <= LOSS:
            return few
    return image
