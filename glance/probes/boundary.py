"""boundary: where does the chain beat the tree?

At every place of every answer both are built from the same draft with the same number of nodes (a
chain has no more than the block has offsets), and the tokens are counted that a round begun there
would commit: by task, and by the target's entropy at the place. `--budget` has no say here.

Claim: the tree wins everywhere (the paper's tau is 1.45 to 1.49 of the chain's on every task).
Refuted if somewhere the chain commits more: if the whole 95% interval of tree less chain lies below
0 for a task or a range of entropy. With so many rows one in forty may do so by chance, so a chain
that wins by a hair in one row alone is no boundary.
"""

from __future__ import annotations

from itertools import compress, pairwise

from glance.law_checks import HISTOGRAM
from glance.probes.asked import Setup
from glance.probes.outcome import Finding, Outcome, Row, Table, above
from glance.probes.resampled import Resampled, estimate, groups
from glance.probes.rounds import Shape, sweep

BUDGETS = (3, 15, 63)


def run(setup: Setup) -> Outcome:
    """Every place of every answer, both shapes at every budget."""
    shapes = {("chain", budget): Shape(budget, chain=True) for budget in BUDGETS}
    shapes |= {("tree", budget): Shape(budget) for budget in BUDGETS}
    found = sweep(setup, shapes, every_place=True)
    every = found["chain", BUDGETS[0]]  # the places: the same for all shapes, in the same order
    sample = Resampled(every)
    where = {name: [one.task in tasks for one in every] for name, tasks in groups(every).items()}
    for low, high in pairwise(HISTOGRAM):
        where[f"H {low:g} to {high:g}"] = [low <= one.entropy < high for one in every]
    rows: list[Row] = []
    for name, chosen in where.items():
        for budget in BUDGETS:
            chain = list(compress(found["chain", budget], chosen))
            tree = list(compress(found["tree", budget], chosen))
            if chain:
                taus = sample.tau(chain), sample.tau(tree)
                rows.append(
                    {
                        "where": name,
                        "nodes": budget,
                        "places": len(chain),
                        "chain": float(taus[0][0]),
                        "tree": float(taus[1][0]),
                        "tree less chain": estimate(taus[1] - taus[0]),
                    }
                )
    return Outcome([Table("tokens of a round begun at a place", rows)], _findings(rows))


def _findings(rows: list[Row]) -> list[Finding]:
    """The row that speaks most against the tree: where the chain surely wins, or nearest to it."""

    def against(row: Row) -> tuple[float, float]:
        low, high = row["tree less chain"].ci
        return min(high, 0.0), low

    known = [row for row in rows if row["tree less chain"] and row["tree less chain"].ci]
    if not known:
        return [above("the tree wins everywhere", "no row has an interval", None)]
    worst = min(known, key=against)
    figure = f"tree less chain, {worst['where']}, {worst['nodes']} nodes"
    return [above("the tree wins everywhere", figure, worst["tree less chain"])]
