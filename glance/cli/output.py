"""How the command line speaks: tables and JSON as results, progress on the side. No torch."""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Sequence
from errno import EACCES, EISDIR
from pathlib import Path
from typing import Any

Cell = str | int | float | None

#: control characters but newline and tab: text read from a page or a file must not drive a terminal
CONTROLS = {code: "\ufffd" for code in (*range(32), *range(127, 160)) if code not in (9, 10)}


def note(text: str) -> None:
    """One line of progress."""
    _clear_line()
    print(text.translate(CONTROLS), file=sys.stderr, flush=True)


def live(text: str) -> None:
    """Progress that the next output overwrites; silent where stderr is not a terminal."""
    if sys.stderr.isatty():
        _clear_line()
        print(text, end="", file=sys.stderr, flush=True)


def show(text: str = "") -> None:
    """One line of the result."""
    _clear_line()
    print(text.translate(CONTROLS))


def _clear_line() -> None:
    if sys.stderr.isatty():
        print("\r\x1b[K", end="", file=sys.stderr, flush=True)


def show_table(heads: Sequence[str], rows: Sequence[Sequence[Cell]]) -> None:
    """Columns aligned, numbers to the right; None is a dash."""
    cells = [list(heads), *([_text(cell) for cell in row] for row in rows)]
    widths = [max(len(line[column]) for line in cells) for column in range(len(heads))]
    right = [
        any(isinstance(row[column], int | float) for row in rows) for column in range(len(heads))
    ]
    for line in cells:
        padded = (
            cell.rjust(width) if to_right else cell.ljust(width)
            for cell, width, to_right in zip(line, widths, right, strict=True)
        )
        show("  ".join(padded).rstrip())


def _text(cell: Cell) -> str:
    if cell is None:
        return "-"
    return f"{cell:.2f}" if isinstance(cell, float) else str(cell)


def make_room(path: Path) -> None:
    """Make the folder of a file that is written at the end: a long run is not to fail there.

    Raises:
        OSError: the file could not be written.
    """
    path.parent.mkdir(parents=True, exist_ok=True)
    if path.is_dir():
        raise OSError(EISDIR, os.strerror(EISDIR), str(path))
    if not os.access(path if path.exists() else path.parent, os.W_OK):
        raise OSError(EACCES, os.strerror(EACCES), str(path))


def write_json(path: Path | None, value: Any) -> None:
    """Write a result beside what was printed, when a path was given."""
    if path is None:
        return
    text = json.dumps(value, ensure_ascii=False, indent=2, allow_nan=False)
    path.write_text(text + "\n", encoding="utf-8")
    note(f"wrote {path}")
