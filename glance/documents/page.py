"""A finished page: image, glyphs, lines, and the questions that can be asked of it."""

import json
from dataclasses import dataclass
from pathlib import Path

from PIL import Image

from glance.documents.canvas import Glyph, Span
from glance.documents.degrade import Degradation

LICENCE = "Rendered by this project; released under its MIT licence. Faces: see assets/fonts."


@dataclass(frozen=True, slots=True)
class Fact:
    """Something that a page answers, before it is put into words."""

    task: str
    type: str
    nouns: tuple[str, ...]
    answer: str
    glyphs: tuple[int, ...]  # per answer character: index of its glyph, -1 for a separator
    then: "Fact | None" = None  # what can only be asked right after it


@dataclass(frozen=True, slots=True)
class Question:
    task: str  # one of glance.documents.mix.TASKS
    type: str  # what is asked for, e.g. total, address
    question: str
    answer: str
    glyphs: tuple[int, ...]  # per answer character: index of its glyph, -1 for none
    held_out: bool = False  # asked in words that training never saw
    history: tuple[tuple[str, str], ...] = ()  # earlier questions and answers of the dialogue
    page: int = 0  # of a prompt with several pages: the one that answers


@dataclass(frozen=True, slots=True)
class Page:
    kind: str
    layout: str
    split: str
    index: int
    face: str
    size: int  # body text, px
    degradations: tuple[Degradation, ...]
    image: Image.Image  # mode RGB
    glyphs: tuple[Glyph, ...]
    lines: tuple[tuple[Span, ...], ...]
    facts: tuple[Fact, ...]
    questions: tuple[Question, ...]  # the transcription first
    values: tuple[str, ...]  # every value drawn on the page


def boxes_of(glyphs: tuple[Glyph, ...], indices: tuple[int, ...]) -> list[list[float]]:
    """Boxes [x0, y0, x1, y1] in pixels of the glyphs named, one a run on a visual line."""
    boxes: list[list[float]] = []
    last = -2
    for i in indices:
        if i < 0:
            continue
        x0, y0, x1, y1 = glyphs[i].box
        if boxes and i - last == 1 and x1 - boxes[-1][0] >= 0 and x0 - boxes[-1][2] < y1 - y0:
            b = boxes[-1]
            boxes[-1] = [min(b[0], x0), min(b[1], y0), max(b[2], x1), max(b[3], y1)]
        else:
            boxes.append([x0, y0, x1, y1])
        last = i
    return boxes


def save_sample(page: Page, folder: Path, name: str) -> None:
    """Write `name`.png and `name`.json (questions, answers, glyph boxes, seed, licence)."""
    folder.mkdir(parents=True, exist_ok=True)
    page.image.save(folder / f"{name}.png", optimize=True)
    record = {
        "kind": page.kind,
        "layout": page.layout,
        "split": page.split,
        "seed": page.index,
        "face": page.face,
        "text_px": page.size,
        "degradations": [{"name": d.name, "level": round(d.level, 3)} for d in page.degradations],
        "size": list(page.image.size),
        "glyphs": [{"c": g.char, "box": [round(v, 1) for v in g.box]} for g in page.glyphs],
        "questions": [
            {
                "task": q.task,
                "type": q.type,
                "question": q.question,
                "answer": q.answer,
                "held_out": q.held_out,
                "history": [list(turn) for turn in q.history],
                "boxes": [[round(v, 1) for v in b] for b in boxes_of(page.glyphs, q.glyphs)],
                "glyphs": list(q.glyphs),
            }
            for q in page.questions
        ],
        "licence": LICENCE,
    }
    (folder / f"{name}.json").write_text(json.dumps(record, ensure_ascii=False) + "\n")
