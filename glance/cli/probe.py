"""`probe`: one experiment on the paper's claims, said beforehand and then made."""

from __future__ import annotations

from argparse import Namespace
from dataclasses import asdict
from importlib import import_module
from inspect import getdoc
from typing import Any

from glance.cli.output import Cell, live, note, show, show_table, write_json
from glance.cli.target import named_target
from glance.config import MOST_NODES
from glance.drafters.presets import shape_for
from glance.probes.outcome import Estimate, Table
from glance.trace import provenance

ENOUGH = 100  # questions a task
METHOD = """\
Rounds are replayed: the target's own greedy answers are forced on it again, and the drafter drafts
at each place where a live round would begin. What it is given decides how much a round commits,
never what the answer is. H: entropy of the target at the root row, nats; a: accepted drafted tokens
of a round; intervals: 95%, pages drawn with replacement.\
"""


def run(options: Namespace) -> int:
    """Print what is claimed, what was found and what became of the claims."""
    probe = import_module(f"glance.probes.{options.name.replace('-', '_')}")
    stated = getdoc(probe) or ""
    show(stated)
    show()
    show(METHOD)
    show()
    if options.n < ENOUGH:
        note(f"fewer than {ENOUGH} questions a task: a trial, not a result")
    note("loading the model")
    from glance.drafters.load import load_drafter
    from glance.probes.asked import SPLIT, Setup
    from glance.probes.resampled import DRAWS

    target = named_target(options)
    # some probes cut trees at other budgets too
    shape = shape_for(options.drafter, max(options.budget, MOST_NODES))
    drafter = load_drafter(options.drafter, target, options.head, shape)
    assert drafter is not None  # the parser leaves plain decoding out
    retrained = None
    if options.retrained:
        retrained = load_drafter(options.drafter, target, options.retrained, shape)
    tasks = tuple(dict.fromkeys(options.tasks))
    outcome = probe.run(
        Setup(
            target, drafter, tasks, options.n, options.budget, options.max_tokens, retrained, live
        )
    )
    for table in outcome.tables:
        _show(table)
    for finding in outcome.findings:
        show(f"{finding.verdict}: {finding.claim}")
        show(f"    {finding.figure}: {finding.estimate or '-'}")
    result = {
        "probe": options.name,
        "stated": stated,
        "target": {"name": target.name, "revision": target.revision, "dtype": target.dtype_name},
        "drafters": [
            {"name": one.name, "revision": one.revision, "block_size": one.block_size}
            for one in (drafter, retrained)
            if one is not None
        ],
        "settings": {
            "split": SPLIT,
            "tasks": tasks,
            "n": options.n,
            "node_budget": options.budget,
            "max_new_tokens": options.max_tokens,
            "draws": DRAWS,
        },
        "rows": [
            {"table": table.title, **{column: _plain(cell) for column, cell in row.items()}}
            for table in outcome.tables
            for row in table.rows
        ],
        "findings": [asdict(finding) for finding in outcome.findings],
        "provenance": provenance(),
    }
    write_json(options.json, result)
    return 0


def _show(table: Table) -> None:
    show(table.title)
    if table.rows:
        show_table(
            list(table.rows[0]), [[_cell(one) for one in row.values()] for row in table.rows]
        )
    show()


def _cell(value: Any) -> Cell:
    return str(value) if isinstance(value, Estimate) else value


def _plain(value: Any) -> Any:
    return asdict(value) if isinstance(value, Estimate) else value
