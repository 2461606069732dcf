"""What views ask of a trace's lanes, beyond gathering its lines by lane and round."""

from __future__ import annotations

from collections.abc import Iterable

from glance.copying import Span, copy_mode
from glance.replay import RecordedLane
from glance.trace import Line


def focus(found: dict[str, RecordedLane]) -> RecordedLane | None:
    """The lane that the round views show: the first drafting one, else the first of all."""
    drafting = [lane for lane in found.values() if lane.name != "ar"]
    return next(iter(drafting or found.values()), None)


def first(lines: Iterable[Line], kind: str) -> Line | None:
    """The first line of a kind, or None."""
    return next((line for line in lines if line["kind"] == kind), None)


def copied_spans(lines: Iterable[Line]) -> list[Span]:
    """Token ranges [from, to) of the answer in copy mode, if that is known."""
    grounding = first(lines, "grounding")
    return [] if grounding is None else copy_mode(grounding)


def is_copied(token: int, spans: list[tuple[int, int]]) -> bool:
    """Whether the answer's token with this index lies in a copied span."""
    return any(start <= token < stop for start, stop in spans)
