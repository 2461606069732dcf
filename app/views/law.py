"""The entropy law on one run: its rounds as points, and the curve that is fitted to them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from app.format import count
from app.views.figure import Figure, empty, figure
from app.views.lanes import copy_rounds
from glance.law import LEAST_ROUNDS, Rounds, fit
from glance.law_rounds import LawError, recorded
from glance.replay import RecordedLane
from glance.trace import Line

POINTS = 40  # of the curve
X_TITLE = "target's entropy at the root token (nats)"
HOVER = "round %{customdata}: %{y} accepted at %{x} nats<extra></extra>"


def law_figure(lane: RecordedLane | None, lines: Sequence[Line], run: str) -> Figure:
    """Accepted drafted tokens over the target's entropy at the root token, a point a round."""
    if lane is None or lane.name == "ar" or not lane.rounds:
        return empty(run, "No drafted rounds: the law is about how many tokens a round accepts.")
    if not lines[0]["drafter"]:
        return empty(run, "The law needs a block size, and only the first drafter's is on record.")
    try:
        rounds = recorded([lines]).rounds
    except LawError as error:
        return empty(run, str(error))
    copied = np.array(copy_rounds(lane, lines) or [False] * len(rounds))
    data = []
    for role, name, symbol, chosen in (
        ("copied", "rounds in copy mode", "square-open", copied),
        ("accepted", "other rounds" if copied.any() else "rounds", "circle", ~copied),
    ):
        if chosen.any():
            data.append(_points(role, name, symbol, rounds.where(chosen), np.flatnonzero(chosen)))
    if len(rounds) < LEAST_ROUNDS:
        few = count(len(rounds), "round")
        caption = (
            f"{few}: too few to fit the law, which takes {LEAST_ROUNDS}, so no curve is drawn."
        )
    else:
        law, block = fit(rounds), int(rounds.room.max())
        sign = "-" if law.b1 >= 0 else "+"
        caption = (
            f"{count(len(rounds), 'round')}; fitted to them: logit p = {law.b0:.2f} {sign} "
            f"{abs(law.b1):.2f} H, where p is the chance that the next drafted token is accepted. "
            f"The curve is for a whole block of {block}."
        )
        entropy = np.linspace(0.0, float(rounds.entropy.max()), POINTS)
        expected = law.expected(entropy, float(block))
        data.append(_curve(entropy.round(3).tolist(), expected.round(2).tolist()))
    return figure(data, run, X_TITLE, "accepted drafted tokens", caption=caption)


def _points(
    role: str, name: str, symbol: str, rounds: Rounds, indices: np.ndarray
) -> dict[str, Any]:
    return {
        "type": "scatter",
        "mode": "markers",
        "name": name,
        "x": rounds.entropy.round(3).tolist(),
        "y": rounds.accepted.tolist(),
        "customdata": (indices + 1).tolist(),
        "hovertemplate": HOVER,
        "cliponaxis": False,
        "marker": {"size": 8, "symbol": symbol, "opacity": 0.75},
        "meta": {"role": role, "picks": True},
    }


def _curve(xs: list[float], ys: list[float]) -> dict[str, Any]:
    return {
        "type": "scatter",
        "mode": "lines",
        "name": "fitted law",
        "x": xs,
        "y": ys,
        "line": {"width": 2.5},
        "hovertemplate": "%{y} expected at %{x} nats<extra></extra>",
        "meta": {"role": "bonus"},
    }
