"""Exam sets: the pages and questions that a target is measured on."""

import json
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from PIL import Image

from glance.documents.dataset import page, pair
from glance.documents.examples import Example
from glance.documents.fields import NOT_THERE
from glance.documents.intake import load_document
from glance.documents.mix import EXTRACTION
from glance.documents.page import Page, Question

ROOT = Path(__file__).resolve().parents[2]
FOREIGN = ROOT / "assets" / "foreign"  # pages that other programs drew
SCANS = ROOT / "runs" / "scans"  # photographed and scanned pages; fetched, not shipped


class SetError(ValueError):
    """The set is not there; the message is one plain sentence."""


@dataclass(frozen=True, slots=True)
class Item:
    """One prompt's images and all questions about them."""

    images: tuple[Image.Image, ...]  # mode RGB
    questions: tuple[Question, ...]
    kind: str  # "" on an image that nothing more is known of
    layout: str  # of the generator; "" on a page without one, or with several
    size: int | None  # of body text, px; None when not known, or not one
    degradations: tuple[str, ...]  # distinct names


def exam(name: str, n: int, split: str = "test") -> Iterator[Item]:
    """Up to `n` items of one of SETS; generated pages come from `split`.

    Raises:
        ValueError: unknown set.
        SetError: the set's files are not there, or it has no such split.
    """
    return (item(name, i, split) for i in range(count(name, n, split)))


def count(name: str, n: int, split: str = "test") -> int:
    """How many items `exam` gives; raises like it."""
    if name not in SETS:
        raise ValueError(f"unknown set {name!r}; choose one of {', '.join(SETS)}")
    if name not in FOLDERS:
        return n
    if split != "test":
        raise SetError(f"The {name} set has no {split} split.")
    return min(n, len(_paths(name)))


def item(name: str, index: int, split: str = "test") -> Item:
    """Item number `index`, the same every time."""
    return SETS[name](index, split)


def brought(asked: Sequence[Example]) -> Item:
    """An image file of one's own, and what is asked about it.

    Raises:
        DocumentError: the file cannot be read.
    """
    questions = tuple(Question(one.task, "", one.question, one.answer, ()) for one in asked)
    return Item((load_document(asked[0].image).image,), questions, "", "", None, ())


def _drawn(drawn: Page) -> Item:
    names = tuple(d.name for d in drawn.degradations)
    return Item((drawn.image,), drawn.questions, drawn.kind, drawn.layout, drawn.size, names)


def _blank(index: int, split: str) -> Item:
    """A blank page under the questions of another one: what is right here was not read."""
    drawn = page(split, index)
    asked = tuple(q for q in drawn.questions if q.task in EXTRACTION and q.answer != NOT_THERE)
    blank = Image.new("RGB", drawn.image.size, "white")
    return Item((blank,), asked, drawn.kind, "", None, ())


def _pair(index: int, split: str) -> Item:
    pages, questions = pair(split, index)
    names = {d.name: None for p in pages for d in p.degradations}
    return Item(tuple(p.image for p in pages), questions, "pair", "", None, tuple(names))


def _paths(name: str) -> list[Path]:
    folder, remedy = FOLDERS[name]
    paths = sorted(path for path in folder.glob("*.json") if path.with_suffix(".png").is_file())
    if not paths:
        where = folder.relative_to(ROOT) if folder.is_relative_to(ROOT) else folder
        raise SetError(f"There are no pages in {where}: {remedy}.")
    return paths


def _saved(name: str, index: int) -> Item:
    """What `save_sample` wrote; `held_out` may be added, and `text_px` may be null."""
    path = _paths(name)[index]
    record = json.loads(path.read_text(encoding="utf-8"))
    questions = tuple(
        Question(
            task=q["task"],
            type=q["type"],
            question=q["question"],
            answer=q["answer"],
            glyphs=tuple(q["glyphs"]),
            held_out=q.get("held_out", False),
            history=tuple((asked, told) for asked, told in q["history"]),
        )
        for q in record["questions"]
    )
    with Image.open(path.with_suffix(".png")) as image:
        picture = image.convert("RGB")
    names = tuple(d["name"] for d in record["degradations"])
    return Item((picture,), questions, record["kind"], "", record["text_px"], names)


#: of the sets that are files: where they lie, and what to do when they do not
FOLDERS = {
    "foreign": (FOREIGN, "they come with the repository, so fetch it again"),
    "scans": (SCANS, "run python tests/foreign/fetch_scans.py first"),
}
SETS: dict[str, Callable[[int, str], Item]] = {
    "test": lambda index, split: _drawn(page(split, index)),
    "unseen-faces": lambda index, split: _drawn(page(split, index, unseen_faces=True)),
    "foreign": lambda index, _: _saved("foreign", index),
    "blank": _blank,
    "pairs": _pair,
    "scans": lambda index, _: _saved("scans", index),
}
