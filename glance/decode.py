"""The decoder: draft, build, verify, accept, commit, until the answer ends.

It streams what happens as plain-value trace lines; `generate` drains the stream. The drafter
decides how many rounds it takes, never what the answer is.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from itertools import count
from typing import Any

import torch
from torch import Tensor

from glance.accept import accept
from glance.autoregressive import PlainRounds
from glance.clock import Clock, clock_for
from glance.config import AUTO, DecodeConfig
from glance.drafters.base import Drafter
from glance.drafters.load import PLAIN
from glance.entropy import RowStats, row_stats
from glance.lane import Lane, digits
from glance.metrics import CONNECTED_ROUNDS, disconnected
from glance.prefix_cache import Prefix
from glance.sampling import Sampler
from glance.targets.base import Request, Target
from glance.trace import Line
from glance.tree import DrafterError, RankedOffsets, candidates, rank_offsets
from glance.types import INPUT, CandidateTree, DraftBlock, Prompt, Verdict
from glance.verify import Verifier


@dataclass(frozen=True, slots=True)
class Generation:
    """A finished answer."""

    ids: tuple[int, ...]  # the prefill token and a final EOS included
    text: str
    stats: Line  # the lane's finish line


class Decoder:
    """Decodes prompts on one target with one drafter.

    Holds nothing of a request: streams may be interleaved, on one decoder or on several that
    share a target. Closing a stream frees what it held.
    """

    def __init__(
        self,
        target: Target,
        drafter: Drafter | None,  # None: plain autoregressive decoding
        config: DecodeConfig | None = None,
        clock: Clock | None = None,
        verifier: Verifier | None = None,
    ) -> None:
        """Put a decoder together.

        Raises:
            DrafterError: the drafter taps layers that the target does not have.
        """
        self.target = target
        self.drafter = drafter
        self.config = config or DecodeConfig()
        self._clock = clock or clock_for(str(target.device))
        taps = drafter.taps if drafter else ()
        known = range(INPUT, target.num_layers)
        if list(taps) != sorted(set(taps)) or any(k not in known for k in taps):
            raise DrafterError(
                f"taps must be ascending layer ids below {target.num_layers}, got {taps}"
            )
        self._taps = taps
        self._verifier = verifier or Verifier(target, taps)

    @property
    def name(self) -> str:
        """Name of the lane that `stream` writes."""
        return self.drafter.name if self.drafter else PLAIN

    def generate(self, prompt: Prompt) -> Generation:
        """Decode to the end.

        Raises:
            PromptError: prompt and answer do not fit the target's context.
        """
        text, ids = "", []
        finish: Line = {}
        for line in self.stream(prompt):
            if line["kind"] == "prefill":
                text += line["root"]["text"]
                ids.append(line["root"]["id"])
            elif line["kind"] == "commit":
                text += line["text"]
                ids.extend(token["id"] for token in line["tokens"])
            elif line["kind"] == "finish":
                finish = line
        return Generation(ids=tuple(ids), text=text, stats=finish)

    def stream(
        self,
        prompt: Prompt,
        run: str = "run",
        numbers: Iterator[int] | None = None,  # `seq` of the lines; from 0 by default
        earlier: Prefix | None = None,  # of a question before, with the features of our taps
        keep: Callable[[Prefix], None] | None = None,  # gets the prompt's rows once it is read
    ) -> Iterator[Line]:
        """The lane's trace lines as they happen: prefill, then whole rounds, then finish.

        A notice comes between rounds where the drafter seems not to get the target's states.
        Rows of the prompt that `earlier` has are not read again; the answer is the same.

        Raises:
            PromptError: prompt and answer do not fit the target's context.
        """
        self.target.check_length(prompt, self.config.max_new_tokens)
        lane = Lane(self.target, self.config, self._clock, self.name, run, numbers or count())
        sampler = Sampler(self.config.temperature, self.config.seed)
        request, features, line = self._prefill(lane, sampler, prompt, earlier)
        if keep:
            keep(Prefix.of(prompt, request, self._taps, features))
        try:
            yield line
            lane.watch.start()
            rounds = self._rounds(lane, request, sampler, prompt, features)
            lane.watch.stop()
            del features  # the prompt's, which are large: the first draft absorbs them
            warning = None
            while lane.reason is None:
                lane.watch.start()
                lines = rounds.round()
                lane.watch.stop()
                yield from lines
                if self._taps and warning is None:
                    warning = disconnected(self.name, lane.committed[-CONNECTED_ROUNDS:])
                    if warning:
                        notice = {"level": "warning", "code": "disconnected", "text": warning}
                        yield lane.line("notice", lines[-1]["t"], **notice)
            passes = self.drafter.passes if self.drafter else 0
            yield lane.finish_line(drafter_passes=passes * lane.rounds)
        finally:
            request.release()

    def warm_up(self, prompt: Prompt, rounds: int = 2) -> None:
        """Prefill and a few rounds, even past the end of the answer; nothing is kept of them."""
        lane = Lane(self.target, self.config, self._clock, self.name, "warm-up")
        sampler = Sampler(self.config.temperature, self.config.seed)
        request, features, _ = self._prefill(lane, sampler, prompt)
        lane.watch.start()
        steps = self._rounds(lane, request, sampler, prompt, features)
        for _ in range(rounds):
            steps.round()
        request.release()

    def _rounds(
        self,
        lane: Lane,
        request: Request,
        sampler: Sampler,
        prompt: Prompt,
        features: Tensor | None,
    ) -> PlainRounds | Rounds:
        if self.drafter is None:
            return PlainRounds(lane, request, sampler)
        out = [*prompt.input_ids[0].tolist(), lane.answer[0]]
        return Rounds(lane, request, sampler, self.drafter, self._verifier, out, features)

    @torch.inference_mode()
    def _prefill(
        self, lane: Lane, sampler: Sampler, prompt: Prompt, earlier: Prefix | None = None
    ) -> tuple[Request, Tensor | None, Line]:
        began = self._clock.now()
        request, logits, features = self.target.prefill(prompt, self._taps, earlier)
        token_id = sampler.pick(logits)
        lane.prefill_ms = self._clock.now() - began
        stats = row_stats(logits[None])
        line = lane.prefill_line(stats, token_id, request.length, request.reused)
        return request, features, line


class Rounds:
    """The rounds of one request: what they carry from one to the next."""

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
        self._lane = lane
        self._request = request
        self._sampler = sampler
        self._drafter = drafter
        self._verifier = verifier
        self._out = out
        self._features = features
        self._state = drafter.start(out[:-1], request.positions)
        self._since = 0.0  # the decode window is accounted for up to here

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

        tree, offsets = self._build(drafted)
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
        self._features = None if verified.features is None else verified.features[path]
        assert request.cache.get_seq_length() == request.length == start + kept == len(out) - 1
        marks.append(now())

        return self._lines(tree, offsets, verified.stats, verdict, fresh[:kept], marks)

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

    def _build(self, drafted: DraftBlock | CandidateTree) -> tuple[CandidateTree, RankedOffsets]:
        config = self._lane.config
        budget = config.most_nodes
        offsets = RankedOffsets([], [], [])
        if isinstance(drafted, DraftBlock):
            theirs, ours = drafted.logits.shape[-1], self._lane.target.vocab_size
            if theirs != ours:
                raise DrafterError(f"the drafter has {theirs} tokens, the target {ours}")
            offsets = rank_offsets(drafted.logits, most=1 if drafted.chain else budget)
        costs = config.costs.round_ms(self._request.length) if config.costs else None
        return candidates(self._out[-1], drafted, offsets, budget, costs), offsets

    def _chooser(self, posterior: list[int], logits: Tensor) -> Callable[[int], int]:
        if self._sampler.greedy:
            return posterior.__getitem__
        return lambda node: self._sampler.pick(logits[node])
