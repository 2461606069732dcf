"""Accepted prefix per round: how many drafted tokens the target kept, and its bonus on top."""

from __future__ import annotations

from typing import Any

from app.format import count, escape, visible
from app.views.figure import Figure, empty, figure
from app.views.lanes import copied_spans, first, is_copied
from glance.replay import RecordedLane
from glance.trace import Line


def prefix_figure(lane: RecordedLane | None, lines: list[Line], run: str) -> Figure:
    """One bar a round; the line is the most that one block can hold."""
    if lane is None or lane.name == "ar" or not lane.rounds:
        return empty(run, "No drafted tokens: plain decoding commits one token a pass.")
    numbers = [step.number for step in lane.rounds]
    kept = [step.accepted for step in lane.rounds]
    own = [len(step.commit["tokens"]) - step.accepted for step in lane.rounds]
    hover = _hover(lane)
    hatches = ["/" if copied else "" for copied in _copy_rounds(lane, copied_spans(lines))]

    def bars(role: str, name: str, heights: list[int], pattern: Any) -> dict[str, Any]:
        return {
            "type": "bar",
            "name": name,
            "x": numbers,
            "y": heights,
            "hovertext": hover,
            "hovertemplate": "%{hovertext}<extra></extra>",
            "marker": {"pattern": {"shape": pattern, "size": 6}},
            "meta": {"role": role},
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
        meta={"spans": [[n, n - 0.5, n + 0.5] for n in numbers], "hatched": any(hatches)},
        layout={"barmode": "stack", "bargap": 0.15},
    )


def _hover(lane: RecordedLane) -> list[str]:
    text = lane.text
    words = []
    for step in lane.rounds:
        tokens = step.commit["tokens"]
        spelled = visible(text[tokens[0]["start"] : tokens[-1]["end"]]) if tokens else ""
        made = f"{step.accepted} accepted + {len(tokens) - step.accepted} of the target's own"
        words.append(f"<b>round {step.number}</b> · {made}<br>{escape(spelled)}")
    return words


def _copy_rounds(lane: RecordedLane, spans: list[tuple[int, int]]) -> list[bool]:
    index = 1  # the prefill token is token 0
    copied = []
    for step in lane.rounds:
        indices = range(index, index + len(step.commit["tokens"]))
        copied.append(all(is_copied(i, spans) for i in indices))
        index = indices.stop
    return copied
