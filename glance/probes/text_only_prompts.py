"""text-only-prompts: does the entropy law hold where there is no page, and is it flatter there?

The same questions are asked twice: with their page, and as text alone. Each time the target answers
as it will, so without a page it says that there is no answer, or makes one up. The law is fitted to
rounds of each kind by itself. Neither the target nor the head was trained on such prompts.

Claim 1: without a page more entropy still means fewer accepted tokens. Refuted if the whole 95%
interval of b1 lies below 0.
Claim 2: b1 rises with grounding. Refuted if the whole interval of b1 with the page less b1 without
it lies below 0.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from glance.forced import read
from glance.law import LEAST_ROUNDS, Law
from glance.law_checks import check
from glance.probes.altered import rounds_with
from glance.probes.asked import Setup, asked, blind
from glance.probes.outcome import Outcome, Row, Table, above
from glance.probes.resampled import Resampled, estimate
from glance.probes.rounds import Round, law_rounds


def run(setup: Setup) -> Outcome:
    """Every question with and without its page."""
    arms: dict[str, list[Round]] = {"with the page": [], "text alone": []}
    for one in asked(setup):
        for rounds, posed in zip(arms.values(), (one, blind(setup, one)), strict=True):
            states = read(setup.target, posed.prompt, posed.answer, setup.drafter.taps)
            rounds += rounds_with(setup, posed, states)
    sample = Resampled([one for rounds in arms.values() for one in rounds])
    found = {arm: _fitted(sample, rounds) for arm, rounds in arms.items()}
    (seen, told), (unseen, _) = found.values()
    rows: list[Row] = [
        {"": figure, **{arm: figures[figure] for arm, (_, figures) in found.items()}}
        for figure in told
    ]
    return Outcome(
        [Table("the entropy law with and without a page", rows)],
        [
            above("1: the law holds without a page", "b1 of text alone", estimate(unseen)),
            above(
                "2: b1 rises with grounding",
                "b1 with the page less b1 without",
                estimate(seen - unseen),
            ),
        ],
    )


def _fitted(sample: Resampled, rounds: Sequence[Round]) -> tuple[np.ndarray, Row]:
    """The slopes of the law, of all draws, and what there is to say of it; nan with few rounds."""
    enough = len(rounds) >= LEAST_ROUNDS
    laws = sample.laws(rounds) if enough else [Law(np.nan, np.nan)]
    checked = check(law_rounds(rounds))
    b1 = np.array([law.b1 for law in laws])
    return b1, {
        "rounds": len(rounds),
        "mean H": estimate(sample.entropy(rounds)),
        "mean a": estimate(sample.accepted(rounds)),
        "b0": estimate(np.array([law.b0 for law in laws])),
        "b1": estimate(b1),
        "R2 by decile": checked.r2_deciles,
        "rho": checked.rho,
        "the paper's conditions": {True: "hold", False: "fail", None: None}[checked.holds],
    }
