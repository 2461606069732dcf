"""mismatched-image: does the image act through the target's entropy, and through the states?

The other page is of the same kind, with other content; dialogue and question stay. Two arms beside
the right page: `drafter` sees the states of the target on the other page, with the right answer
forced on it, while the target reads the right page; `target` reads the other page itself and
answers as it then would, and the drafter sees its states as ever. (The paper's own protocol is not
published in detail.)

Claim 1: on the other page the target doubts more, and rounds commit what the entropy law, fitted to
the same tasks on the right page, expects at that entropy. Refuted if entropy does not rise: if the
whole 95% interval of the change of mean H lies below 0; or if mean a is off the law: if the
interval of mean a less what the law expects leaves 0 out. Judged on the tasks that ask for
something on the page: a transcription or a caption suits any page.
Claim 2: the drafter reads the page through the states. Refuted if its accepted tokens do not fall
with those of another page: if the interval of the fall lies below 0.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

import numpy as np

from glance.documents.dataset import page
from glance.documents.mix import EXTRACTION
from glance.forced import read
from glance.law import LEAST_ROUNDS
from glance.probes.altered import own_states, rounds_with
from glance.probes.asked import SPLIT, Setup, answered, asked
from glance.probes.outcome import Outcome, Row, Table, above, zero
from glance.probes.resampled import Resampled, estimate, groups, of
from glance.probes.rounds import Round

RIGHT, DRAFTER, TARGET = "right page", "drafter", "target"
Arms = Mapping[str, list[Round]]


def run(setup: Setup) -> Outcome:
    """All questions in three arms."""
    arms: dict[str, list[Round]] = {RIGHT: [], DRAFTER: [], TARGET: []}
    for one in asked(setup):
        # named by its kind, a page is drawn anew: the same number gives another page
        other = answered(setup, page(SPLIT, one.page.index, one.page.kind), one.question)
        states = own_states(setup, one)
        forced = read(setup.target, other.prompt, one.answer, setup.drafter.taps)
        arms[RIGHT] += rounds_with(setup, one, states)
        arms[DRAFTER] += rounds_with(setup, one, replace(forced, entropy=states.entropy))
        arms[TARGET] += rounds_with(setup, other, own_states(setup, other))
    sample = Resampled(one for rounds in arms.values() for one in rounds)
    rows = [
        row
        for name, tasks in groups(arms[RIGHT]).items()
        for row in _rows(sample, arms, name, tasks)
    ]
    judged = {name: of(rounds, set(EXTRACTION)) for name, rounds in arms.items()}
    off = off_law(sample, judged)
    rises = sample.entropy(judged[TARGET]) - sample.entropy(judged[RIGHT])
    falls = sample.accepted(judged[RIGHT]) - sample.accepted(judged[DRAFTER])
    return Outcome(
        [
            Table("one page and another", rows),
            Table(
                "mean a less what the law of the right page expects, tasks that ask for something",
                [{"arm": arm, "difference": estimate(figures)} for arm, figures in off.items()],
            ),
        ],
        [
            above("1: the target doubts more", "mean H, target less right page", estimate(rises)),
            zero("1: the rounds stay on the law", "the difference above", estimate(off[TARGET])),
            above("2: the drafter reads the page", "mean a, right less drafter", estimate(falls)),
        ],
    )


def _rows(sample: Resampled, arms: Arms, name: str, tasks: set[str]) -> list[Row]:
    own = {arm: of(rounds, tasks) for arm, rounds in arms.items()}
    return [
        {
            "task": name,
            "arm": arm,
            "rounds": len(rounds),
            "mean H": estimate(sample.entropy(rounds)),
            "tau": estimate(sample.tau(rounds)),
        }
        for arm, rounds in own.items()
    ]


def off_law(sample: Resampled, arms: Arms) -> dict[str, np.ndarray]:
    """Mean a of each arm less what the law of the right page expects of it; nan without a law."""
    if len(arms[RIGHT]) < LEAST_ROUNDS:
        return dict.fromkeys(arms, np.array([np.nan]))
    laws = sample.laws(arms[RIGHT])
    return {
        arm: sample.accepted(rounds) - sample.expected(rounds, laws) for arm, rounds in arms.items()
    }
