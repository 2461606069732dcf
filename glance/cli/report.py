"""`report`: the result of a bench goes into README.md and docs/bench.svg. No torch."""

from __future__ import annotations

import json
from argparse import Namespace
from pathlib import Path

from glance.cli.output import note
from glance.report import ReportError, block, rewrite
from glance.report_bars import draw

ROOT = Path(__file__).resolve().parents[2]  # of the repository
PICTURE = "docs/bench.svg"


def run(options: Namespace) -> int:
    """Write both files, or neither when the result cannot be used."""
    try:
        bench = json.loads(options.file.read_text(encoding="utf-8"))
    except ValueError as error:  # not JSON, or not even text
        raise ReportError(f"{options.file} is no result of bench --json.") from error
    page = ROOT / "README.md"
    try:
        text = rewrite(page.read_text(encoding="utf-8"), block(bench, PICTURE))
        drawing = draw(bench)
    except (KeyError, IndexError, TypeError, AttributeError) as error:
        raise ReportError(
            f"{options.file} lacks what a result of bench --json has: {error}."
        ) from error
    for path, content in ((page, text), (ROOT / PICTURE, drawing)):
        path.write_text(content, encoding="utf-8")
        note(f"wrote {path}")
    return 0
