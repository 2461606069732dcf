"""Which spans of an answer stand on the page, and where. Text and boxes only; no torch.

Works on pages whose glyphs are known: it finds the answer's text in their reading order. Spaces
are skipped on both sides, as pages have no glyph for them.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

Box = list[float]  # x0, y0, x1, y1

#: shorter spans stand on any page by chance
SHORTEST = 4


def copied_spans(
    tokens: Sequence[dict[str, Any]],  # token records with start and end
    answer: str,
    glyphs: Sequence[dict[str, Any]],  # {"char", "box" in pixels}, in reading order
    size: tuple[int, int],  # width and height of the page in pixels
) -> list[dict[str, Any]]:
    """Entries of a grounding line: the longest spans found from left to right, not overlapping.

    Boxes are fractions of the page, one for each line of text that a span touches. Confidence is
    one over the number of places where the span stands.
    """
    inked = [glyph for glyph in glyphs if not glyph["char"].isspace()]
    page = "".join(glyph["char"][:1] for glyph in inked)
    places = [offset for offset, char in enumerate(answer) if not char.isspace()]
    letters = "".join(answer[offset] for offset in places)
    spans: list[dict[str, Any]] = []
    at = 0
    follows = 0  # where on the page the span before ended
    while at <= len(letters) - SHORTEST:
        length = _longest(letters, at, page)
        if length < SHORTEST:
            at += 1
            continue
        found = _occurrences(letters[at : at + length], page)
        place = min(found, key=lambda start: (start != follows, start))
        first, last = places[at], places[at + length - 1]
        touched = [n for n, t in enumerate(tokens) if t["start"] <= last and t["end"] > first]
        if touched:
            boxes = _lines([glyph["box"] for glyph in inked[place : place + length]])
            spans.append(
                {
                    "tokens": [touched[0], touched[-1] + 1],
                    "boxes": [fraction(box, size) for box in boxes],
                    "source": "layout",
                    "confidence": round(1.0 / len(found), 3),
                    "approximate": False,
                }
            )
        at, follows = at + length, place + length
    return spans


def _longest(letters: str, at: int, page: str) -> int:
    """Length of the longest text that begins at `at` and stands on the page."""
    length = 0
    while at + length < len(letters) and letters[at : at + length + 1] in page:
        length += 1
    return length


def _occurrences(span: str, page: str) -> list[int]:
    starts = []
    at = page.find(span)
    while at >= 0:
        starts.append(at)
        at = page.find(span, at + 1)
    return starts


def _lines(boxes: Sequence[Box]) -> list[Box]:
    """Boxes joined along each line: a box that overlaps the one before by half its height."""
    joined: list[Box] = []
    for box in boxes:
        if joined:
            last = joined[-1]
            overlap = min(last[3], box[3]) - max(last[1], box[1])
            if overlap >= 0.5 * min(last[3] - last[1], box[3] - box[1]) and box[0] >= last[0]:
                joined[-1] = [
                    last[0],
                    min(last[1], box[1]),
                    max(last[2], box[2]),
                    max(last[3], box[3]),
                ]
                continue
        joined.append(list(box))
    return joined


def fraction(box: Box, size: tuple[int, int]) -> Box:
    """A box in pixels as fractions of a page of `size` (width, height) pixels."""
    width, height = size
    return [
        round(box[0] / width, 4),
        round(box[1] / height, 4),
        round(box[2] / width, 4),
        round(box[3] / height, 4),
    ]
