"""`plotly_view`: a figure built in Python, drawn by `Plotly.react` on a div that stays.

Gradio's own plot component rebuilds its div at every change and loses the zoom; this keeps both.
"""

from __future__ import annotations

from collections.abc import Callable

import gradio as gr

from app import templates
from app.components.region import region
from app.static_files import PLOTLY_JS


def plotly_view(
    kind: str,
    value: str | None = None,
    server_functions: list[Callable] | None = None,
) -> gr.HTML:
    """One Plotly view with a caption and a text twin.

    Args:
        kind: "tree", "prefix" or "entropy": which script feeds it.
        value: a `view_value`.
    """
    return region(
        kind,
        templates.VIEWS[kind],
        value,
        elem_classes=["g-view"],
        server_functions=server_functions,
        libraries=(PLOTLY_JS,),
    )
