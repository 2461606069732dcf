"""Rounds replayed on answers that are known, with many node budgets at once.

A greedy round commits what the target would have written anyway; the drafter only decides how much
of it. So a round follows from the answer, the place in it and the draft made there, and a draft
follows from the committed tokens and the target's hidden states at them. None of these depends on
the rounds before: one pass of the target over prompt and answer gives what all rounds at all node
budgets would have been given, and one draft at a place serves every budget. The rounds, and so tau,
are those of a live run; hidden states that come out of another pass differ by rounding alone.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import torch

from glance.accept import committed_on
from glance.budget import CostProfile
from glance.config import AUTO, MOST_NODES, NodeBudget
from glance.drafters.base import Drafter
from glance.forced import read
from glance.targets.base import Target
from glance.tree import Costs, RankedOffsets, best_chain, build_chain, candidates, rank_offsets
from glance.types import CandidateTree, DraftBlock, Prompt

CHAIN = 0  # stands for the chain of best tokens, as deep as the draft, for a node budget


class Played(NamedTuple):
    """A replayed round."""

    tokens: int  # committed
    nodes: int  # verified, the root not counted
    ms: float  # that it takes by the cost profile; 0 without one


@torch.inference_mode()
def replay_rounds(
    target: Target,
    drafter: Drafter,  # its drafts depend on what is committed alone
    prompt: Prompt,
    answer: Sequence[int],  # plain decoding's, the prefill token first
    budgets: Sequence[NodeBudget],  # CHAIN among them, perhaps; AUTO needs costs
    costs: CostProfile | None = None,
) -> dict[NodeBudget, list[Played]]:
    """The rounds of one answer with every budget, in one sweep over it.

    Of a tree that the drafter grew itself, a budget takes what the drafter kept at most.
    """
    states = read(target, prompt, answer, drafter.taps)
    prompt_ids, features = states.prompt_ids, states.features
    ids = [*prompt_ids, *answer]
    state, absorbed = drafter.start(prompt_ids, states.positions), 0
    most = max(MOST_NODES if isinstance(budget, str) else budget for budget in budgets)
    played: dict[NodeBudget, list[Played]] = {budget: [] for budget in budgets}
    reached = dict.fromkeys(played, len(prompt_ids))  # place of the root token
    for place in range(len(prompt_ids), len(ids) - 1):
        here = [budget for budget, at in reached.items() if at == place]
        if not here:
            continue
        new = None if features is None else features[absorbed:place]
        drafted = drafter.draft(state, ids[: place + 1], new)
        absorbed = place
        offsets = RankedOffsets([], [], [])
        if isinstance(drafted, DraftBlock):
            offsets = rank_offsets(drafted.logits, most=max(most, 1))
        round_ms = costs.near(place) if costs else None
        for budget in here:
            pays = None
            if budget == AUTO and costs and round_ms:
                ms = sum(one.ms for one in played[budget])
                pays = Costs(round_ms, costs.nodes, place - len(prompt_ids), ms)
            tree = _tree(ids[place], drafted, offsets, budget, pays)
            tokens, nodes = committed_on(tree, ids[place + 1 :]), len(tree) - 1
            played[budget].append(Played(tokens, nodes, round_ms[nodes] if round_ms else 0.0))
            reached[budget] += tokens
    return played


def _tree(
    root: int,
    drafted: DraftBlock | CandidateTree,
    offsets: RankedOffsets,
    budget: NodeBudget,
    costs: Costs | None,
) -> CandidateTree:
    if isinstance(budget, str):
        assert costs, f"a node budget of {AUTO!r} needs costs"
        return candidates(root, drafted, offsets, MOST_NODES, costs)
    if budget != CHAIN:
        return candidates(root, drafted, offsets, budget)
    if isinstance(drafted, CandidateTree):
        return best_chain(drafted)
    return build_chain(root, offsets, len(offsets.ids))
