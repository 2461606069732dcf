"""Entropy per token: how unsure the target was, in nats, at each token of its answer."""

from __future__ import annotations

from itertools import accumulate
from typing import Any

from app.format import count, visible
from app.views.figure import Figure, empty, figure
from app.views.lanes import copied_spans
from glance.copying import Span
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
    """One bar a token, coloured by origin; copied spans are shaded, the page parts the rounds."""
    if lane is None or lane.prefill is None:
        return empty(run, "No tokens yet.")
    text, tokens = lane.text, lane.tokens
    sizes = [1, *(len(step.commit["tokens"]) for step in lane.rounds)]  # the prefill token first
    data = [
        _bars(origin, tokens)
        for origin in NAMES
        if any(_origin(token) == origin for token in tokens)
    ]
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
        shapes=_shaded(copied_spans(lines)),
        meta={"ends": [end - 0.5 for end in accumulate(sizes)], "parted": lane.name != "ar"},
        layout={"bargap": 0.1, "barmode": "overlay"},
    )


def _origin(token: dict[str, Any]) -> str:
    return "corrected" if token.get("corrected") else token["origin"]


def _bars(origin: str, tokens: list[dict[str, Any]]) -> dict[str, Any]:
    chosen = [i for i, token in enumerate(tokens) if _origin(token) == origin]
    return {
        "type": "bar",
        "name": NAMES[origin],
        "x": chosen,
        "y": [round(tokens[i]["h"], 2) for i in chosen],
        "hovertemplate": "token %{x} <b>%{customdata}</b><br>%{y:.2f} nats<extra></extra>",
        "marker": {"pattern": {"shape": PATTERNS[origin], "size": 5}},
        "meta": {"role": origin, "words": "token"},
    }


def _shaded(spans: list[Span]) -> list[dict[str, Any]]:
    """One shape for all spans: a shape each would weigh more than the bars."""
    if not spans:
        return []
    path = "".join(f"M{start - 0.5},0H{stop - 0.5}V1H{start - 0.5}Z" for start, stop in spans)
    place = {"type": "path", "path": path, "yref": "paper", "line": {"width": 0}}
    return [{**place, "opacity": 0.14, "layer": "below", "name": "copied"}]
