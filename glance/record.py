"""record: traces of one drafter on generated pages, a file for each question.

The header of each says which page it was, what was asked and how the page was degraded, so that
traces can be sorted without drawing pages again.
"""

from __future__ import annotations

import io
from collections.abc import Iterator, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from glance.ask import ask
from glance.config import DecodeConfig
from glance.documents.dataset import one_a_page
from glance.documents.intake import Document, load_document
from glance.documents.page import Page, Question
from glance.drafters.base import Drafter
from glance.targets.base import Target
from glance.trace import dumps

SPLIT = "test"


def record(
    target: Target,
    drafter: Drafter,
    tasks: Sequence[str],
    n: int,  # questions a task
    folder: Path,
    config: DecodeConfig,
) -> Iterator[Path]:
    """Write the traces one by one into an existing folder; gives the path of each that is done.

    Questions have seeds of their own, counted up from that of `config`: with one for all, the
    draws of one answer would be those of the next.

    Raises:
        PromptError: a question and its answer do not fit the target's context.
    """
    for number, (drawn, asked) in enumerate(one_a_page(SPLIT, tasks, n)):
        path = folder / f"{asked.task}-{drawn.split}-{drawn.index}.jsonl"
        with path.open("w", encoding="utf-8") as file:
            for line in ask(
                target,
                [drafter],
                _document(drawn),
                asked.question,
                replace(config, seed=config.seed + number),
                history=asked.history,
                sample=sample(drawn, asked),
            ):
                file.write(dumps(line) + "\n")
        yield path


def sample(drawn: Page, asked: Question) -> dict[str, Any]:
    """What the header of a trace says about a generated page."""
    return {
        "split": drawn.split,
        "index": drawn.index,
        "task": asked.task,
        "type": asked.type,
        "history": [list(turn) for turn in asked.history],
        "degradations": [{"name": d.name, "level": round(d.level, 3)} for d in drawn.degradations],
    }


def _document(drawn: Page) -> Document:
    """The page as if it had come from a file with its glyphs beside it."""
    file = io.BytesIO()
    drawn.image.save(file, "PNG")
    name = f"{drawn.kind}-{drawn.split}-{drawn.index}.png"
    glyphs = [{"char": glyph.char, "box": list(glyph.box)} for glyph in drawn.glyphs]
    return replace(load_document(file.getvalue(), name=name), glyphs=glyphs)
