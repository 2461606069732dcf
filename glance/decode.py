"""The decoder: draft, build, verify, accept, commit, until the answer ends.

It streams what happens as plain-value trace lines; `generate` drains the stream. The drafter
decides how many rounds it takes, never what the answer is.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from itertools import count
from typing import ClassVar

import torch
from torch import Tensor

from glance.autoregressive import PlainRounds
from glance.clock import Clock, clock_for
from glance.config import DecodeConfig
from glance.drafters.base import Drafter
from glance.drafters.load import PLAIN
from glance.engine.choose import engine_for
from glance.engine.engine import Engine, EngineError, Seat
from glance.engine.rounds import BlockRounds, StaticVerifier
from glance.entropy import row_stats
from glance.lane import Lane
from glance.metrics import CONNECTED_ROUNDS, disconnected
from glance.prefix_cache import Prefix
from glance.rounds import Round, Rounds
from glance.sampling import Sampler
from glance.targets.base import Request, Target
from glance.trace import Line
from glance.tree import DrafterError
from glance.types import INPUT, Prompt
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

    _block_rounds: ClassVar[type[BlockRounds]] = BlockRounds

    def __init__(
        self,
        target: Target,
        drafter: Drafter | None,  # None: plain autoregressive decoding
        config: DecodeConfig | None = None,
        clock: Clock | None = None,
        verifier: Verifier | None = None,
        engine: Engine | None = None,  # by default the one that `engine_for` chooses
    ) -> None:
        """Put a decoder together; with a verifier of one's own, no engine takes its place.

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
        self._engine = engine or (None if verifier else engine_for(target))

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

        A notice comes between rounds where the drafter seems not to get the target's states, and
        after the prefill where the engine for GPUs cannot be had. Rows of the prompt that `earlier`
        has are not read again; the answer is the same.

        Raises:
            PromptError: prompt and answer do not fit the target's context.
        """
        self.target.check_length(prompt, self.config.max_new_tokens)
        lane = Lane(self.target, self.config, self._clock, self.name, run, numbers or count())
        sampler = Sampler(self.config.temperature, self.config.seed)
        with self._seated(prompt) as (seat, refusal):
            request, features, line = self._prefill(lane, sampler, prompt, seat, earlier, keep)
            try:
                yield line
                if refusal:
                    text = f"{refusal} Decoding goes on step by step: slower, the same tokens."
                    yield lane.line("notice", 0.0, level="info", code="no-engine", text=text)
                lane.watch.start()
                rounds = self._rounds(lane, request, sampler, prompt, features, seat)
                lane.watch.stop()
                del features  # the prompt's, which are large: the first draft absorbs them
                yield from self._decoded(lane, rounds)
            finally:
                request.release()

    def _decoded(self, lane: Lane, rounds: PlainRounds | Round) -> Iterator[Line]:
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

    def warm_up(self, prompt: Prompt, rounds: int = 2) -> None:
        """Prefill and a few rounds, even past the end of the answer; nothing is kept of them."""
        lane = Lane(self.target, self.config, self._clock, self.name, "warm-up")
        sampler = Sampler(self.config.temperature, self.config.seed)
        with self._seated(prompt) as (seat, _):
            request, features, _ = self._prefill(lane, sampler, prompt, seat)
            lane.watch.start()
            steps = self._rounds(lane, request, sampler, prompt, features, seat)
            for _ in range(rounds):
                steps.round()
            request.release()

    @contextmanager
    def _seated(self, prompt: Prompt) -> Iterator[tuple[Seat | None, str]]:
        """The engine's seat, or why it cannot be had; neither where there is no engine."""
        with ExitStack() as held:
            seat, refusal = None, ""
            if self._engine:
                tokens = prompt.input_ids.shape[1]
                try:
                    taken = self._engine.seated(self.drafter, tokens, self.config)
                    seat = held.enter_context(taken)
                except EngineError as error:
                    refusal = str(error)
            yield seat, refusal

    def _rounds(
        self,
        lane: Lane,
        request: Request,
        sampler: Sampler,
        prompt: Prompt,
        features: Tensor | None,
        seat: Seat | None,
    ) -> PlainRounds | Round:
        if self.drafter is None:
            return PlainRounds(lane, request, sampler, (seat or self.target).forward)
        out = [*prompt.input_ids[0].tolist(), lane.answer[0]]
        if seat and seat.block and features is not None:
            return self._block_rounds(lane, request, sampler, self.drafter, seat, out, features)
        verifier = StaticVerifier(seat) if seat else self._verifier
        return Rounds(lane, request, sampler, self.drafter, verifier, out, features)

    @torch.inference_mode()
    def _prefill(
        self,
        lane: Lane,
        sampler: Sampler,
        prompt: Prompt,
        seat: Seat | None,
        earlier: Prefix | None = None,
        keep: Callable[[Prefix], None] | None = None,
    ) -> tuple[Request, Tensor | None, Line]:
        began = self._clock.now()
        request, logits, features = self.target.prefill(prompt, self._taps, earlier)
        reused = request.reused
        saved = earlier.saved_ms(reused) if earlier else 0.0
        if keep:
            read_ms = saved + self._clock.now() - began
            keep(Prefix.of(prompt, request, self._taps, features, read_ms))
        if seat:
            request = seat.load(request)
        token_id = sampler.pick(logits)
        lane.prefill_ms = self._clock.now() - began
        stats = row_stats(logits[None])
        line = lane.prefill_line(stats, token_id, request.length, reused, saved)
        return request, features, line
