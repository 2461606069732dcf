"""What a probe asks: questions about pages of the test split, and the target's own answers."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass

from PIL.Image import Image

from glance.config import DecodeConfig
from glance.decode import Decoder
from glance.documents.dataset import one_a_page
from glance.documents.page import Page, Question
from glance.drafters.base import Drafter
from glance.targets.base import Target
from glance.types import Prompt

SPLIT = "test"


@dataclass(frozen=True, slots=True)
class Setup:
    """What to probe, and how much of it."""

    target: Target
    drafter: Drafter
    tasks: tuple[str, ...]
    n: int  # questions a task
    node_budget: int = 15
    max_new_tokens: int = 256
    retrained: Drafter | None = None  # the second drafter of retrain-ocr
    progress: Callable[[str], None] = lambda _: None


@dataclass(frozen=True, slots=True)
class Asked:
    """A question, and what the target answers to it, plainly and greedily."""

    page: Page
    question: Question
    prompt: Prompt
    answer: list[int]  # ids, the prefill token first


def asked(setup: Setup) -> Iterator[Asked]:
    """All questions of a probe, one a page and task, answered when asked for.

    Raises:
        PromptError: a question and its answer do not fit the target's context.
    """
    total = len(setup.tasks) * setup.n
    questions = one_a_page(SPLIT, setup.tasks, setup.n)
    for number, (drawn, question) in enumerate(questions, start=1):
        setup.progress(f"{number} of {total}: {question.task}")
        yield answered(setup, drawn, question)


def answered(setup: Setup, drawn: Page, question: Question) -> Asked:
    """One question of a page, perhaps not its own, with the target's answer."""
    return _answered(setup, drawn, question, [drawn.image.convert("RGB")])


def blind(setup: Setup, one: Asked) -> Asked:
    """The same question as text alone, with what the target answers then."""
    return _answered(setup, one.page, one.question, [])


def _answered(setup: Setup, drawn: Page, question: Question, images: Sequence[Image]) -> Asked:
    plain = Decoder(setup.target, None, DecodeConfig(max_new_tokens=setup.max_new_tokens))
    prompt = setup.target.prompt(images, question.question, question.history)
    return Asked(drawn, question, prompt, list(plain.generate(prompt).ids))
