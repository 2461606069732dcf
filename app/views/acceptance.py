"""Accepted drafted tokens of a run's rounds, as a histogram: rounds in copy mode against others."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from typing import Any

import numpy as np

from app.views.figure import Figure, empty, figure
from app.views.lanes import copy_rounds
from glance.bench_rows import interval
from glance.replay import RecordedLane
from glance.trace import Line

DRAWS = 2000
HOVER = "%{y} with %{x} accepted<extra></extra>"


def acceptance_figure(lane: RecordedLane | None, lines: Sequence[Line], run: str) -> Figure:
    """How many rounds accepted how many drafted tokens; above the bars the means, with 95%."""
    if lane is None or lane.name == "ar" or not lane.rounds:
        return empty(run, "No drafted tokens, so none were accepted.")
    accepted = [step.accepted for step in lane.rounds]
    copied = copy_rounds(lane, lines)
    if copied is None:
        groups = {"accepted": ("rounds", "", accepted)}
        note = "This run has no grounding, so rounds in copy mode are not told apart."
    else:
        pairs = list(zip(accepted, copied, strict=True))
        groups = {
            "copied": ("rounds in copy mode", "/", [a for a, copy in pairs if copy]),
            "accepted": ("other rounds", "", [a for a, copy in pairs if not copy]),
        }
        note = "A round is in copy mode if all the tokens that it committed are."
    groups = {role: group for role, group in groups.items() if group[2]}
    depths = list(range(max(accepted) + 1))
    top = max(max(Counter(values).values()) for _, _, values in groups.values())
    data: list[dict[str, Any]] = []
    words = []
    for place, (role, (name, pattern, values)) in enumerate(groups.items()):
        counts = Counter(values)
        data.append(
            {
                "type": "bar",
                "name": name,
                "x": depths,
                "y": [counts[depth] for depth in depths],
                "hovertemplate": f"{name}: {HOVER}",
                "marker": {"pattern": {"shape": pattern, "size": 6}},
                "meta": {"role": role},
            }
        )
        mean, ci = sum(values) / len(values), mean_interval(values)
        data.append(_mean(role, name, mean, ci, top * (1.12 + 0.1 * place)))
        between = "" if ci is None else f" (95%: {ci[0]:.1f} to {ci[1]:.1f})"
        words.append(f"{name}: {mean:.1f}{between}, n = {len(values)}")
    caption = f"Accepted drafted tokens, means: {'; '.join(words)}. {note}"
    return figure(
        data,
        run,
        "accepted drafted tokens",
        "rounds",
        caption=caption,
        layout={"barmode": "group", "bargap": 0.15},
    )


def mean_interval(values: list[int]) -> tuple[float, float] | None:
    """95% of the mean, drawing rounds with replacement; None of a single round."""
    if len(values) < 2:
        return None
    drawn = np.random.default_rng(0).choice(values, (DRAWS, len(values)))
    return interval(drawn.mean(axis=1))


def _mean(
    role: str, name: str, mean: float, ci: tuple[float, float] | None, height: float
) -> dict[str, Any]:
    low, high = ci or (mean, mean)
    return {
        "type": "scatter",
        "mode": "markers",
        "x": [round(mean, 2)],
        "y": [round(height, 2)],
        "error_x": {
            "symmetric": False,
            "array": [round(high - mean, 2)],
            "arrayminus": [round(mean - low, 2)],
        },
        "hovertemplate": f"{name}: %{{x}} on average<extra></extra>",
        "marker": {"symbol": "diamond", "size": 9},
        "showlegend": False,
        "meta": {"role": role},
    }
