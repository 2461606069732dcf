"""text-only-states: how much of what the drafter knows of the page is in the states?

The target is run again on the same dialogue and the same answer, teacher-forced, but without the
image; the drafter is given the states of that run, and no image rows. The text of the answer so
far is in them, the page is not. The head is not trained for such states: a fall has two causes, the
page that is missing and states that it does not know.

Claim: the page reaches the drafter through the states, so without it grounded tasks lose more than
captions do (the paper's head keeps 97% of its tau on captions and 80% on documents).
Refuted if captions lose as large a share as grounded tasks or a larger one: if the whole 95%
interval of the difference of the shares of tau kept lies below 0; not settled while it has 0 in it.
"""

from __future__ import annotations

from glance.bench_rows import GROUNDED
from glance.forced import States, read
from glance.probes.altered import compare, kept_table
from glance.probes.asked import Asked, Setup
from glance.probes.outcome import Outcome, above
from glance.probes.resampled import Resampled, estimate, of


def run(setup: Setup) -> Outcome:
    """Every answer with the states of both runs."""

    def imageless(one: Asked, _states: States) -> States:
        prompt = setup.target.prompt([], one.question.question, one.question.history)
        return read(setup.target, prompt, one.answer, setup.drafter.taps)

    right, altered = compare(setup, imageless)
    sample = Resampled(right)
    captions, grounded = (
        sample.tau(of(altered, tasks)) / sample.tau(of(right, tasks))
        for tasks in ({"caption"}, set(GROUNDED))
    )
    claim = "without the page grounded tasks lose more than captions"
    return Outcome(
        [kept_table("states of the target without the image", right, altered)],
        [above(claim, "share of tau kept, captions less grounded", estimate(captions - grounded))],
    )
