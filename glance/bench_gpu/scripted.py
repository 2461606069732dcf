"""Rounds that accept what a script says, and pay for all the rest."""

from __future__ import annotations

from collections.abc import Iterator

from torch import Tensor

from glance.decode import Decoder
from glance.engine.engine import Seat
from glance.engine.rounds import BlockRounds
from glance.entropy import RowStats
from glance.lane import Lane
from glance.sampling import Sampler
from glance.targets.base import Request
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
    """A decoder whose rounds play back a tau."""

    tau = 1.0

    def _rounds(
        self,
        lane: Lane,
        request: Request,
        sampler: Sampler,
        prompt: Prompt,
        features: Tensor | None,
        seat: Seat | None,
    ) -> ScriptedRounds:
        assert self.drafter is not None
        assert seat is not None
        assert features is not None
        out = [*prompt.input_ids[0].tolist(), lane.answer[0]]
        rounds = ScriptedRounds(lane, request, sampler, self.drafter, seat, out, features)
        rounds.script = played(self.tau)
        return rounds
