"""The tree against the chain, by node budget: rounds replayed on the answers that are known.

A greedy round commits what the target would have written anyway; the drafter only decides how much
of it. So a round follows from the answer, the place in it and the draft made there, and a draft
follows from the committed tokens and the target's hidden states at them. None of these depends on
the rounds before: one pass of the target over prompt and answer gives what all rounds at all node
budgets would have been given, and one draft at a place serves every budget. The rounds, and so tau,
are those of a live run; hidden states that come out of another pass differ by rounding alone.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import torch
from torch import Tensor

from glance.accept import committed_on
from glance.bench_rows import GROUNDED, geometric_mean
from glance.drafters.base import Drafter
from glance.metrics import tau
from glance.targets.base import Target
from glance.tree import build, build_chain, rank_offsets
from glance.types import DraftBlock, Prompt
from glance.verify import tree_mask

CHAIN = 0  # stands for the chain, as deep as the block, where a tree has its node budget

Committed = dict[int, list[int]]  # CHAIN or node budget -> tokens of each round of one answer


@dataclass(frozen=True, slots=True)
class Width:
    """A node budget on one task, or on the grounded ones together."""

    budget: int
    task: str  # "grounded": tau is the mean and ratio the geometric mean over GROUNDED
    tau: float  # of the tree
    ratio: float | None  # over the chain's tau; None without rounds


@torch.inference_mode()
def replay_answer(
    target: Target,
    drafter: Drafter,  # its drafts are blocks and depend on what is committed alone
    prompt: Prompt,
    answer: Sequence[int],  # plain decoding's, the prefill token first
    budgets: Sequence[int],
) -> Committed:
    """The rounds of the chain and of the tree at every budget, in one sweep over the answer."""
    prompt_ids = prompt.input_ids[0].tolist()
    ids = [*prompt_ids, *answer]
    features = _features(target, prompt, answer, drafter.taps)
    state, absorbed = drafter.start(prompt_ids), 0
    committed: Committed = {budget: [] for budget in (CHAIN, *budgets)}
    reached = dict.fromkeys(committed, len(prompt_ids))  # place of the root token
    for place in range(len(prompt_ids), len(ids) - 1):
        here = [budget for budget, at in reached.items() if at == place]
        if not here:
            continue
        new = None if features is None else features[absorbed:place]
        drafted = drafter.draft(state, ids[: place + 1], new)
        absorbed = place
        assert isinstance(drafted, DraftBlock), "a tree that a drafter grew has its own budget"
        offsets = rank_offsets(drafted.logits, most=max(budgets))
        for budget in here:
            if budget == CHAIN:
                tree = build_chain(ids[place], offsets, len(offsets.ids))
            else:
                tree = build(ids[place], offsets, budget)
            committed[budget].append(committed_on(tree, ids[place + 1 :]))
            reached[budget] += committed[budget][-1]
    return committed


def _features(
    target: Target, prompt: Prompt, answer: Sequence[int], taps: Sequence[int]
) -> Tensor | None:
    """Taps of prompt and answer but for its last token, which is never an input: [S, K, d]."""
    if not taps:
        return None
    request, _, read = target.prefill(prompt, taps)
    rows = len(answer) - 1
    if read is None or not rows:
        return read
    causal = torch.ones(rows, rows, dtype=torch.bool, device=target.device).tril()
    mask = tree_mask(causal, request.length, target.attention, target.dtype)
    ids = torch.tensor(answer[:-1], device=target.device)
    depths = torch.arange(rows, device=target.device)
    _, written = target.forward(request, ids, depths, mask, taps)
    request.release()
    assert written is not None  # there are taps
    return torch.cat((read, written))


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
