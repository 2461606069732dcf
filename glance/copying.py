"""Copy mode: the stretches of an answer that the page decided. No torch.

Read from the grounding line of a trace, so that views, the law and a person with the file alone
mean the same by it.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

#: nats that the page must add to a token's log-probability, averaged over a stretch: 1 nat makes
#: the tokens e times as likely as behind a blank page
COPY_NATS = 1.0

Span = tuple[int, int]  # tokens [from, to) of the answer


def copy_mode(grounding: dict[str, Any]) -> list[Span]:
    """The stretches in copy mode, in order.

    They are the maximal scoring subsequences (Ruzzo and Tompa, 1999) of the tokens' gains, each
    less COPY_NATS: the average is above it however a stretch is cut short at one end, and a
    letter that goes without saying does not end a copied word. A line of an older trace has no
    gains; its copied spans were found on the page.
    """
    gains = grounding.get("gain")
    if gains is None:
        return [(span["tokens"][0], span["tokens"][1]) for span in grounding["copy"]]
    scores = [gain - COPY_NATS for gain in gains]
    spans: list[Span] = []
    parts = [(0, len(scores))]
    while parts:
        begin, end = parts.pop()
        best = _best(scores, begin, end)
        if best is not None:
            spans.append(best)
            parts += [(begin, best[0]), (best[1], end)]
    return sorted(spans)


def _best(scores: Sequence[float], begin: int, end: int) -> Span | None:
    """The stretch of [begin, end) with the largest sum, None where none is above 0 (Kadane)."""
    best: Span | None = None
    most, total, start = 0.0, 0.0, begin
    for at in range(begin, end):
        if total <= 0.0:
            total, start = 0.0, at
        total += scores[at]
        if total > most:
            most, best = total, (start, at + 1)
    return best
