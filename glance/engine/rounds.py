"""Rounds on the engine: of any drafter by a static verify pass, of a block drafter all the way."""

from __future__ import annotations

from collections.abc import Sequence

import torch
from torch import Tensor

from glance.accept import accept
from glance.drafters.base import Drafter
from glance.engine.engine import Seat
from glance.engine.graphs import put
from glance.engine.marks import Marks
from glance.engine.passes import Answer
from glance.engine.rows import padded_rows
from glance.entropy import RowStats, read_table
from glance.lane import Lane
from glance.rounds import Round
from glance.sampling import Sampler
from glance.targets.base import Request
from glance.trace import Line
from glance.types import CandidateTree, Verdict
from glance.verify import Verified, Verifier


class StaticVerifier(Verifier):
    """Verifies trees that the host has, in static passes."""

    def __init__(self, seat: Seat) -> None:
        """For the request that has the seat."""
        super().__init__(seat.engine.target, seat.taps)
        self._seat = seat

    def verify(self, request: Request, tree: CandidateTree) -> Verified:
        """One target pass over the tree and its padding."""
        seat, count = self._seat, len(tree)
        rows = seat.engine.rows(padded_rows(count))
        padding = [0] * (len(rows) - count)
        put(rows.ids, [*tree.token_ids, *padding])
        put(rows.depths, [*tree.depths, *padding])
        put(rows.parents, [0, *tree.parents[1:], *padding])
        visible = torch.eye(len(rows), dtype=torch.bool)
        visible[:count, :count] = torch.from_numpy(self.visible(tree))
        put(rows.visible, visible)
        seat.engine.place.move(request.length, request.rope_delta, request.length, 0)
        logits, features, table = seat.run(request, count)
        assert table is not None
        stats = read_table(table[:count].tolist(), asked=True)
        stats.p_token[0] = 1.0
        return Verified(logits[:count], stats, None if features is None else features[:count])

    def keep(self, request: Request, tree: CandidateTree, path: Sequence[int]) -> None:
        """Commit the path's rows."""
        moved = None
        if list(path) != list(range(len(path))):
            moved = torch.zeros(len(path), dtype=torch.long, device=self._target.device)
            put(moved, path)
        self._seat.keep(request, moved, len(path))


class BlockRounds(Round):
    """Draft, build and verify one after the other on the device; the host waits once, for all."""

    @torch.inference_mode()
    def __init__(
        self,
        lane: Lane,
        request: Request,
        sampler: Sampler,
        drafter: Drafter,
        seat: Seat,
        out: list[int],  # prompt and committed ids; out[-1] is the root token
        features: Tensor,  # [n, K, d] taps of the prompt
    ) -> None:
        """After prefill, before the first draft."""
        super().__init__(lane, request, sampler, drafter, out)
        self._seat = seat
        self._prompt: Tensor | None = features
        start = request.length
        seat.engine.place.move(start, request.rope_delta, start, out[-1])

    @torch.inference_mode()
    def round(self) -> list[Line]:
        """Draft, build, verify, accept, commit, once; a line for each."""
        lane, request, seat, block = self._lane, self._request, self._seat, self._seat.block
        assert block is not None
        assert request.cache.get_seq_length() == request.length == len(self._out) - 1
        marks = Marks(lane.watch.read, seat.engine.target.device)
        if self._prompt is not None:
            block.absorb(self._prompt)
            self._prompt = None
        seat.draft(request)
        marks.launched()
        built = block.build()()
        marks.launched()
        answer = seat.run(request, seat.most_rows)
        marks.launched()
        assert answer.table is not None
        table = torch.cat((built, answer.table.flatten())).tolist()  # waits for the device
        marks.done()

        tree, offsets = block.builder.read(self._out[-1], table[: len(built)])
        stats = _stats(table[len(built) :], len(tree), answer.table.shape[1])
        verdict = self._verdict(tree, stats, answer.logits)
        marks.host()

        fresh = [*(tree.token_ids[node] for node in verdict.path[1:]), verdict.bonus]
        kept = lane.admit(fresh)  # an end token or the limit may cut the round
        self._commit(answer, verdict.path[:kept], fresh[:kept])
        assert request.cache.get_seq_length() == request.length == len(self._out) - 1
        marks.host()
        return self._lines(tree, offsets, stats, verdict, fresh[:kept], marks.ms)

    def _verdict(self, tree: CandidateTree, stats: RowStats, logits: Tensor) -> Verdict:
        return accept(tree, self._chooser(stats.posterior, logits))

    def _commit(self, answer: Answer, path: Sequence[int], ids: Sequence[int]) -> None:
        """Move request, cache and features on by the path's rows."""
        request, seat, block = self._request, self._seat, self._seat.block
        assert block is not None
        assert answer.features is not None
        before, kept = request.length, len(path)
        place = seat.engine.place
        self._out.extend(ids)
        place.move(before + kept, request.rope_delta, before, self._out[-1], path)
        scattered = list(path) != list(range(kept))
        seat.keep(request, place.path[:kept] if scattered else None, kept)
        features = block.memory.features
        torch.index_select(answer.features, 0, place.path[: len(features)], out=features)


def _stats(table: Sequence[float], rows: int, columns: int) -> RowStats:
    """The facts of the first rows of a flat table."""
    cells = [list(table[at : at + columns]) for at in range(0, rows * columns, columns)]
    stats = read_table(cells, asked=True)
    stats.p_token[0] = 1.0
    return stats
