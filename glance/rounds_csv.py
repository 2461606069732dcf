"""Rounds as a table for spreadsheets: CSV, one row a round and lane. No torch.

    round             counted from 1 in its lane; the prefill token belongs to no round
    lane              "ar" or the drafter's name
    nodes             candidates of the tree beside the root token; empty where nothing was drafted
    accepted          accepted drafted tokens that were committed
    committed         tokens committed, the target's own included
    entropy_at_root   of the target at the root token, in nats
    draft_ms ... other_ms   time of each stage, in ms; a plain round has a target pass (verify) only
    text              what the round added to the answer

A spreadsheet may take a cell for a formula that begins with =, +, - or @, after white space or
not, and a run's text may come from anyone's page: such a cell gets an apostrophe in front.
"""

from __future__ import annotations

import csv
import io
from collections.abc import Sequence
from typing import Any

from glance.replay import RecordedLane, Round, lanes
from glance.trace import Line

VERBS = ("draft", "build", "verify", "accept", "commit")
HEADER = (
    "round",
    "lane",
    "nodes",
    "accepted",
    "committed",
    "entropy_at_root",
    *(f"{stage}_ms" for stage in (*VERBS, "other")),
    "text",
)
#: the last four are the full-width forms of = + - @, which some spreadsheets read alike
FORMULA = ("=", "+", "-", "@", "\uff1d", "\uff0b", "\uff0d", "\uff20")


def rounds_csv(lines: Sequence[Line]) -> str:
    """The table of a trace's whole rounds, lane after lane, with a header and CRLF line ends.

    Raises:
        KeyError, TypeError, IndexError: a line lacks what its kind promises.
    """
    out = io.StringIO()
    rows = csv.writer(out)
    rows.writerow(HEADER)
    for lane in lanes(lines).values():
        for round_ in lane.rounds:
            rows.writerow([_cell(value) for value in _row(lane, round_)])
    return out.getvalue()


def _row(lane: RecordedLane, round_: Round) -> list[Any]:
    commit, build = round_.commit, round_.lines.get("build")
    ms = {verb: line.get("ms") for verb, line in round_.lines.items()}
    if build is None:  # a plain round: the `ms` of its one line is the target pass
        ms = {"verify": commit["ms"]}
    return [
        round_.number,
        lane.name,
        len(build["tree"]["parent"]) - 1 if build else None,
        round_.accepted,
        len(commit["tokens"]),
        commit["tokens"][0]["h"],  # the first token was chosen at the root
        *(ms.get(verb) for verb in VERBS),
        commit["other"],
        commit["text"],
    ]


def _cell(value: Any) -> Any:
    """A number as it is, anything else as text that no spreadsheet takes for a formula."""
    if value is None or isinstance(value, int | float):
        return value
    text = str(value)
    return f"'{text}" if text.lstrip().startswith(FORMULA) else text
