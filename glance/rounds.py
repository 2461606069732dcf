"""Rounds of draft, build, verify, accept and commit, and the trace lines that they write."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import torch
from torch import Tensor

from glance.accept import accept
from glance.config import AUTO
from glance.drafters.base import Drafter
from glance.entropy import RowStats
from glance.lane import Lane, digits
from glance.sampling import Sampler
from glance.targets.base import Request
from glance.trace import Line
from glance.tree import Costs, DrafterError, RankedOffsets, candidates, rank_offsets
from glance.types import CandidateTree, DraftBlock, Verdict
from glance.verify import Verifier


class Round:
    """What all rounds of a request share: how they choose, and how they report."""

    def __init__(
        self,
        lane: Lane,
        request: Request,
        sampler: Sampler,
        drafter: Drafter,
        out: list[int],  # prompt and committed ids; out[-1] is the root token
    ) -> None:
        """After prefill, before the first draft."""
        self._lane = lane
        self._request = request
        self._sampler = sampler
        self._drafter = drafter
        self._out = out
        self._since = 0.0  # the decode window is accounted for up to here

    def round(self) -> list[Line]:
        """Draft, build, verify, accept, commit, once; a line for each."""
        raise NotImplementedError

    def _lines(
        self,
        tree: CandidateTree,
        offsets: RankedOffsets,
        stats: RowStats,
        verdict: Verdict,
        ids: list[int],  # committed
        marks: list[float],  # when the round began and when each verb ended
    ) -> list[Line]:
        """Count the round and put it into words."""
        lane, piece = self._lane, self._lane.target.piece
        lane.target_passes += 1
        lane.rounds += 1
        lane.committed.append(len(ids))
        lane.partial += 0 < verdict.accepted < max(tree.depths)
        tokens, text = lane.commit(
            ids,
            origins=[*["drafted"] * verdict.accepted, "bonus"][: len(ids)],
            stats=stats,
            rows=verdict.path[: len(ids)],
            corrected=verdict.path[-1] in tree.parents,
        )
        bodies: dict[str, dict[str, Any]] = {
            "draft": {
                "size": len(offsets.ids) or len(tree) - 1,
                "h_draft": [round(h, 4) for h in offsets.entropy],
                "drafter_passes": self._drafter.passes,
            },
            "build": {
                "tree": {
                    "parent": list(tree.parents),
                    "id": list(tree.token_ids),
                    "text": [piece(token_id) for token_id in tree.token_ids],
                    "p_draft": [digits(p) for p in tree.p_draft],
                    "rank": list(tree.ranks),
                },
                "node_budget": len(tree) - 1
                if lane.config.node_budget == AUTO
                else lane.config.node_budget,
            },
            "verify": {
                "posterior": stats.posterior,
                "p_target": [digits(p) for p in stats.p_token],
                "h": [round(h, 4) for h in stats.entropy],
            },
            "accept": {
                "verdict": {
                    "path": list(verdict.path),
                    "bonus": {"id": verdict.bonus, "text": piece(verdict.bonus)},
                }
            },
            "commit": {"tokens": tokens, "text": text, "cache": self._request.length},
        }
        lines = []
        for (verb, body), since, until in zip(bodies.items(), marks[:-1], marks[1:], strict=True):
            ms = until - since
            lane.ms[verb] += ms
            lines.append(lane.line(verb, until, r=lane.rounds, ms=round(ms, 3), **body))
        ended = lane.watch.read()
        other = (marks[0] - self._since) + (ended - marks[-1])
        self._since = ended
        lane.ms["other"] += other
        lines[-1]["other"] = round(other, 3)
        return lines

    def _chooser(self, posterior: list[int], logits: Tensor) -> Callable[[int], int]:
        if self._sampler.greedy:
            return posterior.__getitem__
        return lambda node: self._sampler.pick(logits[node])


class Rounds(Round):
    """Rounds step by step, whatever the drafter: what they carry from one to the next."""

    def __init__(
        self,
        lane: Lane,
        request: Request,
        sampler: Sampler,
        drafter: Drafter,
        verifier: Verifier,
        out: list[int],  # prompt and committed ids; out[-1] is the root token
        features: Tensor | None,  # [n, K, d] taps of the prompt
    ) -> None:
        """After prefill, before the first draft."""
        super().__init__(lane, request, sampler, drafter, out)
        self._verifier = verifier
        self._features = features
        self._state = drafter.start(out[:-1], request.positions)
        self._ms = 0.0  # that the rounds up to here should have cost

    @torch.inference_mode()
    def round(self) -> list[Line]:
        """Draft, build, verify, accept, commit, once; a line for each."""
        lane, request, out = self._lane, self._request, self._out
        now = lane.watch.read
        start = request.length
        assert request.cache.get_seq_length() == start == len(out) - 1
        marks = [now()]

        drafted = self._drafter.draft(self._state, out, self._features)
        marks.append(now())

        costs = self._costs(start)
        tree, offsets = self._build(drafted, costs)
        marks.append(now())

        verified = self._verifier.verify(request, tree)
        marks.append(now())

        verdict = accept(tree, self._chooser(verified.stats.posterior, verified.logits))
        marks.append(now())

        fresh = [*(tree.token_ids[node] for node in verdict.path[1:]), verdict.bonus]
        kept = lane.admit(fresh)  # an end token or the limit may cut the round
        path = list(verdict.path[:kept])  # the last kept token becomes the root: no row of its own
        self._verifier.keep(request, tree, path)
        out.extend(fresh[:kept])
        if costs:
            self._ms += costs.round_ms[len(tree) - 1]
        self._features = None if verified.features is None else verified.features[path]
        assert request.cache.get_seq_length() == request.length == start + kept == len(out) - 1
        marks.append(now())

        return self._lines(tree, offsets, verified.stats, verdict, fresh[:kept], marks)

    def _costs(self, context: int) -> Costs | None:
        profile = self._lane.config.costs
        if profile is None:
            return None
        committed = len(self._lane.answer) - 1  # the prefill token is no round's
        return Costs(profile.near(context), profile.nodes, committed, self._ms)

    def _build(
        self, drafted: DraftBlock | CandidateTree, costs: Costs | None
    ) -> tuple[CandidateTree, RankedOffsets]:
        config = self._lane.config
        budget = config.most_nodes
        offsets = RankedOffsets([], [], [])
        if isinstance(drafted, DraftBlock):
            theirs, ours = drafted.logits.shape[-1], self._lane.target.vocab_size
            if theirs != ours:
                raise DrafterError(f"the drafter has {theirs} tokens, the target {ours}")
            offsets = rank_offsets(drafted.logits, most=1 if drafted.chain else budget)
        return candidates(self._out[-1], drafted, offsets, budget, costs), offsets
