"""Acceptance lengths of all lanes of a bench beside the GLANCE paper's, in Markdown. No torch."""

from __future__ import annotations

from typing import Any

from glance.bench_matched import OURS, POOLED, THEIRS
from glance.markdown import figure, table, with_interval
from glance.paper import (
    MATCHED_NODES,
    MATCHED_POOLED,
    MATCHED_RATIO,
    MATCHED_TAU,
    SOURCE,
    TASKS,
    TAU,
)

INTRODUCTION = (
    "Acceptance length τ of every lane, with the paper's figure for the same drafter in brackets "
    f"([{SOURCE}](https://arxiv.org/abs/{SOURCE.split()[1]}), Qwen3-VL-8B on public question sets: "
    "another model and other pages, so only the order compares). Nodes: drafted and verified a "
    "round, the mean over tasks."
)
MATCHED = (
    f"`{OURS}` against `{THEIRS}`, {MATCHED_NODES} nodes at most, "
    "as in the paper's matched comparison:"
)


def lines(bench: dict[str, Any]) -> list[str]:
    """A table of all lanes and, where it was measured, the matched comparison.

    Raises:
        KeyError: a field is missing.
    """
    nodes = {mean["drafter"]: mean["nodes"] for mean in bench["means"]}
    taus = {(row["drafter"], row["task"]): row["tau"] for row in bench["rows"]}
    rows = []
    for lane in [one["name"] for one in bench["drafters"]]:
        cells = [figure(taus.get((lane, task))) for task in TASKS]
        if lane in TAU:
            cells = [f"{own} ({theirs:.2f})" for own, theirs in zip(cells, TAU[lane], strict=True)]
        rows.append([f"`{lane}`", figure(nodes.get(lane)), *cells])
    found = [INTRODUCTION, "", *table(("lane", "nodes", *TASKS), rows)]
    pairs = [
        [
            one["task"],
            figure(one["glance"]),
            figure(one["eagle3_chain"]),
            with_interval(one["ratio"], one["ci"]),
            _paper_ratio(one["task"]),
        ]
        for one in bench["matched"]
    ]
    if pairs:
        heads = ("task", OURS, THEIRS, "ratio (95%)", "in the paper")
        found += ["", MATCHED, "", *table(heads, pairs)]
    return found


def _paper_ratio(task: str) -> str:
    if task == POOLED:
        above, below, ratio = MATCHED_POOLED[OURS], MATCHED_POOLED[THEIRS], MATCHED_RATIO
    elif task in TASKS:
        above, below = (MATCHED_TAU[name][TASKS.index(task)] for name in (OURS, THEIRS))
        ratio = above / below
    else:
        return figure(None)
    return f"{ratio:.2f} ({above:.2f} over {below:.2f})"
