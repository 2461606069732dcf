"""block-size: how far ahead is it worth drafting?

The same drafts cut to their first 1, 3, 7, ... offsets, so blocks of 2, 4, 8, ... with the root
token. The head is not trained or asked anew for a shorter block, which it might do better.

Claim 1: one p serves all block sizes: the entropy law, fitted to chain rounds of the whole block,
also says what a shorter chain has accepted, E[a | H] = p + p^2 + ... as far as the block goes.
Refuted for a size if the 95% interval of mean a less the law's, over all tasks, leaves 0 out.
Claim 2: the second half of the block still pays: the tree of the whole block commits more a round
than that of half of it. Refuted if the whole interval of the difference lies below 0.
"""

from __future__ import annotations

from glance.probes.asked import Setup
from glance.probes.outcome import Finding, Outcome, ProbeError, Row, Table, above, zero
from glance.probes.resampled import Resampled, estimate, groups, of
from glance.probes.rounds import Shape, sweep


def run(setup: Setup) -> Outcome:
    """Every answer with every block size, as a chain and as a tree."""
    sizes = block_sizes(setup.drafter.block_size)
    if len(sizes) < 2:
        raise ProbeError(f"{setup.drafter.name} drafts one token: there is no shorter block.")
    # a chain is as deep as its block: the budget is for trees
    shapes = {("chain", size): Shape(size - 1, chain=True, offsets=size - 1) for size in sizes}
    shapes |= {("tree", size): Shape(setup.node_budget, offsets=size - 1) for size in sizes}
    found = sweep(setup, shapes)
    half, whole = sizes[-2:]
    sample = Resampled(found["chain", whole])
    laws = sample.laws(found["chain", whole])
    by_task: list[Row] = [
        {
            "task": task,
            "block": size,
            "tau of the chain": estimate(sample.tau(of(found["chain", size], tasks))),
            "tau of the tree": estimate(sample.tau(of(found["tree", size], tasks))),
        }
        for task, tasks in groups(found["chain", whole]).items()
        for size in sizes
    ]
    by_law: list[Row] = []
    findings: list[Finding] = []
    for size in sizes:
        rounds = found["chain", size]
        accepted, expected = sample.accepted(rounds), sample.expected(rounds, laws)
        off = estimate(accepted - expected)
        by_law.append(
            {
                "block": size,
                "mean a": estimate(accepted),
                "law's a": estimate(expected),
                "difference": off,
            }
        )
        if size != whole:
            findings.append(zero(f"1: the law also says block {size}", "mean a less its", off))
    pays = estimate(sample.tau(found["tree", whole]) - sample.tau(found["tree", half]))
    findings.append(
        above("2: the second half of the block pays", f"tau, {whole} less {half}", pays)
    )
    return Outcome(
        [Table("tau by block size", by_task), Table("the chain and the law, all tasks", by_law)],
        findings,
    )


def block_sizes(largest: int) -> list[int]:
    """Powers of two below the largest size, and that one."""
    smaller = [2**power for power in range(1, largest.bit_length()) if 2**power < largest]
    return [*smaller, largest]
