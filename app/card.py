"""A model card as blocks of plain text, which the page draws itself: no HTML, no links."""

from __future__ import annotations

from itertools import groupby
from typing import Any

Block = dict[str, Any]

FRONT_MATTER = "---"


def blocks(markdown: str) -> list[Block]:
    """The headings, paragraphs, tables and code of a card, in order.

    Returns:
        {"kind": "heading", "text" or "code"} with "text", or {"kind": "table"} with "rows" of
        cells; pictures are left out, all other marks stay in the text as they are.
    """
    lines = markdown.splitlines()
    if lines and lines[0] == FRONT_MATTER and FRONT_MATTER in lines[1:]:
        lines = lines[lines.index(FRONT_MATTER, 1) + 1 :]
    return [_block(kind, list(group)) for kind, group in groupby(lines, _kind) if kind != "blank"]


def _kind(line: str) -> str:
    if not line.strip() or line.startswith("!["):
        return "blank"
    if line.startswith("    "):
        return "code"
    if line.startswith("|"):
        return "table"
    return "heading" if line.startswith("#") else "text"


def _block(kind: str, lines: list[str]) -> Block:
    if kind == "table":
        rows = [[cell.strip() for cell in line.strip("| ").split("|")] for line in lines]
        return {"kind": kind, "rows": [row for row in rows if any(set(c) - set("-:") for c in row)]}
    if kind == "code":
        return {"kind": kind, "text": "\n".join(line[4:] for line in lines)}
    return {"kind": kind, "text": " ".join(line.lstrip("# ") for line in lines)}
