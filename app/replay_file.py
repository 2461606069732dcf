"""A run as one HTML file: the page's own scripts and styles, Plotly and the trace, all inside.

It opens from a disk without a server or a network, and its policy forbids both. What the trace says
stands in the file as JSON only, from where the scripts write it with `textContent`. The same trace
always gives the same file.
"""

from __future__ import annotations

import base64
import gzip
import hashlib
import json
from functools import cache
from typing import Any

from app import templates
from app.frames import lane_figures, replayed
from app.picture import take_picture
from app.static_files import PLOTLY_JS, REPLAY, STATIC
from app.theme import css_variables
from app.views import drafting, tree_figure
from glance.replay import lanes
from glance.trace import parse_trace, whole_lines


def replay_html(text: str) -> str:
    """The file for a trace's text; with the page's picture if the trace carries it.

    Raises:
        TraceError: the text is no trace, or a damaged one.
    """
    with whole_lines():
        data = json.dumps(_data(text), separators=(",", ":"), allow_nan=False)
    # only "<" can end a script element early, and JSON can spell it otherwise
    data = data.replace("<", "\\u003c")
    script = "\n".join(path.read_text(encoding="utf-8") for path in REPLAY)
    sheets = [(STATIC / name).read_text(encoding="utf-8") for name in ("style.css", "replay.css")]
    plotly, plotly_hash = _plotly()
    policy = (
        f"default-src 'none'; script-src '{_hash(script)}' '{plotly_hash}'; "
        "style-src 'unsafe-inline'; img-src data:; base-uri 'none'; form-action 'none'"
    )
    return f"""<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta http-equiv="Content-Security-Policy" content="{policy}">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>GLANCE replay</title>
<style>{css_variables()}{"".join(sheets)}</style>
</head>
<body>
{templates.REPLAY}
<script type="application/json" id="g-data">{data}</script>
<script type="application/gzip" id="g-plotly">{plotly}</script>
<script>{script}</script>
</body>
</html>
"""


def _data(text: str) -> dict[str, Any]:
    """The regions' values as the page would get them, and the tree of every round by lane.

    Of two drafting lanes the figures of each are there too, as the reader may choose either.
    """
    text, picture = take_picture(text)
    lines = parse_trace(text)
    frame = replayed(text, "recorded", lines=lines)
    drafted = drafting(lanes(lines))
    values = {
        "status": json.dumps({"text": "Replay from a file"}),
        "channel": frame.trace,
        "document": picture or "null",
        "race": None,
        "summary": frame.summary,
        "answers": None,
        "scrubber": None,
        "which": None,
        "tree": frame.tree,
        "prefix": frame.prefix,
        "entropy": frame.entropy,
        "tabs": frame.tabs,
        "state": frame.state,
    }
    trees = {
        lane.name: {
            step.number: tree_figure(step, lines[0]["run"])
            for step in lane.rounds
            if "build" in step.lines
        }
        for lane in drafted
    }
    figures = {lane.name: lane_figures(lines, lane.name) for lane in drafted if len(drafted) > 1}
    return {"values": values, "trees": trees, "lanes": figures}


@cache
def _plotly() -> tuple[str, str]:
    """Plotly packed to 2 of its 5 MB, and the hash of its source."""
    source = PLOTLY_JS.read_text(encoding="utf-8")
    packed = gzip.compress(source.encode(), mtime=0)
    return base64.b64encode(packed).decode("ascii"), _hash(source)


def _hash(script: str) -> str:
    """A script as a Content-Security-Policy names it."""
    digest = hashlib.sha256(script.encode()).digest()
    return "sha256-" + base64.b64encode(digest).decode("ascii")
