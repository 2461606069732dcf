"""budget: what does a larger node budget bring?

The same answers with trees of 1 to 63 drafted nodes; `--budget` has no say here. Tokens alone are
counted: what a larger tree costs depends on the machine.

Claim: each doubling of the budget brings less than the one before; from N = 31 on the paper's
speed-up is flat. Refuted if the step from 31 to 63 nodes brings more tokens a round than that from
15 to 31: if the whole 95% interval of the second step less the first, over all tasks, lies above 0.
"""

from __future__ import annotations

from glance.probes.asked import Setup
from glance.probes.outcome import Outcome, Row, Table, above
from glance.probes.resampled import Resampled, estimate, groups, of
from glance.probes.rounds import Shape, sweep

BUDGETS = (1, 3, 7, 15, 31, 63)


def run(setup: Setup) -> Outcome:
    """Every answer at every budget."""
    found = sweep(setup, {budget: Shape(budget) for budget in BUDGETS})
    sample = Resampled(found[1])
    rows: list[Row] = []
    for task, tasks in groups(found[1]).items():
        taus = {budget: sample.tau(of(rounds, tasks)) for budget, rounds in found.items()}
        for budget, before in zip(BUDGETS, (None, *BUDGETS), strict=False):
            gain = None if before is None else estimate(taus[budget] - taus[before])
            rows.append(
                {"task": task, "nodes": budget, "tau": estimate(taus[budget]), "gain": gain}
            )
    low, middle, high = (sample.tau(found[budget]) for budget in (15, 31, 63))
    return Outcome(
        [Table("tau by node budget", rows)],
        [
            above(
                "a doubling brings less than the one before",
                "step from 15 to 31 less that from 31 to 63",
                estimate((middle - low) - (high - middle)),
            )
        ],
    )
