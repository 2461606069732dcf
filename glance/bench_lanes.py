"""The lanes of a bench: each answers a prompt once and says what it took, on one clock.

Beside plain decoding (`ar`) and the drafters: the model's own `generate()`, the bare one-row pass
that no plain decoder can undercut, and an oracle that no drafter can outrun.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace

import torch

from glance.audit import reference_ids
from glance.bench_rows import BARE, GENERATE, ORACLE, Sample
from glance.budget import CostProfile
from glance.clock import Clock, clock_for
from glance.config import AUTO, MOST_NODES, DecodeConfig, NodeBudget
from glance.decode import Decoder
from glance.drafters.base import Drafter
from glance.drafters.load import PLAIN
from glance.drafters.toy import OracleDrafter
from glance.metrics import committed_per_round, verified_nodes
from glance.replay import lanes
from glance.targets.base import Target
from glance.types import Prompt


@dataclass(frozen=True, slots=True)
class Threads:
    """How many threads each phase takes: a prefill of many rows may want more than a token."""

    prefill: int
    decode: int


#: prompt, plain decoding's answer to it, threads -> one answer, timed
Run = Callable[[Prompt, Sequence[int], Threads], Sample]


@dataclass(frozen=True, slots=True)
class Contender:
    """A drafter as it runs in a bench: under one name, with a node budget of its own."""

    name: str
    drafter: Drafter
    node_budget: NodeBudget
    costs: Mapping[int, CostProfile] = field(default_factory=dict)  # by threads; needed by AUTO

    @property
    def most_nodes(self) -> int:
        """The most nodes that any of its rounds can have."""
        return MOST_NODES if isinstance(self.node_budget, str) else self.node_budget


class Ceiling(OracleDrafter):
    """Told the answer; it runs no model, and drafts a chain, so no row of a pass is in vain."""

    passes = 0


def make_lanes(
    target: Target,
    contenders: Sequence[Contender],
    config: DecodeConfig,  # but for the node budget
    clock: Clock | None = None,  # the device's by default
) -> dict[str, Run]:
    """Every lane of a bench by name; the oracle drafts as much as any drafter may."""
    using = Timed(target, config, clock or clock_for(str(target.device)))
    block_size = max((one.drafter.block_size for one in contenders), default=16)
    most_nodes = max((one.most_nodes for one in contenders), default=block_size - 1)

    def engine(contender: Contender | None) -> Run:
        return lambda prompt, _answer, threads: using.engine(contender, prompt, threads)

    def oracle(prompt: Prompt, answer: Sequence[int], threads: Threads) -> Sample:
        told = Ceiling(answer, target.vocab_size, block_size=block_size, chain=True)
        return using.engine(Contender(ORACLE, told, most_nodes), prompt, threads)

    return {
        BARE: using.bare,
        PLAIN: engine(None),
        GENERATE: lambda prompt, _answer, threads: using.generate(prompt, threads),
        **{contender.name: engine(contender) for contender in contenders},
        ORACLE: oracle,
    }


class Timed:
    """Answers prompts in three ways. Nothing of a request outlives the call."""

    def __init__(self, target: Target, config: DecodeConfig, clock: Clock) -> None:
        """Greedy decoding only: all ways must give the same answer.

        Raises:
            ValueError: temperature above 0.
        """
        if config.temperature != 0.0:
            raise ValueError("a bench compares greedy answers: temperature must be 0")
        self._target = target
        self._config = config
        self._clock = clock

    def engine(self, contender: Contender | None, prompt: Prompt, threads: Threads) -> Sample:
        """This package's decoder; without a contender, plain decoding."""
        drafter, config = None, self._config
        if contender:
            budget = contender.node_budget
            costs = contender.costs[threads.decode] if budget == AUTO else None
            drafter, config = contender.drafter, replace(config, node_budget=budget, costs=costs)
        decoder = Decoder(self._target, drafter, config, self._clock)
        stream = decoder.stream(prompt)
        torch.set_num_threads(threads.prefill)
        lines = [next(stream)]  # the prefill
        torch.set_num_threads(threads.decode)
        lines.extend(stream)
        lane = lanes(lines)[decoder.name]
        assert lane.finish is not None  # a stream that was drained has ended
        return Sample(
            ids=tuple(lane.ids),
            committed=tuple(committed_per_round(lane)),
            target_passes=lane.finish["target_passes"],
            drafter_passes=lane.finish["drafter_passes"],
            nodes=verified_nodes(lane),
            prefill_ms=lane.finish["prefill_ms"],
            decode_ms=lane.finish["decode_ms"],
            ms=lane.finish["ms"],
            uncertified=lane.finish.get("uncertified"),
        )

    def generate(self, prompt: Prompt, threads: Threads) -> Sample:
        """The model's own `generate()`, which cannot change threads on its way.

        Its decode window is the call less one that stops at the first token, so what `generate()`
        does before it decodes is not held against it. Noise can make that of a very short answer
        negative; cut at 0, a mean over prompts would be biased.
        """
        torch.set_num_threads(threads.decode)
        began = self._clock.now()
        reference_ids(self._target, prompt, replace(self._config, max_new_tokens=1))
        prefill_ms = self._clock.now() - began
        began = self._clock.now()
        ids = reference_ids(self._target, prompt, self._config)
        whole_ms = self._clock.now() - began
        return _one_pass_a_token(ids, prefill_ms, whole_ms - prefill_ms)

    @torch.inference_mode()
    def bare(self, prompt: Prompt, answer: Sequence[int], threads: Threads) -> Sample:
        """The model's forward alone, fed the answer token by token at the same context.

        Inputs and positions are made before the window opens; what the model would have chosen is
        looked up when it has closed.
        """
        target = self._target
        torch.set_num_threads(threads.prefill)
        began = self._clock.now()
        request, logits, _ = target.prefill(prompt)
        ids = [int(logits.argmax())]
        prefill_ms = self._clock.now() - began
        torch.set_num_threads(threads.decode)
        depth = torch.zeros(1, dtype=torch.long, device=target.device)
        first = request.length + request.rope_delta
        inputs = [
            (torch.full_like(depth, token)[None], target.family.step_positions(first + at, depth))
            for at, token in enumerate(answer[:-1])
        ]
        rows = []
        began = self._clock.now()
        for token_ids, positions in inputs:
            out = target.model(
                input_ids=token_ids, position_ids=positions, cache=request.cache, use_cache=True
            )
            rows.append(out.logits)
        decode_ms = self._clock.now() - began
        request.release()
        ids += [int(row[0, -1].argmax()) for row in rows]
        return _one_pass_a_token(ids, prefill_ms, decode_ms)


def _one_pass_a_token(ids: Sequence[int], prefill_ms: float, decode_ms: float) -> Sample:
    passes = len(ids) - 1
    return Sample(tuple(ids), (1,) * passes, passes, 0, 0, prefill_ms, decode_ms, {})
