"""Pages by split and index: endless, seeded, the same on every machine."""

import math
import random
from collections.abc import Iterator, Sequence
from dataclasses import replace
from itertools import count

import numpy as np

from glance.documents import mix
from glance.documents.asking import Asker, facts_of, transcription
from glance.documents.canvas import Canvas
from glance.documents.caption import caption, tilt_of
from glance.documents.degrade import degrade, draw_plan, move_box
from glance.documents.faces import FACES, UNSEEN, Face
from glance.documents.kinds import KINDS
from glance.documents.page import Page, Question
from glance.documents.sheet import Sheet, TooFullError
from glance.documents.values import SPLITS, Values

STEP = 28  # page heights are multiples of this, in px
TRIES = 12  # with less and less on the page, before another layout is drawn


def layouts(kind: str, split: str) -> tuple[str, ...]:
    """The layouts that pages of a split may have: the common ones and the split's own."""
    module = KINDS[kind]
    own = module.HELD_OUT.get(split)
    return tuple(
        name for name in module.LAYOUTS if name == own or name not in module.HELD_OUT.values()
    )


def page(split: str, index: int, kind: str | None = None, unseen_faces: bool = False) -> Page:
    """Page number `index` of a split ("train", "validation" or "test").

    Seeds hold the split's name, so no two splits share a record; `kind` overrides the drawn one;
    `unseen_faces` sets it in a face that no training page has.
    """
    if split not in SPLITS:
        raise ValueError(f"unknown split {split!r}; choose one of {', '.join(SPLITS)}")
    faces = "unseen" if unseen_faces else ""
    rng = random.Random(f"glance/{split}/{index}/{kind or ''}/{faces}")
    name = kind or rng.choices(list(mix.KINDS), list(mix.KINDS.values()))[0]
    face = rng.choice(UNSEEN if unseen_faces else FACES)
    size = rng.randint(*mix.SIZES)
    layout, sheet = _sheet(name, split, face, size, rng)
    canvas = sheet.canvas
    if sheet.task == "docvqa":  # paper ends soon after the text
        low = sheet.lowest + rng.uniform(6, 40)
        width, height = canvas.size
        canvas.image = canvas.image.crop((0, 0, width, min(height, _whole_steps(low))))

    asker = Asker(rng, split)
    facts = facts_of(sheet)
    counts = mix.DEGRADATIONS
    plan = draw_plan(rng, rng.choices(list(counts), list(counts.values()))[0])
    image, matrix = degrade(canvas.image, plan, rng, size)
    glyphs = canvas.glyphs
    if not np.allclose(matrix, np.eye(3)):
        glyphs = [replace(g, box=_inside(move_box(g.box, matrix), image.size)) for g in glyphs]

    questions = [transcription(canvas, *asker.words("transcribe"))]
    absent = asker.absent(facts, sheet.task, sheet.v.item().text)
    questions += asker.questions(facts, absent)
    if rng.random() < mix.CAPTION:
        text = caption(name, size, len(canvas.lines), tilt_of(np.asarray(matrix)), image)
        words, held_out = asker.words("caption")
        questions.append(Question("caption", "caption", words, text, (-1,) * len(text), held_out))
    return Page(
        kind=name,
        layout=layout,
        split=split,
        index=index,
        face=face.name,
        size=size,
        degradations=plan,
        image=image,
        glyphs=tuple(glyphs),
        lines=tuple(tuple(line) for line in canvas.lines),
        facts=facts,
        questions=tuple(questions),
        values=tuple(sheet.values),
    )


def one_a_page(split: str, tasks: Sequence[str], n: int) -> Iterator[tuple[Page, Question]]:
    """The first `n` questions of each task, at most one a page and task, made when asked for.

    Tasks share pages; all kinds of question take their turn.
    """
    given = dict.fromkeys(tasks, 0)
    for index in count():
        wanting = [task for task in given if given[task] < n]
        if not wanting:
            return
        drawn = page(split, index)
        for task in wanting:
            asked = [question for question in drawn.questions if question.task == task]
            if asked:
                yield drawn, asked[given[task] % len(asked)]
                given[task] += 1


def _inside(
    box: tuple[float, float, float, float], size: tuple[int, int]
) -> tuple[float, float, float, float]:
    """The part of a box that lies on the page; a turned glyph's hull may stand out a pixel."""
    (x0, y0, x1, y1), (width, height) = box, size
    return max(x0, 0.0), max(y0, 0.0), min(x1, width), min(y1, height)


def _sheet(
    kind: str, split: str, face: Face, size: int, rng: random.Random
) -> tuple[str, Sheet]:  # layout's name, the drawn sheet
    """Draw one of the kind's layouts, with less on it until it fits."""
    module = KINDS[kind]
    while True:
        layout = rng.choice(layouts(kind, split))
        extent = _scaled(rng.choice(module.SIZES), size)
        room = rng.random()
        base = rng.randint(226, 255)
        paper = tuple(max(0, base - rng.randint(0, 6)) for _ in range(3))
        ink = tuple(rng.randint(0, 30) + rng.choice((0, 0, 30)) for _ in range(3))
        for _ in range(TRIES):
            sheet = Sheet(
                Values(rng, split),
                Canvas(extent, (paper[0], paper[1], paper[2]), (ink[0], ink[1], ink[2])),
                face,
                size,
                room,
                spacing=rng.uniform(1.22, 1.6),
                margin=rng.uniform(6, 22),
                task=module.TASK,
            )
            try:
                module.LAYOUTS[layout](sheet)
            except TooFullError:
                room *= 0.8
            else:
                return layout, sheet


def _scaled(extent: tuple[int, int], size: int) -> tuple[int, int]:
    """A page for text of `size` px: small print comes on small pages, as blank paper costs passes.

    The full extent belongs to the largest print; every line then holds 30 to 50 characters.
    """
    share = max(0.6, min(1.0, size / 22))
    width, height = extent
    return _whole_steps(width * share), _whole_steps(height * share)


def _whole_steps(px: float) -> int:
    """The next multiple of STEP."""
    return math.ceil(px / STEP) * STEP


def pair(split: str, index: int) -> tuple[tuple[Page, Page], tuple[Question, ...]]:
    """A prompt of two pages, and questions that say which page they mean."""
    pages = page(split, 10_000_000 + 2 * index), page(split, 10_000_001 + 2 * index)
    asker = Asker(random.Random(f"glance/pair/{split}/{index}"), split)
    questions = []
    for number, one in enumerate(pages):
        for fact in asker.chosen(one.facts, 2):
            where = asker.rng.choice(PLACES[number])
            questions.append(asker.question(fact, where=where, page=number))
    return pages, tuple(questions)


PLACES = (
    (" on page 1", " on the first page"),
    (" on page 2", " on the second page"),
)
