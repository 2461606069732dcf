"""metrics: what a lane's trace adds up to. No torch.

The prefill token belongs to no round: it is in the answer, never in tau or in a rate. The last
round, cut by an end token or the limit, counts in tau; `tau_without_last` stands beside it.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from glance.replay import RecordedLane


@dataclass(frozen=True, slots=True)
class Speedup:
    """How many times less time a token takes than in the plain lane, same machine, same process."""

    decode: float  # window opens when the prefill token is known
    #: vision tower and prefill included; preprocessing (tokens, pixels) is not on the clock
    end_to_end: float


def committed_per_round(lane: RecordedLane) -> list[int]:
    """Tokens that each round added to the answer."""
    return [len(round_.commit["tokens"]) for round_ in lane.rounds]


def tau(committed: Sequence[int]) -> float:
    """Acceptance length: tokens committed in rounds / rounds, pooled; 0 without rounds."""
    return sum(committed) / len(committed) if committed else 0.0


def tau_without_last(committed: Sequence[int]) -> float:
    """The same without the round that was cut."""
    return tau(committed[:-1])


def speedup(plain: RecordedLane, drafted: RecordedLane) -> Speedup | None:
    """Plain ms a token over drafted ms a token; None until both lanes have finished rounds."""
    if not (plain.finish and drafted.finish and plain.rounds and drafted.rounds):
        return None
    slow, fast = plain.finish["tok_s"], drafted.finish["tok_s"]
    if not (slow["decode"] and slow["end_to_end"]):
        return None
    return Speedup(
        decode=fast["decode"] / slow["decode"],
        end_to_end=fast["end_to_end"] / slow["end_to_end"],
    )
