"""Rounds of any drafter on a known answer, with whatever states of the target it is given.

A greedy round commits what the target writes anyway, so a round follows from the answer, the place
in it and the draft made there; one pass of the target over prompt and answer (teacher-forced) gives
the states and entropies of all of them. Wrong states change how much a round commits, and nothing
else. With the right ones the rounds are those of live decoding; states out of another pass differ
by rounding alone.
"""

from __future__ import annotations

from collections.abc import Hashable, Mapping, Sequence
from dataclasses import dataclass
from typing import NamedTuple, TypeVar

import numpy as np
import torch
from torch import Tensor

from glance import law
from glance.accept import PAST_END, committed_on
from glance.drafters.base import Drafter
from glance.entropy import at_least_float32, entropy
from glance.probes.asked import Asked, Setup, asked
from glance.probes.outcome import ProbeError
from glance.targets.base import Target
from glance.tree import best_chain, build, build_chain, cut, rank_offsets
from glance.types import CandidateTree, DraftBlock, Prompt
from glance.verify import pass_mask

Name = TypeVar("Name", bound=Hashable)


class Round(NamedTuple):
    """One round of one answer."""

    at: int  # place of the root token in the answer
    entropy: float  # of the target at the root row, nats
    accepted: int  # drafted tokens (a)
    room: int  # the most it could have accepted
    committed: int  # tokens, the bonus counted where there is one
    task: str = ""
    page: int = 0  # index in the split


@dataclass(frozen=True, slots=True)
class States:
    """The target on a prompt with an answer forced on it: what a drafter is given of it."""

    prompt_ids: list[int]  # [n]
    positions: Tensor | None  # [axes, n]
    features: Tensor | None  # [n + answer - 1, K, d]; None without taps
    entropy: list[float]  # [answer - 1] nats, of the row of each answer token but the last


@dataclass(frozen=True, slots=True)
class Shape:
    """How a draft becomes the tree that is verified."""

    node_budget: int
    chain: bool = False  # of best tokens, whatever the drafter asks for
    offsets: int | None = None  # drafted offsets that are used; None: all

    def deepest(self, drafter: Drafter) -> int:
        """The most drafted tokens that a round can accept."""
        offsets = drafter.block_size - 1 if self.offsets is None else self.offsets
        return min(self.node_budget, offsets, drafter.block_size - 1)

    def build(self, root: int, drafted: DraftBlock | CandidateTree) -> CandidateTree:
        """The tree.

        The chain of a tree that the drafter grew is its path of best children.

        Raises:
            ProbeError: such a tree has no offsets to cut.
        """
        if isinstance(drafted, CandidateTree):
            if self.offsets is not None:
                raise ProbeError("A drafter that grows its own tree has no shorter block.")
            return cut(best_chain(drafted) if self.chain else drafted, self.node_budget)
        offsets = rank_offsets(drafted.logits[: self.offsets], most=self.node_budget)
        grow = build_chain if self.chain or drafted.chain else build
        return grow(root, offsets, self.node_budget)


@torch.inference_mode()
def read(target: Target, prompt: Prompt, answer: Sequence[int], taps: Sequence[int]) -> States:
    """Force an answer on the target, in one pass after the prompt's.

    Raises:
        PromptError: prompt and answer do not fit the target's context.
    """
    target.check_length(prompt, len(answer))
    request, _, features = target.prefill(prompt, taps)
    positions, rows = request.positions, len(answer) - 1
    entropies: list[float] = []
    if rows:  # the last token is never an input
        causal = torch.ones(rows, rows, dtype=torch.bool, device=target.device).tril()
        ids = torch.tensor(answer[:-1], device=target.device)
        depths = torch.arange(rows, device=target.device)
        mask = pass_mask(target, causal, depths, request.length)
        logits, written = target.forward(request, ids, depths, mask, taps)
        entropies = entropy(torch.log_softmax(at_least_float32(logits), dim=-1)).tolist()
        if features is not None and written is not None:
            features = torch.cat((features, written))
    request.release()
    return States(prompt.input_ids[0].tolist(), positions, features, entropies)


@torch.inference_mode()
def replay(
    drafter: Drafter,  # its drafts depend on what is committed alone, not on earlier rounds
    states: States,
    one: Asked,
    shapes: Mapping[Name, Shape],
    every_place: bool = False,  # try a round at every place, not only where one would begin
) -> dict[Name, list[Round]]:
    """The rounds on one answer by shape; where shapes meet at a place, they share its draft."""
    answer, absorbed = one.answer, 0
    ids = [*states.prompt_ids, *answer]
    state = drafter.start(states.prompt_ids, states.positions)
    rounds: dict[Name, list[Round]] = {name: [] for name in shapes}
    reached = dict.fromkeys(shapes, 0)  # place of the root token
    for at in range(len(answer) - 1):
        here = [name for name in shapes if reached[name] == at]
        if not here:
            continue
        place = len(states.prompt_ids) + at
        new = None if states.features is None else states.features[absorbed:place]
        drafted = drafter.draft(state, ids[: place + 1], new)
        absorbed = place
        rest = answer[at + 1 :]
        for name in here:
            tree = shapes[name].build(ids[place], drafted)
            accepted = committed_on(tree, [*rest, PAST_END]) - 1
            made = Round(
                at=at,
                entropy=states.entropy[at],
                accepted=accepted,
                room=min(shapes[name].deepest(drafter), len(rest)),
                committed=min(accepted + 1, len(rest)),
                task=one.question.task,
                page=one.page.index,
            )
            rounds[name].append(made)
            reached[name] += 1 if every_place else made.committed
    return rounds


def sweep(
    setup: Setup, shapes: Mapping[Name, Shape], every_place: bool = False
) -> dict[Name, list[Round]]:
    """The drafter's rounds on all answers by shape."""
    found: dict[Name, list[Round]] = {name: [] for name in shapes}
    for one in asked(setup):
        states = read(setup.target, one.prompt, one.answer, setup.drafter.taps)
        for name, rounds in replay(setup.drafter, states, one, shapes, every_place).items():
            found[name] += rounds
    return found


def law_rounds(rounds: Sequence[Round]) -> law.Rounds:
    """The columns that the entropy law is fitted to."""
    return law.Rounds(
        entropy=np.array([one.entropy for one in rounds]),
        accepted=np.array([one.accepted for one in rounds]),
        room=np.array([one.room for one in rounds]),
        page=np.array([one.page for one in rounds]),
    )
