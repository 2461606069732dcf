"""`replay`: a recorded run shown again from its trace. No model, no torch."""

from __future__ import annotations

from argparse import Namespace
from pathlib import Path

from glance.cli.output import note, show, write_json
from glance.cli.run import show_rounds, show_run, summary
from glance.trace import DAMAGE, Line, TraceError, read_trace


def run(options: Namespace) -> int:
    """Print the question, the answer, the lanes' totals and every round."""
    lines = read_trace(options.trace)
    try:
        result = summary(lines)
        _show(lines)
    except DAMAGE as error:
        raise TraceError(f"The trace lacks a field that its schema asks for: {error}.") from error
    write_json(options.json, result)
    if options.html:
        _write_page(options.trace, options.html)
    return 0


def _write_page(trace: Path, path: Path) -> None:
    # Only here does this package reach for the page: the file is made of the page's own scripts.
    from app.replay_file import replay_html

    path.write_text(replay_html(trace.read_text(encoding="utf-8")), encoding="utf-8")
    note(f"wrote {path}")


def _show(lines: list[Line]) -> None:
    header = lines[0]
    for line in lines:
        if line["kind"] == "notice":
            note(line["text"])
    target = header["target"]
    show(f"{header['created']}  {target['name']} {target['dtype']} on {target['device']}")
    show(f"Question: {header['prompt']['question']}")
    show()
    show_run(lines)
    show_rounds(lines)
