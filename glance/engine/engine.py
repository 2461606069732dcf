"""The engine of one target: its static memory, its recorded passes, and who may use them.

One request at a time has the seat. Whoever finds it taken, or asks for what does not fit the
device, decodes without: the tokens are the same.
"""

from __future__ import annotations

import logging
from collections.abc import Iterator
from contextlib import contextmanager
from threading import Lock

import torch
from torch import Tensor

from glance.config import AUTO, DecodeConfig
from glance.drafters.base import Drafter
from glance.drafters.block import BlockDrafter
from glance.engine.build import TreeBuilder
from glance.engine.draft import DraftMemory, DraftPass
from glance.engine.graphs import Pass, Recorder
from glance.engine.passes import Answer, TargetPass
from glance.engine.rows import Place, Rows, padded_context, padded_rows
from glance.engine.store import Store
from glance.engine.universe import Universe, universe
from glance.targets.base import Request, Target

LONGEST_BLOCK = 64  # B of heads whose rounds stay on the device

log = logging.getLogger(__name__)


class EngineError(RuntimeError):
    """The engine cannot take a request; the message is one plain sentence."""


class Engine:
    """Static passes of a target for one request after another."""

    def __init__(self, target: Target) -> None:
        self.target = target
        self._taken = Lock()
        self._forget()

    def _forget(self) -> None:
        """Let go of all memory and recordings."""
        device = self.target.device
        self.place = Place(LONGEST_BLOCK, device)
        self.recorder = Recorder(device)
        self.store: Store | None = None
        self._rows: dict[int, Rows] = {}
        self._passes: dict[tuple, Pass[Answer]] = {}
        self._blocks: dict[tuple, Block] = {}

    @contextmanager
    def seated(self, drafter: Drafter | None, tokens: int, config: DecodeConfig) -> Iterator[Seat]:
        """The seat for a prompt of so many tokens, every pass that it needs recorded.

        Raises:
            EngineError: it is taken, the target is not of the kind, or something did not work.
        """
        if self.target.window is not None:
            raise EngineError("The GPU engine does not know sliding windows.")
        if len({weights.device for weights in self.target.model.parameters()}) > 1:
            raise EngineError("The GPU engine needs all of the model on one device.")
        if not self._taken.acquire(blocking=False):
            raise EngineError("Another run has the GPU engine.")
        try:
            yield self._prepared(drafter, tokens, config)
        finally:
            self._taken.release()

    @torch.inference_mode()
    def _prepared(self, drafter: Drafter | None, tokens: int, config: DecodeConfig) -> Seat:
        rows = padded_rows(config.most_nodes + 1) if drafter else 1
        block = drafter.block_size if drafter else 1
        # warm-up decodes two rounds past any end
        most = tokens + config.max_new_tokens + 2 * block + max(rows, block)
        try:
            if self.store is None or self.store.capacity < most:
                self._forget()
                self.store = Store(self.target, padded_context(most))
            seat = Seat(self, drafter, config)
            seat.prepare(tokens, most)
        except RuntimeError as error:  # out of memory among them
            self._forget()
            if self.target.device.type != "cuda":
                raise  # a defect: nothing is recorded here
            log.exception("the GPU engine failed")
            raise EngineError(
                "The GPU engine did not work here; its log has the details."
            ) from error
        return seat

    def rows(self, count: int) -> Rows:
        """The input of passes over `count` rows, padded."""
        if count not in self._rows:
            self._rows[count] = Rows(count, self.target.device)
        return self._rows[count]

    def target_pass(
        self, rows: int, window: int, taps: tuple[int, ...], measured: bool
    ) -> Pass[Answer]:
        """The recorded pass over `rows` padded rows."""
        key = (rows, window, taps, measured)
        if key not in self._passes:
            assert self.store is not None
            step = TargetPass(
                self.target, self.store, self.place, self.rows(rows), window, taps, measured
            )
            self._passes[key] = self.recorder.record(step)
        return self._passes[key]

    def block(self, drafter: BlockDrafter, node_budget: int) -> Block | None:
        """Draft and build on the device; None where the host has to."""
        key = (drafter, node_budget)
        if key not in self._blocks:
            nodes = universe(drafter.block_size - 1, node_budget, drafter.chain)
            if nodes is None or drafter.block_size > LONGEST_BLOCK:
                return None
            assert self.store is not None
            memory = next(
                (one.memory for (other, _), one in self._blocks.items() if other is drafter),
                None,
            )
            memory = memory or DraftMemory(drafter, self.store.capacity)
            rows = self.rows(padded_rows(min(node_budget, len(nodes)) + 1))
            self._blocks[key] = Block(self, drafter, memory, rows, node_budget, nodes)
        return self._blocks[key]


