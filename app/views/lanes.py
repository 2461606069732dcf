"""What views ask of a trace's lanes, beyond gathering its lines by lane and round."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from glance.copying import Span, copy_mode
from glance.replay import RecordedLane, lanes
from glance.trace import Line


def focus(found: dict[str, RecordedLane]) -> RecordedLane | None:
    """The lane that the round views show: the first drafting one, else the first of all."""
    return next(iter(drafting(found) or found.values()), None)


def drafting(found: dict[str, RecordedLane]) -> list[RecordedLane]:
    """The lanes that have a drafter, in the order in which they ran."""
    return [lane for lane in found.values() if lane.name != "ar"]


def lines_of(lines: Sequence[Line], name: str) -> list[Line]:
    """A trace's lines as if the lane had been the only drafting one.

    The header tells of the first drafter only. Its grounding counts the tokens of one answer, so it
    is dropped where this lane wrote others.

    Raises:
        KeyError: the trace has no such lane.
    """
    found = lanes(lines)
    told = focus(found)
    if told is None or told.name == name:
        return list(lines)
    same = told.ids == found[name].ids

    def kept(line: Line) -> bool:
        return line.get("lane") in (None, name, "ar") or (same and line["kind"] == "grounding")

    return [{**lines[0], "drafter": None}, *filter(kept, lines[1:])]


def first(lines: Iterable[Line], kind: str) -> Line | None:
    """The first line of a kind, or None."""
    return next((line for line in lines if line["kind"] == kind), None)


def copied_spans(lines: Iterable[Line]) -> list[Span]:
    """Token ranges [from, to) of the answer in copy mode, if that is known."""
    grounding = first(lines, "grounding")
    return [] if grounding is None else copy_mode(grounding)


def copy_rounds(lane: RecordedLane, lines: Iterable[Line]) -> list[bool] | None:
    """Which rounds committed nothing but tokens in copy mode; None where nobody looked."""
    grounding = first(lines, "grounding")
    if grounding is None:
        return None
    copied = {token for start, stop in copy_mode(grounding) for token in range(start, stop)}
    found = []
    start = 1  # the prefill token belongs to no round
    for step in lane.rounds:
        stop = start + len(step.commit["tokens"])
        found.append(copied.issuperset(range(start, stop)))
        start = stop
    return found
