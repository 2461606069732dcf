"""One drafter on the same answers with the target's states and with others in their place."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace

import numpy as np

from glance.forced import States, read
from glance.probes.asked import Asked, Setup, asked
from glance.probes.outcome import ProbeError, Table
from glance.probes.resampled import Resampled, estimate, groups, of
from glance.probes.rounds import Round, Shape, replay


def own_states(setup: Setup, one: Asked) -> States:
    """What the drafter is given in live decoding.

    Raises:
        ProbeError: the drafter reads no states.
    """
    if not setup.drafter.taps:
        raise ProbeError(f"{setup.drafter.name} reads no states of the target: try another.")
    return read(setup.target, one.prompt, one.answer, setup.drafter.taps)


def rounds_with(setup: Setup, one: Asked, states: States) -> list[Round]:
    """The drafter's rounds on one answer."""
    return replay(setup.drafter, states, one, {"": Shape(setup.node_budget)})[""]


def compare(
    setup: Setup, alter: Callable[[Asked, States], States]
) -> tuple[list[Round], list[Round]]:
    """Rounds with the right states and with altered ones; entropies are the target's in both."""
    right: list[Round] = []
    altered: list[Round] = []
    for one in asked(setup):
        states = own_states(setup, one)
        right += rounds_with(setup, one, states)
        other = replace(alter(one, states), entropy=states.entropy)
        altered += rounds_with(setup, one, other)
    return right, altered


def kept(sample: Resampled, right: Sequence[Round], altered: Sequence[Round]) -> np.ndarray:
    """Share of the accepted drafted tokens a round that is left; nan where there were none."""
    before = sample.accepted(right)
    return sample.accepted(altered) / np.where(before > 0, before, np.nan)


def kept_table(title: str, right: Sequence[Round], altered: Sequence[Round]) -> Table:
    """Tau with both kinds of states and what is left, by task."""
    sample = Resampled(right)
    rows = []
    for name, tasks in groups(right).items():
        before, after = of(right, tasks), of(altered, tasks)
        taus = sample.tau(before), sample.tau(after)
        rows.append(
            {
                "task": name,
                "tau": estimate(taus[0]),
                "altered tau": estimate(taus[1]),
                "share of tau kept": estimate(taus[1] / taus[0]),
                "share of a kept": estimate(kept(sample, before, after)),
            }
        )
    return Table(title, rows)