class Block:
    """Recorded draft and build of a block drafter with a node budget."""

    def __init__(
        self,
        engine: Engine,
        drafter: BlockDrafter,
        memory: DraftMemory,
        rows: Rows,  # where trees go
        node_budget: int,
        nodes: Universe,
    ) -> None:
        self._engine = engine
        self._drafter = drafter
        self._rows = rows
        self.memory = memory
        self.builder = TreeBuilder(nodes, rows, node_budget)
        self._drafts: dict[int, Pass[Tensor]] = {}
        self._build: Pass[Tensor] | None = None

    def absorb(self, features: Tensor) -> None:
        """The prompt's taps: [n, K, d]."""
        at = torch.arange(len(features), device=features.device)
        self.memory.absorb(self._drafter, features, at)

    def draft(self, window: int) -> Pass[Tensor]:
        """The recorded draft pass, which leaves its logits in the memory."""
        if window not in self._drafts:
            step = DraftPass(self._drafter, self.memory, self._engine.place, window)
            self._drafts[window] = self._engine.recorder.record(step)
        return self._drafts[window]

    def build(self) -> Pass[Tensor]:
        """The recorded build, from the logits in the memory to the rows of a verify pass."""
        if self._build is None:
            # no method of the block's: the two would keep each other's memory
            ids, root = self._rows.ids, self._engine.place.root
            builder, logits = self.builder, self.memory.logits

            def build() -> Tensor:
                ids[:1] = root
                return builder.build(logits)

            self._build = self._engine.recorder.record(build)
        return self._build


class Held:
    """Stands for the cache in a request that the engine holds."""

    def __init__(self, rows: int) -> None:
        self.rows = rows

    def get_seq_length(self) -> int:
        """Committed rows."""
        return self.rows


class Seat:
    """What a request uses of the engine."""

    def __init__(self, engine: Engine, drafter: Drafter | None, config: DecodeConfig) -> None:
        self.engine = engine
        self.taps = drafter.taps if drafter else ()
        self._measured = drafter is not None  # plain decoding measures when the watch stands
        self.most_rows = config.most_nodes + 1 if drafter else 1
        self.block: Block | None = None
        if isinstance(drafter, BlockDrafter) and config.node_budget != AUTO:
            self.block = engine.block(drafter, config.most_nodes)
        if self.block:
            self.most_rows = self.block.builder.most_rows  # of a chain fewer than it may have

    def prepare(self, tokens: int, most: int) -> None:
        """Record what a request from `tokens` tokens to `most` rows can need."""
        self.engine.place.move(0, 0, 0, 0)
        window, last = padded_context(tokens + 1), padded_context(most)
        largest = padded_rows(self.most_rows)
        counts = {padded_rows(rows) for rows in range(1, self.most_rows + 1)}
        while window <= last:
            for rows in (largest,) if self.block else sorted(counts):
                self._pass(rows, window)
            if self.block:
                self.block.draft(window)
                self.block.build()
            window *= 2

    def _pass(self, rows: int, window: int) -> Pass[Answer]:
        return self.engine.target_pass(rows, window, self.taps, self._measured)

    @torch.inference_mode()
    def load(self, request: Request) -> Request:
        """Take over a request from its prefill."""
        assert self.engine.store is not None
        self.engine.store.load(request.cache)
        return Request(Held(request.length), request.length, request.rope_delta, request.positions)

    def run(self, request: Request, rows: int) -> Answer:
        """The pass over `rows` rows, as place and rows are set now."""
        rows = padded_rows(rows)
        return self._pass(rows, padded_context(request.length + rows))()

    def draft(self, request: Request) -> None:
        """Draft and leave the logits in the block's memory."""
        assert self.block is not None
        rows = len(self.block.memory.block_ids)
        self.block.draft(padded_context(request.length + rows))()

    def keep(self, request: Request, path: Tensor | None, kept: int) -> None:
        """Commit rows of the last pass: `path` [kept] on the device; None for the first ones."""
        assert self.engine.store is not None
        if path is not None:
            after = self.engine.rows(padded_rows(self.most_rows)).count[:kept] + request.length
            self.engine.store.move(path + request.length, after)
        request.length += kept
        request.cache.rows += kept

    def forward(self, request: Request, ids: Tensor, depths: Tensor) -> tuple[Tensor, None]:
        """Plain decoding's pass over one row, as `Target.forward`; `depths` is known to be 0."""
        self.engine.place.move(request.length, request.rope_delta, request.length, 0)
        self.engine.rows(1).ids.copy_(ids)
        request.cache.rows += 1
        return self.run(request, 1).logits, None
