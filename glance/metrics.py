"""metrics: what a lane's trace adds up to. No torch.

The prefill token belongs to no round: it is in the answer, never in tau or in a rate. The last
round, cut by an end token or the limit, counts in tau; `tau_without_last` stands beside it.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from glance.replay import RecordedLane

#: a drafter that reads the target's states commits more than this a round, or it does not get them
CONNECTED_TAU = 1.05
CONNECTED_ROUNDS = 20  # from so many on it can be told


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


def verified_nodes(lane: RecordedLane) -> int:
    """Drafted nodes that the target checked, over all rounds."""
    trees = [round_.lines["build"]["tree"] for round_ in lane.rounds if "build" in round_.lines]
    return sum(len(tree["id"]) - 1 for tree in trees)


def disconnected(name: str, committed: Sequence[int]) -> str | None:
    """What to say of a drafter that reads the target's states and is hardly ever right.

    Text stays right whatever is drafted, so a head that is mis-loaded, or whose features are lost,
    shows here and nowhere else.

    Args:
        name: of the drafter.
        committed: tokens of each of its rounds.
    """
    found = tau(committed)
    if len(committed) < CONNECTED_ROUNDS or found >= CONNECTED_TAU:
        return None
    return (
        f"Drafter disconnected: {name} has {found:.2f} tokens a round over {len(committed)} "
        "rounds, as if it did not see what the target does."
    )


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
