"""From traces to the rounds that the entropy law is fitted to, and to groups of them. No torch.

Each trace gives the rounds of its drafter's lane. Task and degradation are in the header of traces
of generated pages (`record`); without them a round is in the pooled group only.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from glance.bench_rows import GROUNDED
from glance.config import AUTO, MOST_NODES
from glance.copying import copy_mode
from glance.documents.mix import TASKS
from glance.law import Rounds
from glance.replay import lanes
from glance.trace import Line

POOLED = "pooled"
UNGROUNDED = "other tasks"
#: sum of the levels of a page's degradations, up to which it belongs to a group
DEGRADATIONS = {
    "clean pages": 0.0,
    "level up to 0.5": 0.5,
    "level up to 1": 1.0,
    "level over 1": float("inf"),
}


class LawError(ValueError):
    """The traces cannot be used together; the message is one plain sentence."""


@dataclass(frozen=True, slots=True)
class Recorded:
    """The rounds of some traces, and what is known about each."""

    made_by: str  # target, drafter and settings, in words
    rounds: Rounds
    task: np.ndarray  # [n] str; "" where unknown
    degradation: np.ndarray  # [n] sum of levels; nan where unknown
    committed: np.ndarray  # [n] tokens
    copied: np.ndarray  # [n] committed tokens in copy mode; nan where unknown

    def group(self, chosen: np.ndarray) -> Group:
        """The rounds that a mask chooses."""
        committed, copied = self.committed[chosen].sum(), self.copied[chosen].sum()
        share = None if np.isnan(copied) or not committed else float(copied / committed)
        return Group(self.rounds.where(chosen), share)


@dataclass(frozen=True, slots=True)
class Group:
    """Rounds that one law is fitted to."""

    rounds: Rounds
    copied: float | None  # share of the committed tokens in copy mode


class _Row(NamedTuple):
    """A round: the columns of Rounds, then those of Recorded, in their order."""

    entropy: float
    accepted: int
    room: int
    page: str
    task: str
    degradation: float
    committed: int
    copied: float


def recorded(traces: Iterable[Sequence[Line]]) -> Recorded:
    """The drafted rounds of all traces.

    Raises:
        LawError: there are none, or they are not of one target, drafter and node budget.
        KeyError: a field is missing.
    """
    rows: list[_Row] = []
    made: set[str] = set()
    for lines in traces:
        header = lines[0]
        if not header["drafter"]:
            continue
        made.add(_maker(header))
        rows += _rows(header, lines)
    if len(made) > 1:
        raise LawError(
            "The traces are not of one target, drafter and node budget: " + "; ".join(sorted(made))
        )
    if not rows:
        raise LawError("The traces have no drafted rounds.")
    columns = [np.array(column) for column in zip(*rows, strict=True)]
    return Recorded(made.pop(), Rounds(*columns[:4]), *columns[4:])


def groups(found: Recorded) -> dict[str, Group]:
    """Pooled, without caption, task by task, grounded and not, by degradation; none is empty."""
    task, degradation = found.task, found.degradation
    masks = {POOLED: np.ones(len(task), bool)}
    if "caption" in task:
        masks["without caption"] = task != "caption"
    masks |= {name: task == name for name in TASKS}
    masks["grounded"] = np.isin(task, GROUNDED)
    masks[UNGROUNDED] = ~masks["grounded"] & (task != "")
    above = -1.0
    for name, most in DEGRADATIONS.items():
        masks[name] = (degradation > above) & (degradation <= most)
        above = most
    return {name: found.group(mask) for name, mask in masks.items() if mask.any()}


def _maker(header: Line) -> str:
    """What one law can hold for."""
    target, drafter, settings = header["target"], header["drafter"], header["settings"]
    return (
        f"{target['name']} {target['revision']} with {drafter['name']} {drafter['revision']}, "
        f"node budget {settings['node_budget']}, temperature {settings['temperature']:g}"
    )


def _rows(header: Line, lines: Sequence[Line]) -> list[_Row]:
    name = header["drafter"]["name"]
    lane = lanes(lines).get(name)
    if lane is None:  # stopped before its first round
        return []
    sample = header.get("sample") or {"task": "", "degradations": None}
    levels = sample["degradations"]
    degradation = np.nan if levels is None else sum(one["level"] for one in levels)
    in_copy_mode = _copied(lines, len(lane.tokens))
    budget = header["settings"]["node_budget"]
    deepest = min(header["drafter"]["block_size"] - 1, MOST_NODES if budget == AUTO else budget)
    rows = []
    at = 1  # the prefill token belongs to no round
    for round_ in lane.rounds:
        committed = len(round_.commit["tokens"])
        # how long the answer is was settled by the target, whatever was drafted
        room = min(deepest, lane.finish["tokens"] - at) if lane.finish else deepest
        copied = np.nan if in_copy_mode is None else float(in_copy_mode[at : at + committed].sum())
        at += committed
        rows.append(
            _Row(
                entropy=round_.lines["verify"]["h"][0],
                accepted=round_.accepted,
                room=room,
                page=header["image"]["sha256"],
                task=sample["task"],
                degradation=degradation,
                committed=committed,
                copied=copied,
            )
        )
    return rows


def _copied(lines: Sequence[Line], tokens: int) -> np.ndarray | None:
    """Which tokens of the answer are in copy mode [tokens]; None where nobody looked."""
    found = next((line for line in lines if line["kind"] == "grounding"), None)
    if found is None:
        return None
    copied = np.zeros(tokens, bool)
    for begin, end in copy_mode(found):
        copied[begin:end] = True
    return copied
