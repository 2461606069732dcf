"""A finished page: image, glyphs, lines, and the questions that can be asked of it."""

import json
from dataclasses import dataclass
from pathlib import Path

from PIL import Image

from glance.documents.canvas import Glyph, Span

LICENCE = "Rendered by this project; released under its MIT licence. Faces: see assets/fonts."


@dataclass(frozen=True, slots=True)
class Question:
    task: str  # transcribe or docvqa
    type: str  # what is asked for, e.g. total, address
    question: str
    answer: str
    glyphs: tuple[int, ...]  # per answer character: index of its glyph, -1 for a separator


@dataclass(frozen=True, slots=True)
class Page:
    kind: str
    split: str
    index: int
    image: Image.Image  # mode L
    glyphs: tuple[Glyph, ...]
    lines: tuple[tuple[Span, ...], ...]
    questions: tuple[Question, ...]
    values: tuple[str, ...]  # every value drawn on the page


def boxes_of(glyphs: tuple[Glyph, ...], indices: tuple[int, ...]) -> list[list[float]]:
    """Boxes [x0, y0, x1, y1] in pixels of the glyphs named, one a visual line."""
    boxes: list[list[float]] = []
    for i in indices:
        if i < 0:
            continue
        x0, y0, x1, y1 = glyphs[i].box
        if boxes and boxes[-1][1] == y0 and x0 - boxes[-1][2] < (y1 - y0):
            boxes[-1][2] = x1
        else:
            boxes.append([x0, y0, x1, y1])
    return boxes


def save_sample(page: Page, folder: Path, name: str) -> None:
    """Write `name`.png and `name`.json (questions, answers, glyph boxes, seed, licence)."""
    folder.mkdir(parents=True, exist_ok=True)
    page.image.save(folder / f"{name}.png", optimize=True)
    record = {
        "kind": page.kind,
        "split": page.split,
        "seed": page.index,
        "size": list(page.image.size),
        "glyphs": [{"c": g.char, "box": [round(v, 1) for v in g.box]} for g in page.glyphs],
        "questions": [
            {
                "task": q.task,
                "type": q.type,
                "question": q.question,
                "answer": q.answer,
                "boxes": [[round(v, 1) for v in b] for b in boxes_of(page.glyphs, q.glyphs)],
                "glyphs": list(q.glyphs),
            }
            for q in page.questions
        ],
        "licence": LICENCE,
    }
    (folder / f"{name}.json").write_text(json.dumps(record, ensure_ascii=False) + "\n")
