"""Questions about image files as one JSONL file: what training and evaluation read. No torch.

A line is an object with `image`, `question`, `answer` and `task`; images lie relative to the file's
folder, or anywhere. Heads learn from the target's own answers, so `answer` may be empty: it is what
`eval` marks by.
"""

from __future__ import annotations

import json
import os
from collections.abc import Iterable
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any


class DataError(ValueError):
    """Data that cannot be used; the message is one plain sentence."""


@dataclass(frozen=True, slots=True)
class Example:
    """One question about one image file."""

    image: Path  # any file that intake reads
    question: str
    answer: str  # the set's own; empty where it gives none
    task: str


FIELDS = tuple(Example.__dataclass_fields__)


def write_examples(examples: Iterable[Example], file: Path) -> None:
    """One line each; images in the file's folder or below it are named from there."""
    file.parent.mkdir(parents=True, exist_ok=True)
    folder = file.parent.resolve()
    partial = file.with_name(f"{file.name}.partial")
    with partial.open("w", encoding="utf-8") as lines:
        for example in examples:
            image = example.image.resolve()
            near = image.is_relative_to(folder)
            named = os.path.relpath(image, folder) if near else str(image)
            lines.write(json.dumps({**asdict(example), "image": named}, ensure_ascii=False) + "\n")
    partial.replace(file)


def read_examples(file: Path) -> list[Example]:
    """All lines of a file, in order.

    Raises:
        DataError: it cannot be read, a line is not of this form, or it has none.
    """
    try:
        lines = file.read_text(encoding="utf-8").splitlines()
    except (OSError, UnicodeDecodeError) as error:
        raise DataError(f"{file} cannot be read: {error}.") from error
    examples = [
        _example(line, f"{file}, line {number}", file.parent)
        for number, line in enumerate(lines, start=1)
        if line.strip()
    ]
    if not examples:
        raise DataError(f"{file} holds no questions.")
    return examples


def by_image(examples: Iterable[Example]) -> list[tuple[Example, ...]]:
    """What is asked about each image; images and questions in the order of the examples."""
    asked: dict[Path, list[Example]] = {}
    for example in examples:
        asked.setdefault(example.image, []).append(example)
    return [tuple(group) for group in asked.values()]


def _example(line: str, where: str, folder: Path) -> Example:
    try:
        raw: Any = json.loads(line)
    except ValueError as error:
        raise DataError(f"{where} is not JSON: {error}.") from error
    if not isinstance(raw, dict) or any(not isinstance(raw.get(name), str) for name in FIELDS):
        raise DataError(f"{where} is not an object with the texts {', '.join(FIELDS)}.")
    if not raw["image"] or not raw["question"].strip():
        raise DataError(f"{where} has no image or no question.")
    return Example(folder / raw["image"], raw["question"], raw["answer"], raw["task"])
