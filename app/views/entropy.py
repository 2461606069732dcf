"""Entropy per token: how unsure the target was, in nats, at each token of its answer."""

from __future__ import annotations

from typing import Any

from app.format import count, escape, visible
from app.views.figure import Figure, empty, figure
from app.views.lanes import copied_spans
from glance.replay import RecordedLane
from glance.trace import Line

NAMES = {
    "drafted": "drafted, accepted",
    "bonus": "bonus",
    "corrected": "corrected",
    "target": "target's own",
}
PATTERNS = {"drafted": "", "bonus": ".", "corrected": "/", "target": ""}


def entropy_figure(lane: RecordedLane | None, lines: list[Line], run: str) -> Figure:
    """One bar a token, coloured by origin; lines part the rounds, copied spans are shaded."""
    if lane is None or lane.prefill is None:
        return empty(run, "No tokens yet.")
    text, tokens = lane.text, lane.tokens
    spans = []
    start = 1  # the prefill token belongs to no round
    for step in lane.rounds:
        stop = start + len(step.commit["tokens"])
        spans.append([step.number, start - 0.5, stop - 0.5])
        start = stop
    data = [
        _bars(origin, tokens, text)
        for origin in NAMES
        if any(_origin(token) == origin for token in tokens)
    ]
    shapes = [_rect(start - 0.5, stop - 0.5) for start, stop in copied_spans(lines)]
    if lane.name != "ar":  # there every token is a round of its own
        shapes += [_border(left) for _, left, _ in spans]
    unsure = max(range(len(tokens)), key=lambda i: tokens[i]["h"])
    token = tokens[unsure]
    caption = (
        f"{count(len(tokens), 'token')}; the target was least sure at token {unsure}, "
        f"“{visible(text[token['start'] : token['end']])}”, with {token['h']:.2f} nats."
    )
    return figure(
        data,
        run,
        "token of the answer",
        "entropy (nats)",
        caption=caption,
        shapes=shapes,
        meta={"spans": spans},
        layout={"bargap": 0.1, "barmode": "overlay"},
    )


def _origin(token: dict[str, Any]) -> str:
    return "corrected" if token.get("corrected") else token["origin"]


def _bars(origin: str, tokens: list[dict[str, Any]], text: str) -> dict[str, Any]:
    chosen = [i for i, token in enumerate(tokens) if _origin(token) == origin]
    spelled = [escape(visible(text[tokens[i]["start"] : tokens[i]["end"]])) for i in chosen]
    return {
        "type": "bar",
        "name": NAMES[origin],
        "x": chosen,
        "y": [tokens[i]["h"] for i in chosen],
        "customdata": spelled,
        "hovertemplate": "token %{x} <b>%{customdata}</b><br>%{y:.3f} nats<extra></extra>",
        "marker": {"pattern": {"shape": PATTERNS[origin], "size": 5}},
        "meta": {"role": origin},
    }


def _border(x: float) -> dict[str, Any]:
    place = {"type": "line", "yref": "paper", "x0": x, "x1": x, "y0": 0, "y1": 1}
    return {**place, "line": {"width": 1, "dash": "dot"}, "layer": "below", "name": "line"}


def _rect(x0: float, x1: float) -> dict[str, Any]:
    place = {"type": "rect", "yref": "paper", "x0": x0, "x1": x1, "y0": 0, "y1": 1}
    return {**place, "line": {"width": 0}, "opacity": 0.14, "layer": "below", "name": "copied"}
