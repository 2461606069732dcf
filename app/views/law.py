"""The entropy law on one run: its rounds as points, and the curve that is fitted to them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from app.format import count
from app.views.figure import Figure, empty, figure
from app.views.known_law import known_law
from app.views.lanes import copy_rounds
from glance.law import LEAST_ROUNDS, Law, Rounds, fit
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
        found = recorded([lines])
    except LawError as error:
        return empty(run, str(error))
    rounds = found.rounds
    copied = np.array(copy_rounds(lane, lines) or [False] * len(rounds))
    data = []
    for role, name, symbol, chosen in (
        ("copied", "rounds in copy mode", "square-open", copied),
        ("accepted", "other rounds" if copied.any() else "rounds", "circle", ~copied),
    ):
        if chosen.any():
            data.append(_points(role, name, symbol, rounds.where(chosen), np.flatnonzero(chosen)))
    many = count(len(rounds), "round")
    few = f"{many}: too few to fit the law, which takes {LEAST_ROUNDS}"
    if len(rounds) >= LEAST_ROUNDS:
        law = fit(rounds)
        caption = f"{many}; fitted to them: {_words(law, rounds)}"
        data.append(_curve("fitted law", law, rounds))
    elif known := known_law(found.made_by):
        name = f"law of {known.answers:,} other answers"
        caption = f"{few}. The curve is the {name}: {_words(known.law, rounds)}"
        data.append(_curve(name, known.law, rounds))
    else:
        caption = f"{few}, so no curve is drawn."
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


def _words(law: Law, rounds: Rounds) -> str:
    sign = "-" if law.b1 >= 0 else "+"
    return (
        f"logit p = {law.b0:.2f} {sign} {abs(law.b1):.2f} H, where p is the chance that the next "
        f"drafted token is accepted. It is for a whole block of {rounds.room.max()}."
    )


def _curve(name: str, law: Law, rounds: Rounds) -> dict[str, Any]:
    """As far as the rounds' entropies go."""
    entropy = np.linspace(0.0, float(rounds.entropy.max()), POINTS)
    expected = law.expected(entropy, float(rounds.room.max()))
    return {
        "type": "scatter",
        "mode": "lines",
        "name": name,
        "x": entropy.round(3).tolist(),
        "y": expected.round(2).tolist(),
        "line": {"width": 2.5},
        "hovertemplate": "%{y} expected at %{x} nats<extra></extra>",
        "meta": {"role": "bonus"},
    }
