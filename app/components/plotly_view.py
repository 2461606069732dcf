"""`plotly_view`: a figure built in Python, drawn by `Plotly.react` on a div that stays.

Gradio's own plot component rebuilds its div at every change and loses the zoom; this keeps both.
"""

from __future__ import annotations

import json
from collections.abc import Callable

import gradio as gr

from app.components.region import PLOTLY_JS, region
from app.views.figure import Figure


def plotly_view(
    kind: str,
    title: str,
    twin: str,
    value: str | None = None,
    server_functions: list[Callable] | None = None,
) -> gr.HTML:
    """One Plotly view with a caption and a text twin.

    Args:
        kind: "tree", "prefix" or "entropy": which script feeds it.
        title: heading of the view.
        twin: what the text twin is called.
        value: a `view_value`.
    """
    template = (
        f"<h3>{title}</h3>"
        '<p class="g-plot-caption"></p>'
        '<div class="g-plot-frame"><div class="g-plot"></div></div>'
        f'<details><summary>{twin}</summary><div class="g-twin" tabindex="0"></div></details>'
    )
    return region(
        kind,
        template,
        value,
        elem_classes=["g-view"],
        server_functions=server_functions,
        libraries=(PLOTLY_JS,),
    )


def view_value(run: str, figure: Figure) -> str:
    """A figure as the text that a view takes, with the run it belongs to."""
    return json.dumps({"run": run, "figure": figure}, ensure_ascii=False, separators=(",", ":"))
