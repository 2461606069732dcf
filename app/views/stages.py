"""Milliseconds of every round by stage, and what one plain token took beside them."""

from __future__ import annotations

from app.views.figure import Figure, empty, figure
from glance.replay import RecordedLane, Round

#: in the order of a round, with the pattern that tells them apart without colour
STAGES = {"draft": "", "build": "x", "verify": "/", "accept": ".", "commit": "\\", "other": "-"}


def stages_figure(lane: RecordedLane | None, plain: RecordedLane | None, run: str) -> Figure:
    """One stacked bar a round; the dashed line is the mean of a token of the plain lane.

    Args:
        lane: whose rounds are drawn.
        plain: the lane without a drafter, if there is one beside it.
    """
    if lane is None or not lane.rounds:
        return empty(run, "No rounds.")
    rounds = [stage_ms(step) for step in lane.rounds]
    data = [
        {
            "type": "bar",
            "name": stage,
            "x0": lane.rounds[0].number,
            "dx": 1,
            "y": [_short(one[stage]) for one in rounds],
            "hovertemplate": f"round %{{x}}: {stage} %{{y}} ms<extra></extra>",
            "marker": {"pattern": {"shape": pattern, "size": 5}},
            "meta": {"role": stage},
        }
        for stage, pattern in STAGES.items()
        if any(one[stage] for one in rounds)
    ]
    total = sum(sum(one.values()) for one in rounds)
    tokens = sum(len(step.commit["tokens"]) for step in lane.rounds)
    largest = max(STAGES, key=lambda stage: sum(one[stage] for one in rounds))
    share = sum(one[largest] for one in rounds) / total if total else 0.0
    caption = (
        f"A round takes {total / len(rounds):.1f} ms on average, {share:.0%} of it to {largest}: "
        f"{total / tokens:.1f} ms a token."
    )
    shapes = []
    if plain is not None and plain is not lane and plain.rounds:
        alone = sum(sum(stage_ms(step).values()) for step in plain.rounds) / len(plain.rounds)
        caption += f" Token by token, one takes {alone:.1f} ms (dashed line)."
        across = {"type": "line", "xref": "paper", "x0": 0, "x1": 1, "y0": alone, "y1": alone}
        # dashes on a light ground of their own, so that they show on bars of any colour
        shapes.append({**across, "line": {"width": 4}, "name": "card"})
        shapes.append({**across, "line": {"width": 1.5, "dash": "dash"}, "name": "ink"})
    return figure(
        data,
        run,
        "round",
        "ms",
        caption=caption,
        shapes=shapes,
        meta={"by_round": True},
        layout={"barmode": "stack", "bargap": 0.15},
    )


def stage_ms(step: Round) -> dict[str, float]:
    """Milliseconds of a round by stage; a plain round is a target pass and what is around it."""
    if "build" not in step.lines:
        verify, other = step.commit["ms"], step.commit["other"]
        return dict.fromkeys(STAGES, 0.0) | {"verify": verify, "other": other}
    verbs = {stage: step.lines[stage]["ms"] for stage in STAGES if stage != "other"}
    return verbs | {"other": step.commit["other"]}


def _short(ms: float) -> float:
    return round(ms, 1 if ms >= 1 else 2)
