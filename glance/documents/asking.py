"""From what a layout says can be asked to questions in words."""

import random
from collections.abc import Sequence

from glance.documents import mix
from glance.documents.canvas import Canvas, Span
from glance.documents.fields import NOT_THERE, absent_types, nouns_of
from glance.documents.page import Fact, Question
from glance.documents.phrasings import ask_for
from glance.documents.sheet import Ask, Sheet


def _text(
    canvas: Canvas, groups: Sequence[Sequence[Span]], separator: str
) -> tuple[str, tuple[int, ...]]:
    """Text of span groups: spans of a group joined by a space, groups by `separator`."""
    text: str = ""
    indices: list[int] = []
    for g, group in enumerate(groups):
        for s, span in enumerate(group):
            join = separator if s == 0 and g else " " if s else ""
            text += join + canvas.text_of(span)
            indices += [-1] * len(join) + list(range(span.start, span.stop))
    return text, tuple(indices)


def facts_of(sheet: Sheet) -> tuple[Fact, ...]:
    """All that a drawn sheet answers."""
    return tuple(_fact(sheet, a) for a in sheet.asks)


def _fact(sheet: Sheet, a: Ask) -> Fact:
    groups = [[span for key in group for span in sheet.keys[key]] for group in a.groups]
    text, indices = _text(sheet.canvas, groups, a.separator)
    then = _fact(sheet, a.then) if a.then else None
    return Fact(a.task, a.type, a.nouns, text, indices, then)


def transcription(canvas: Canvas, question: str, held_out: bool) -> Question:
    """The whole text, one visual line a line."""
    text, indices = _text(canvas, canvas.lines, "\n")
    return Question("transcribe", "transcribe", question, text, indices, held_out)


class Asker:
    """Puts facts into words for one page of a split."""

    def __init__(self, rng: random.Random, split: str) -> None:
        self.rng = rng
        self.test = split == "test"

    def words(self, type_: str, noun: str = "", follow_up: bool = False) -> tuple[str, bool]:
        """A phrasing, and whether it is a held-out one."""
        held_out = self.test and self.rng.random() < mix.HELD_OUT_PHRASING
        return ask_for(type_, noun, self.rng, held_out, follow_up), held_out

    def question(
        self,
        fact: Fact,
        after: Question | None = None,
        where: str = "",  # added to the noun, e.g. " on page 2"
        page: int = 0,
    ) -> Question:
        """The fact in words; `after` makes it a follow-up of that question."""
        noun = self.rng.choice(fact.nouns) + where
        text, held_out = self.words(fact.type, noun, follow_up=after is not None)
        history = (*after.history, (after.question, after.answer)) if after else ()
        return Question(
            fact.task, fact.type, text, fact.answer, fact.glyphs, held_out, history, page
        )

    def chosen(self, facts: Sequence[Fact], most: int) -> list[Fact]:
        """Up to `most` facts, short, middle and long answers in the shares of the mix."""
        left: dict[str, list[Fact]] = {length: [] for length in mix.LENGTHS}
        for fact in self.rng.sample(list(facts), len(facts)):
            left[mix.length_class(fact.answer)].append(fact)
        picked: list[Fact] = []
        while len(picked) < most and any(left.values()):
            ready = [length for length, some in left.items() if some]
            weights = [mix.LENGTHS[length] for length in ready]
            picked.append(left[self.rng.choices(ready, weights)[0]].pop())
        return picked

    def absent(self, facts: Sequence[Fact], task: str, item: str) -> Fact | None:
        """Something the page does not tell; `item` is a name that is not on it."""
        types = {f.type for f in facts} | {f.then.type for f in facts if f.then}
        priced = "price" in types and self.rng.random() < 0.5
        absent = ["price"] if priced else absent_types(types)
        if not absent:
            return None
        type_ = self.rng.choice(absent)
        nouns = (f"the price of {item}",) if priced else nouns_of(type_)
        return Fact(task, type_, nouns, NOT_THERE, (-1,) * len(NOT_THERE))

    def questions(self, facts: Sequence[Fact], absent: Fact | None) -> list[Question]:
        """Extraction questions of a page, perhaps a follow-up, perhaps one without an answer."""
        picked = self.chosen(facts, mix.ASKS)
        made = [self.question(f) for f in picked]
        if made and self.rng.random() < mix.FOLLOW_UP:
            made.append(self._follow_up(picked, made))
        if absent and self.rng.random() < mix.UNANSWERABLE:
            first = self.rng.choice(made) if made and self.rng.random() < 0.25 else None
            made.append(self.question(absent, first))
        return made

    def _follow_up(self, picked: list[Fact], made: list[Question]) -> Question:
        """One that needs the dialogue where there is one, else the next thing one would ask."""
        for fact, question in zip(picked, made, strict=True):
            if fact.then:
                return self.question(fact.then, question)
        first, second = self.rng.sample(range(len(made)), 2) if len(made) > 1 else (0, 0)
        return self.question(picked[second], made[first])
