"""What drafting and verifying cost on this machine, by context length and node budget.

Measured at load for the cost-aware node budget, and by the command `growth` for people.

The content of the cache does not matter for time, so no prompt is read: one row is repeated to
the context length. Sizes take turns, so that whatever else the machine does hits all alike.
"""

from __future__ import annotations

from collections.abc import Callable, Generator, Sequence
from contextlib import ExitStack
from dataclasses import dataclass
from functools import partial
from statistics import median
from typing import Any, TypeVar

import torch
from torch import Tensor
from transformers import DynamicCache

from glance.budget import CostProfile
from glance.clock import Clock, clock_for
from glance.config import MOST_NODES, DecodeConfig
from glance.drafters.base import Drafter
from glance.engine.choose import engine_for
from glance.engine.engine import EngineError, Held, Seat
from glance.engine.rounds import StaticVerifier
from glance.targets.base import Request, Target
from glance.tree import RankedOffsets, build, rank_offsets
from glance.types import DraftBlock
from glance.verify import Verifier

#: 1 to 64 rows a pass; 4 or 8 rows apart where trees mostly end
NODES = (0, 3, 7, 11, 15, 19, 23, 31, 47, MOST_NODES)
LONGEST = 2048  # tokens of context; time is linear in them, so two lengths tell
REPEATS = 5
COMMITTED = 4  # tokens of a usual round, whose features the next draft takes in

T = TypeVar("T")

#: offsets that a tree of any measured size can be built from; which one hardly matters for time
OFFSETS = RankedOffsets(
    ids=[[0, 1, 2, 3]] * 15, log_p=[[-0.5, -1.5, -2.5, -3.5]] * 15, entropy=[1.0] * 15
)


@dataclass(frozen=True, slots=True)
class PassTimes:
    """Medians in ms."""

    contexts: tuple[int, ...]  # tokens
    nodes: tuple[int, ...]  # drafted tokens of a tree; 0: the root alone, as in plain decoding
    verify_ms: list[list[float]]  # [contexts][nodes], building the tree too
    draft_ms: list[float]  # [contexts]


def measure_costs(
    target: Target,
    drafter: Drafter | None,  # of the run; without one, drafting costs nothing
    clock: Clock | None = None,
    repeats: int = REPEATS,
) -> CostProfile:
    """Medians over `repeats` turns at the present number of threads, made monotone and convex."""
    return _whole(measuring_costs(target, drafter, clock, repeats))


