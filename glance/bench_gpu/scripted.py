"""Rounds that accept what a script says, and pay for all the rest."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from torch import Tensor

from glance.decode import Decoder
from glance.engine.engine import EngineError, Seat
from glance.engine.rounds import BlockRounds
from glance.entropy import RowStats
from glance.types import CandidateTree, Prompt, Verdict


def played(tau: float) -> Iterator[int]:
    """Tokens a round, whole ones, tau on average."""
    done, rounds = 0, 0
    while True:
        rounds += 1
        committed = int(rounds * tau + 1e-9) - done
        done += committed
        yield committed


class ScriptedRounds(BlockRounds):
    """Accepts a script's number of rows, spread over the tree, so that commit always moves them."""

    script: Iterator[int]

    def _verdict(self, tree: CandidateTree, stats: RowStats, logits: Tensor) -> Verdict:
        accepted = next(self.script) - 1
        last = len(tree) - 1
        path = (0, *(last * step // accepted for step in range(1, accepted + 1)))
        return Verdict(path, stats.posterior[path[-1]])


class ScriptedDecoder(Decoder):
    """A decoder whose rounds play back a tau, on the engine alone."""

    _block_rounds = ScriptedRounds
    tau = 1.0

    @contextmanager
    def _seated(self, prompt: Prompt) -> Iterator[tuple[Seat | None, str]]:
        """The engine's seat; what decoding would go on without is the end of a script."""
        with super()._seated(prompt) as (seat, refusal):
            if refusal:
                raise EngineError(refusal)
            yield seat, refusal

    def _rounds(self, *given: Any, **named: Any) -> ScriptedRounds:
        rounds = super()._rounds(*given, **named)
        assert isinstance(rounds, ScriptedRounds)
        rounds.script = played(self.tau)
        return rounds
