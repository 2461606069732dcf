"""zeroed-states: does the drafter live on the target's hidden states?

Every state that the drafter is given, of the prompt and of the answer, is set to zero; it still
sees the root token and where it stands.

Claim: nearly all that it gets accepted comes from the states (the paper's head falls to tau 1.11).
Refuted if the drafter keeps a fifth or more of its accepted drafted tokens a round: if the whole
95% interval of the share that it loses lies below 0.8, over all tasks.
"""

from __future__ import annotations

from dataclasses import replace

import torch

from glance.forced import States
from glance.probes.altered import compare, kept, kept_table
from glance.probes.asked import Asked, Setup
from glance.probes.outcome import Outcome, above
from glance.probes.resampled import Resampled, estimate


def run(setup: Setup) -> Outcome:
    """Every answer with the states and with zeros."""
    right, altered = compare(setup, zeroed)
    lost = estimate(1 - kept(Resampled(right), right, altered))
    claim = "nearly all acceptance comes from the states"
    return Outcome(
        [kept_table("states zeroed", right, altered)],
        [above(claim, "share of a that is lost, to be over 0.8", lost, 0.8)],
    )


def zeroed(_one: Asked, states: States) -> States:
    """The same with all features zero."""
    assert states.features is not None  # the drafter reads states
    return replace(states, features=torch.zeros_like(states.features))