def measuring_costs(
    target: Target, drafter: Drafter | None, clock: Clock | None = None, repeats: int = REPEATS
) -> Generator[None, None, CostProfile]:
    """`measure_costs` piece by piece, for who may have to stop: it takes seconds, a piece does not.

    Closing it ends the measurement; what it returns are the costs.
    """
    longest = min(LONGEST, longest_context(target))
    times = yield from _measuring(
        target, drafter, (max(longest // 4, 1), longest), NODES, clock, repeats
    )
    return CostProfile.fitted(times.contexts, times.nodes, times.verify_ms, times.draft_ms)


def longest_context(target: Target) -> int:
    """Tokens that leave room for the largest tree."""
    return target.max_context - MOST_NODES - 1


def measure_passes(
    target: Target,
    drafter: Drafter | None,
    contexts: Sequence[int],
    nodes: Sequence[int],
    clock: Clock | None = None,
    repeats: int = REPEATS,
) -> PassTimes:
    """Time every pass `repeats` times, all of them in turn."""
    return _whole(_measuring(target, drafter, contexts, nodes, clock, repeats))


def _whole(pieces: Generator[None, None, T]) -> T:
    while True:
        try:
            next(pieces)
        except StopIteration as end:
            return end.value


def _measuring(
    target: Target,
    drafter: Drafter | None,
    contexts: Sequence[int],
    nodes: Sequence[int],
    clock: Clock | None,
    repeats: int,
) -> Generator[None, None, PassTimes]:
    clock = clock or clock_for(str(target.device))
    with ExitStack() as held:
        seat = _seat(held, target, drafter, max(contexts))
        passes = [_Passes(target, drafter, context, seat) for context in contexts]
        yield
        return (yield from _in_turn(passes, contexts, nodes, clock, repeats))


def _seat(held: ExitStack, target: Target, drafter: Drafter | None, longest: int) -> Seat | None:
    """The engine's, where rounds would have it too."""
    engine = engine_for(target)
    try:
        config = DecodeConfig(MOST_NODES, max_new_tokens=1)
        return held.enter_context(engine.seated(drafter, longest, config)) if engine else None
    except EngineError:
        return None


def _in_turn(
    passes: Sequence[_Passes],
    contexts: Sequence[int],
    nodes: Sequence[int],
    clock: Clock,
    repeats: int,
) -> Generator[None, None, PassTimes]:
    verify_ms: list[list[list[float]]] = [[[] for _ in nodes] for _ in contexts]
    draft_ms: list[list[float]] = [[] for _ in contexts]

    def timed(work: Callable[[], None]) -> float:
        began = clock.now()
        work()
        return clock.now() - began

    for turn in range(repeats + 1):
        for at, one in enumerate(passes):
            with torch.inference_mode():  # never past a yield, where it would be the caller's too
                one.draft()  # what follows finds memory as it is in the middle of an answer
                one.verify(nodes[0])
                drafting = timed(one.draft)
                verifying = [timed(partial(one.verify, n)) for n in nodes]
            if turn:  # the first only warms up
                draft_ms[at].append(drafting)
                for own, ms in zip(verify_ms[at], verifying, strict=True):
                    own.append(ms)
            yield
    return PassTimes(
        tuple(contexts),
        tuple(nodes),
        [[median(own) for own in row] for row in verify_ms],
        [median(own) for own in draft_ms],
    )


class _Passes:
    """Draft and verify passes after so many committed tokens."""

    def __init__(
        self, target: Target, drafter: Drafter | None, context: int, seat: Seat | None
    ) -> None:
        self._target = target
        self._drafter = drafter
        taps = drafter.taps if drafter else ()
        if seat and drafter:
            self._verifier: Verifier = StaticVerifier(seat)
            self._request = Request(Held(context), context, rope_delta=0)
        else:
            self._verifier = Verifier(target, taps)
            self._request = _filled(target, context)
        self._out = [0] * (context + 1)
        self._state: Any = drafter.start(self._out[:-1]) if drafter else None
        self._features = self._tapped(context, len(taps))

    def draft(self) -> None:
        """One draft and its ranking; the first call takes in the whole context."""
        if self._drafter is None:
            return
        drafted = self._drafter.draft(self._state, self._out, self._features)
        if isinstance(drafted, DraftBlock):
            rank_offsets(drafted.logits, most=MOST_NODES)
        self._out += [0] * COMMITTED
        self._features = self._tapped(COMMITTED, len(self._drafter.taps))

    def verify(self, nodes: int) -> None:
        """Build and verify a tree, and forget it."""
        tree = build(0, OFFSETS, nodes)
        self._verifier.verify(self._request, tree)
        self._verifier.keep(self._request, tree, ())

    def _tapped(self, rows: int, taps: int) -> Tensor | None:
        target = self._target
        shape = (rows, taps, target.hidden_size)
        return torch.zeros(shape, dtype=target.dtype, device=target.device) if taps else None


@torch.inference_mode()
def _filled(target: Target, context: int) -> Request:
    """A request whose cache holds `context` times the same row."""
    request = Request(DynamicCache(), length=0, rope_delta=0)
    one = torch.zeros(1, dtype=torch.long, device=target.device)
    target.forward(request, one, one)
    for layer in request.cache.layers:
        layer.keys = layer.keys.repeat(1, 1, context, 1)
        layer.values = layer.values.repeat(1, 1, context, 1)
    request.length = context
    return request
