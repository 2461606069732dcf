"""Where the page's own scripts and styles lie, and Plotly's; scripts in the order they load."""

from __future__ import annotations

from pathlib import Path

import plotly

STATIC = Path(__file__).parent / "static"
PLOTLY_JS = Path(plotly.__file__).parent / "package_data" / "plotly.min.js"


def _scripts(*names: str) -> tuple[Path, ...]:
    return tuple(STATIC / f"{name}.js" for name in names)


#: what draws a run, on the page and in a replay file
DRAWING = _scripts(
    "core",
    "trace",
    "player",
    "places",
    "race",
    "answers",
    "document",
    "panels",
    "which",
    "plots",
    "tabs",
)
PAGE = (*DRAWING, *_scripts("pages", "intake", "controls", "talk", "export", "link", "tour"))
REPLAY = (*DRAWING, *_scripts("replay"))
