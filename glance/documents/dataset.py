"""Pages by split and index: endless, seeded, the same on every machine."""

import random

from glance.documents.kinds import KINDS
from glance.documents.layout import draw, questions_of
from glance.documents.page import Page
from glance.documents.values import SPLITS, Values


def page(split: str, index: int, kind: str | None = None) -> Page:
    """Page number `index` of a split ("train", "validation" or "test").

    Seeds hold the split's name, so no two splits share a record; `kind` overrides the drawn one.
    """
    if split not in SPLITS:
        raise ValueError(f"unknown split {split!r}; choose one of {', '.join(SPLITS)}")
    rng = random.Random(f"glance/{split}/{index}/{kind or ''}")
    name = kind or rng.choice(sorted(KINDS))
    size = rng.choice(KINDS[name].SIZES)
    room = rng.random()
    while True:
        draft = KINDS[name].draft(Values(rng, split), room)
        drawn = draw(draft, size, rng)
        if drawn is not None:
            break
        room *= 0.8  # too full even at the smallest size: draw a shorter record
    canvas = drawn.canvas
    return Page(
        name,
        split,
        index,
        canvas.image,
        tuple(canvas.glyphs),
        tuple(tuple(line) for line in canvas.lines),
        questions_of(draft, drawn, rng),
        tuple(draft.values),
    )
