"""Pure functions from a trace's lines to figures and words: no torch, no gradio.

A figure is a Plotly figure as plain values ({"data": [...], "layout": {...}}): built twenty times
faster than a `plotly.graph_objects.Figure`, which matters while a run shares the processor with
it; the tests put every one through that class's validation. Colours are not in it: each trace and
shape names its role, and the page takes the role's colour from the style sheet.
"""

from app.views.entropy import entropy_figure
from app.views.lanes import drafting, focus, lines_of
from app.views.prefix import prefix_figure
from app.views.study import study
from app.views.summary import summary
from app.views.tabs import tabs
from app.views.tree import tree_figure

__all__ = [
    "drafting",
    "entropy_figure",
    "focus",
    "lines_of",
    "prefix_figure",
    "study",
    "summary",
    "tabs",
    "tree_figure",
]
