"""Accepted prefix per round: how many drafted tokens the target kept, and its bonus on top."""

from __future__ import annotations

from typing import Any

from app.format import count
from app.views.figure import Figure, empty, figure
from app.views.lanes import copy_rounds, first
from glance.replay import RecordedLane
from glance.trace import Line


def prefix_figure(lane: RecordedLane | None, lines: list[Line], run: str) -> Figure:
    """One bar a round; the line is the most that one block can hold."""
    if lane is None or not lane.rounds:
        return empty(run, "No round, so no drafted tokens.")
    if lane.name == "ar":
        return empty(run, "No drafted tokens: plain decoding commits one token a pass.")
    numbers = [step.number for step in lane.rounds]
    kept = [step.accepted for step in lane.rounds]
    own = [len(step.commit["tokens"]) - step.accepted for step in lane.rounds]
    copied = copy_rounds(lane, lines) or []
    hatches = ["/" if one else "" for one in copied] if any(copied) else ""

    def bars(role: str, name: str, heights: list[int], pattern: Any) -> dict[str, Any]:
        return {
            "type": "bar",
            "name": name,
            "x": numbers,
            "y": heights,
            "hovertemplate": "<b>round %{x}</b> · %{y} "
            + name
            + "<br>%{customdata}<extra></extra>",
            "marker": {"pattern": {"shape": pattern, "size": 6}},
            "meta": {"role": role, "words": "round"},
        }

    shapes = []
    header = first(lines, "header") or {}
    block = (header.get("drafter") or {}).get("block_size")
    if block:
        across = {"type": "line", "xref": "paper", "x0": 0, "x1": 1}
        dashes = {"width": 1, "dash": "dash"}
        shapes.append({**across, "y0": block - 1, "y1": block - 1, "line": dashes, "name": "muted"})
    mean = sum(kept) / len(kept)
    caption = (
        f"{count(len(numbers), 'round')}, {mean:.1f} drafted tokens accepted in each on average, "
        f"{max(kept)} at most."
    )
    return figure(
        [
            bars("accepted", "accepted drafted tokens", kept, hatches),
            bars("bonus", "the target's own token", own, "."),
        ],
        run,
        "round",
        "tokens",
        caption=caption,
        shapes=shapes,
        meta={"by_round": True},
        layout={"barmode": "stack", "bargap": 0.15},
    )
