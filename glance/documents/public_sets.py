"""Local copies of public question sets, each in the form in which its makers hand it out. No torch.

    docvqa    {"data": [{"question", "image": "documents/NAME.png", "answers": [...]}, ...]}
    infovqa   {"data": [{"question", "image_local_name": "NAME.jpeg", "answers": [...]}, ...]}
    chartqa   [{"imgname": "NAME.png", "query", "label"}, ...], images in `png` beside the file
    folder    a text file, a line IMAGE, tab, QUESTION and perhaps tab, ANSWER; or a folder that
              holds images and one such file, its name ending in .tsv

DocVQA (arXiv 2007.00398) and InfographicVQA (arXiv 2104.12756) come from the Robust Reading
Competition, ChartQA (arXiv 2203.10244) from its repository. Test splits have no answers.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

from glance.documents.examples import DataError, Example

#: an entry -> name of its image, question, answer
Entry = Callable[[dict[str, Any]], tuple[str, str, str]]


def _docvqa(entry: dict[str, Any]) -> tuple[str, str, str]:
    return entry["image"], entry["question"], _first(entry)


def _infovqa(entry: dict[str, Any]) -> tuple[str, str, str]:
    return entry["image_local_name"], entry["question"], _first(entry)


def _chartqa(entry: dict[str, Any]) -> tuple[str, str, str]:
    return entry["imgname"], entry["query"], str(entry.get("label", ""))


def _first(entry: dict[str, Any]) -> str:
    """Of several spellings that are right, the first."""
    return next(iter(entry.get("answers") or ()), "")


JSON_SETS: dict[str, Entry] = {"docvqa": _docvqa, "chartqa": _chartqa, "infovqa": _infovqa}
SETS = (*JSON_SETS, "folder")


def read_set(name: str, source: Path, images: Path | None = None) -> list[Example]:
    """The questions of a set, in its order, each with its image there.

    Args:
        name: one of SETS.
        source: the file that the set's makers hand out; for `folder` a text file, or its folder.
        images: folder of the images; by default where the makers put them beside the file.

    Raises:
        DataError: the file is of another form, or images are missing.
    """
    if name == "folder" and source.is_dir():
        source = _table(source)
    try:
        text = source.read_text(encoding="utf-8-sig")
    except (OSError, UnicodeDecodeError) as error:
        raise DataError(f"{source} cannot be read: {error}.") from error
    found = _lines(source, text) if name == "folder" else _entries(name, source, text)
    if images is None:
        images = source.parent / "png" if name == "chartqa" else source.parent
    examples = [
        Example(images / image, question.strip(), answer.strip(), name)
        for image, question, answer in found
    ]
    if not examples:
        raise DataError(f"{source} holds no questions.")
    missing = sorted({example.image for example in examples if not example.image.is_file()})
    if missing:
        raise DataError(
            f"{len(missing)} images that {source} asks about are not there, {missing[0]} the "
            "first of them: name their folder with --images."
        )
    return examples


def _entries(name: str, source: Path, text: str) -> list[tuple[str, str, str]]:
    try:
        raw = json.loads(text)
        entries = raw if name == "chartqa" else raw["data"]
        return [JSON_SETS[name](entry) for entry in entries]
    except (ValueError, KeyError, TypeError, AttributeError) as error:
        raise DataError(f"{source} is not a file of {name}: {error!r}.") from error


def _table(folder: Path) -> Path:
    """The text file that a folder holds."""
    found = sorted(folder.glob("*.tsv"))
    if len(found) != 1:
        raise DataError(f"{folder} holds {len(found)} files ending in .tsv, not one.")
    return found[0]


def _lines(source: Path, text: str) -> list[tuple[str, str, str]]:
    found = []
    for number, line in enumerate(text.splitlines(), start=1):
        if not line.strip():
            continue
        parts = [part.strip() for part in line.split("\t")]
        if not 2 <= len(parts) <= 3 or not all(parts[:2]):
            raise DataError(
                f"{source}, line {number} is not IMAGE, tab, QUESTION and perhaps tab, ANSWER."
            )
        found.append((parts[0], parts[1], parts[2] if len(parts) == 3 else ""))
    return found
