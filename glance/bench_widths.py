"""The tree against the chain, by node budget: what both commit on the same answers.

The chain is that of the best token at each offset. Of a tree that the drafter grew itself it is the
path of best children, as far as the tree has it.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from glance.bench_replay import CHAIN, replay_rounds
from glance.bench_rows import GROUNDED, geometric_mean
from glance.drafters.base import Drafter
from glance.metrics import tau
from glance.targets.base import Target
from glance.types import Prompt

Committed = dict[int, list[int]]  # CHAIN or node budget -> tokens of each round of one answer


@dataclass(frozen=True, slots=True)
class Width:
    """A node budget on one task, or on the grounded ones together."""

    budget: int
    task: str  # "grounded": tau is the mean and ratio the geometric mean over GROUNDED
    tau: float  # of the tree
    ratio: float | None  # over the chain's tau; None without rounds


def replay_answer(
    target: Target,
    drafter: Drafter,
    prompt: Prompt,
    answer: Sequence[int],  # plain decoding's, the prefill token first
    budgets: Sequence[int],
) -> Committed:
    """The rounds of the chain and of the tree at every budget; see `glance.bench_replay`."""
    played = replay_rounds(target, drafter, prompt, answer, (CHAIN, *budgets))
    return {
        budget: [one.tokens for one in rounds]
        for budget, rounds in played.items()
        if isinstance(budget, int)
    }


def widths(by_task: Mapping[str, Sequence[Committed]]) -> list[Width]:
    """Budget by budget every task and, where all of them were measured, the grounded ones."""
    budgets = dict.fromkeys(
        budget for task in by_task.values() for one in task for budget in one if budget != CHAIN
    )
    found: list[Width] = []
    for budget in budgets:
        own = {
            task: Width(budget, task, tau_of(answers, budget), _ratio(answers, budget))
            for task, answers in by_task.items()
        }
        found += own.values()
        grounded = [own[task] for task in GROUNDED if task in own]
        ratios = [one.ratio for one in grounded if one.ratio is not None]
        if len(ratios) == len(GROUNDED):
            mean = sum(one.tau for one in grounded) / len(grounded)
            found.append(Width(budget, "grounded", mean, geometric_mean(ratios)))
    return found


def tau_of(answers: Sequence[Committed], budget: int) -> float:
    """Tau of a budget, or of CHAIN, pooled over the rounds of a task's answers."""
    return tau([tokens for one in answers for tokens in one[budget]])


def _ratio(answers: Sequence[Committed], budget: int) -> float | None:
    chain = tau_of(answers, CHAIN)
    return tau_of(answers, budget) / chain if chain else None
