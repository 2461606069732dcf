"""Shipped examples: a page, questions about it, and a recorded run. No model, no torch."""

from __future__ import annotations

import json
from dataclasses import dataclass
from functools import cache
from pathlib import Path

from glance.documents.intake import Document, load_document

ASSETS = Path(__file__).parents[1] / "assets"
#: for documents that are not ours, nothing is known but that they hold text
GENERAL_QUESTIONS = ("Transcribe the page.", "Can you read the full address?", "What is the total?")
MAX_SUGGESTIONS = 4


@dataclass(frozen=True, slots=True)
class Example:
    """One shipped example."""

    id: str
    title: str
    image: Path
    question: str
    trace: Path | None
    suggestions: tuple[str, ...]

    def document(self) -> Document:
        """The page, read as an uploaded one would be."""
        return load_document(self.image)

    def recorded(self) -> str:
        """The recorded run as trace text, empty if there is none."""
        return self.trace.read_text(encoding="utf-8") if self.trace else ""


@cache
def load_examples(assets: Path = ASSETS) -> tuple[Example, ...]:
    """The examples named by `samples/examples.json`, in its order; none if it is absent."""
    manifest = assets / "samples" / "examples.json"
    if not manifest.exists():
        return ()
    return tuple(
        _example(entry, assets) for entry in json.loads(manifest.read_text(encoding="utf-8"))
    )


def _example(entry: dict[str, str], assets: Path) -> Example:
    image = assets / "samples" / entry["image"]
    trace = assets / "traces" / entry["trace"] if entry.get("trace") else None
    return Example(
        id=entry["id"],
        title=entry["title"],
        image=image,
        question=entry["question"],
        trace=trace if trace and trace.exists() else None,
        suggestions=_suggestions(entry["question"], image.with_suffix(".json")),
    )


def _suggestions(question: str, sample: Path) -> tuple[str, ...]:
    """Questions of the sample, those with the longest answers first."""
    asked = json.loads(sample.read_text(encoding="utf-8"))["questions"] if sample.exists() else []
    asked.sort(key=lambda each: -len(each["answer"]))
    texts = dict.fromkeys(each["question"] for each in asked)
    return tuple(texts)[:MAX_SUGGESTIONS] or (question,)
