"""The frame that all figures share. Axes, fonts and colours are the style sheet's business.

The page has the trace: it writes the tokens' text into what hovers, where a trace's `meta.words`
says whose ("token", "round"), and knows that a bar at x is round x where `meta.by_round` says so.
"""

from __future__ import annotations

import json
from typing import Any

Figure = dict[str, Any]


def figure(
    data: list[dict[str, Any]],
    run: str,
    x_title: str,
    y_title: str,
    *,
    caption: str,
    shapes: list[dict[str, Any]] | None = None,
    meta: dict[str, Any] | None = None,
    layout: dict[str, Any] | None = None,
) -> Figure:
    """A figure whose zoom outlives its updates: `uirevision` is the run's id.

    Args:
        caption: one sentence in plain words, drawn beside the figure and read by screen readers.
        meta: what the page needs to mark a chosen round: `by_round`, or `ends`, the x where each
            round ends.
    """
    return {
        "data": data,
        "layout": {
            "uirevision": run,
            "template": "none",
            "paper_bgcolor": "rgba(0,0,0,0)",
            "plot_bgcolor": "rgba(0,0,0,0)",
            "margin": {"l": 46, "r": 10, "t": 8, "b": 38},
            "hovermode": "closest",
            "legend": {
                "traceorder": "normal",
                "orientation": "h",
                "x": 0,
                "y": 1.02,
                "yanchor": "bottom",
            },
            "xaxis": {"title": {"text": x_title}, "zeroline": False},
            "yaxis": {"title": {"text": y_title}, "zeroline": False, "rangemode": "tozero"},
            "shapes": shapes or [],
            "meta": {"caption": caption, **(meta or {})},
            **(layout or {}),
        },
    }


def empty(run: str, sentence: str) -> Figure:
    """A figure with no data and one sentence that says why."""
    axis = {"visible": False}
    return figure([], run, "", "", caption=sentence, layout={"xaxis": axis, "yaxis": axis})


def view_value(run: str, figure: Figure) -> str:
    """A figure as the text that a view takes, with the run it belongs to."""
    return json.dumps({"run": run, "figure": figure}, ensure_ascii=False, separators=(",", ":"))
