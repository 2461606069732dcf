"""Marked answers to figures: by task, and by what sets a page or a question apart. No torch."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, dataclass
from typing import Any

from glance.documents.fields import NOT_THERE
from glance.documents.kinds import KINDS
from glance.documents.mix import EXTRACTION, TASKS
from glance.documents.page import Question
from glance.documents.sets import Item

#: in what ways questions are told apart
BY = (
    "degradations",  # how many the page has
    "degradation",  # each one that it has
    "kind",
    "size",
    "layout",  # seen in training or not
    "phrasing",
    "answer",
    "dialogue",
)
SIZES = ((10, 12), (13, 15), (16, 19), (20, 24))  # px, both included


@dataclass(frozen=True, slots=True)
class Marked:
    """One question and the answer it got."""

    task: str
    question: str
    wanted: str
    got: str
    exact: bool  # equal after `normalise`
    errors: int  # characters
    slices: tuple[tuple[str, str], ...]  # what it counts for, e.g. ("size", "10-12")


@dataclass(frozen=True, slots=True)
class Score:
    questions: int
    exact: float  # share
    cer: float  # characters wrong over characters wanted, pooled


@dataclass(frozen=True, slots=True)
class Slice:
    """Some of the questions; None where it has none of that sort."""

    by: str
    value: str
    extraction: Score | None
    transcription: Score | None


@dataclass(frozen=True, slots=True)
class Report:
    tasks: dict[str, Score]
    extraction: Score | None  # the question tasks in all
    slices: tuple[Slice, ...]
    answers: tuple[Marked, ...]

    def as_dict(self) -> dict[str, Any]:
        """Plain values, for JSON."""
        return asdict(self)


def slices_of(item: Item, question: Question) -> tuple[tuple[str, str], ...]:
    """Every slice that a question of an item counts for; none where nothing sets it apart."""
    if not item.kind:
        return ()
    degraded = len(item.degradations)
    found = [("degradations", "2+" if degraded > 1 else str(degraded))]
    found += [("degradation", name) for name in item.degradations]
    found.append(("kind", item.kind))
    found += [
        ("size", f"{low}-{high}")
        for low, high in SIZES
        if item.size is not None and low <= round(item.size) <= high
    ]
    if item.layout:
        unseen = item.layout in KINDS[item.kind].HELD_OUT.values()
        found.append(("layout", "unseen" if unseen else "seen"))
    found.append(("phrasing", "held-out" if question.held_out else "known"))
    if question.task in EXTRACTION:
        found.append(("answer", NOT_THERE if question.answer == NOT_THERE else "on the page"))
        found.append(("dialogue", "follow-up" if question.history else "first question"))
    return tuple(found)


def report(marked: Sequence[Marked]) -> Report:
    """Tasks in the generator's order, others after, slices in that of BY, their values sorted."""
    named = dict.fromkeys((*TASKS, *(m.task for m in marked)))
    tasks = {task: _score([m for m in marked if m.task == task]) for task in named}
    groups: dict[tuple[str, str], list[Marked]] = {}
    for m in marked:
        for key in m.slices:
            groups.setdefault(key, []).append(m)
    return Report(
        tasks={task: score for task, score in tasks.items() if score},
        extraction=_extraction(marked),
        slices=tuple(
            Slice(
                *key,
                _extraction(groups[key]),
                _score([m for m in groups[key] if m.task == "transcribe"]),
            )
            for key in sorted(groups, key=lambda key: (BY.index(key[0]), key[1]))
        ),
        answers=tuple(marked),
    )


def _extraction(marked: Sequence[Marked]) -> Score | None:
    return _score([m for m in marked if m.task in EXTRACTION])


def _score(marked: Sequence[Marked]) -> Score | None:
    if not marked:
        return None
    return Score(
        questions=len(marked),
        exact=sum(m.exact for m in marked) / len(marked),
        cer=sum(m.errors for m in marked) / max(1, sum(len(m.wanted) for m in marked)),
    )
