"""Times of one shape: plain decoding, `generate()`, scripted rounds, and the eight-pass draft."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import asdict, dataclass, field
from statistics import median
from typing import Any

import torch
from torch import Tensor, nn

from glance.audit import reference_ids
from glance.bench_gpu.eagle3 import EaglePasses
from glance.bench_gpu.models import random_drafter, random_eagle3, random_target, text_prompt
from glance.bench_gpu.scripted import ScriptedDecoder
from glance.bench_gpu.shapes import Shape
from glance.clock import clock_for
from glance.config import DecodeConfig
from glance.decode import Decoder
from glance.drafters.base import Drafter
from glance.drafters.block import BlockDrafter
from glance.drafters.load import PLAIN
from glance.engine.engine import Engine
from glance.engine.rows import padded_context
from glance.lane import STAGES
from glance.targets.base import Target

TAUS = (1.0, 2.5, 3.91, 4.69)  # 3.91 and 4.69: DocVQA and ChartQA in the paper's main table
BUDGET = 63
REPEATS = 5


@dataclass(frozen=True, slots=True)
class Setting:
    """What is timed on a device."""

    context: int = 1_500  # tokens of prompt
    rounds: int = 100  # of every lane; of plain decoding as many tokens
    copied: int = 1 << 30  # bytes of the tensor whose copy measures bandwidth


@dataclass(frozen=True, slots=True)
class Row:
    """One lane of a shape, in ms."""

    lane: str
    tau: float | None
    token: float  # a token
    whole: float | None = None  # a round
    stages: dict[str, float] = field(default_factory=dict)  # of a round
    speedup: float | None = None  # over plain decoding in the same engine
    of_floor: float | None = None  # bandwidth floor of what a round reads, as a share of it


@dataclass(frozen=True, slots=True)
class Measured:
    """One shape."""

    shape: str
    dtype: str
    context: int
    bandwidth: float  # GB a second, read and written
    rows: list[Row]
    block_draft_ms: float  # one recorded pass of the block head
    eagle3_draft_ms: float  # eight recorded passes
    notices: list[str]  # of runs that could not have the engine

    def to_json(self) -> dict[str, Any]:
        """Plain values."""
        return asdict(self)


def measure(shape: Shape, device: torch.device, dtype: torch.dtype, setting: Setting) -> Measured:
    """Make the models, time them, let them go.

    Raises:
        torch.OutOfMemoryError: they do not fit the device.
        EngineError: the engine, which plays the rounds, cannot be had.
    """
    target = random_target(shape, device, dtype)
    drafter = random_drafter(shape, target)
    engine = Engine(target)
    speed = bandwidth(device, setting.copied)
    seconds = weight_bytes(target) + cache_bytes(shape, setting.context, dtype)
    floor = 1000.0 * seconds / speed
    drafted = floor + 1000.0 * draft_bytes(shape, drafter, target, setting.context) / speed
    notices: list[str] = []
    plain = _lane(Decoder, target, None, engine, setting, notices, [1.0])[0]
    rows = [_against(plain, plain, floor), _generate(target, setting, plain)]
    for row in _lane(ScriptedDecoder, target, drafter, engine, setting, notices, TAUS):
        rows.append(_against(row, plain, drafted))
    block_ms, eagle_ms = _drafts(shape, target, drafter, engine, setting)
    return Measured(
        shape.name,
        target.dtype_name,
        setting.context,
        speed / 1e9,
        rows,
        block_ms,
        eagle_ms,
        list(dict.fromkeys(notices)),
    )


def _lane(
    kind: type[Decoder],
    target: Target,
    drafter: Drafter | None,
    engine: Engine,
    setting: Setting,
    notices: list[str],
    taus: Iterable[float],
) -> list[Row]:
    prompt = text_prompt(target, setting.context)
    rows = []
    for tau in taus:
        tokens = int(setting.rounds * tau) + 1  # the prefill's token belongs to no round
        config = DecodeConfig(BUDGET, tokens, ignore_eos=True)
        decoder = kind(target, drafter, config, engine=engine)
        if isinstance(decoder, ScriptedDecoder):
            decoder.tau = tau
        decoder.warm_up(prompt)
        lines = list(decoder.stream(prompt))
        notices += [line["text"] for line in lines if line.get("code") == "no-engine"]
        finish = lines[-1]
        count, decode_ms = finish["rounds"], finish["decode_ms"]
        name = PLAIN if drafter is None else drafter.name
        stages = {stage: finish["ms"][stage] / count for stage in STAGES}
        rows.append(Row(name, finish["tau"], decode_ms / (tokens - 1), decode_ms / count, stages))
    return rows


def _against(row: Row, plain: Row, floor: float) -> Row:
    assert row.whole is not None
    values = {"speedup": plain.token / row.token, "of_floor": floor / row.whole}
    return Row(row.lane, row.tau, row.token, row.whole, row.stages, **values)


def _generate(target: Target, setting: Setting, plain: Row) -> Row:
    """The model's own `generate()`; a call that ends at the first token is taken off."""
    prompt, clock = text_prompt(target, setting.context), clock_for(str(target.device))
    spent = []
    for tokens in (1, 1, setting.rounds + 1):  # the first call warms up
        began = clock.now()
        reference_ids(target, prompt, DecodeConfig(max_new_tokens=tokens, ignore_eos=True))
        spent.append(clock.now() - began)
    token = (spent[2] - spent[1]) / setting.rounds
    return Row("generate()", None, token, speedup=plain.token / token)


@torch.inference_mode()
def _drafts(
    shape: Shape, target: Target, drafter: BlockDrafter, engine: Engine, setting: Setting
) -> tuple[float, float]:
    """Medians of one block pass and of eight EAGLE-3 passes, both recorded."""
    window = padded_context(setting.context + drafter.block_size)
    eagle = EaglePasses(random_eagle3(shape, target), target, setting.context)
    with engine.seated(drafter, setting.context, DecodeConfig(BUDGET, 2)) as seat:
        assert seat.block is not None
        engine.place.move(setting.context, 0, setting.context, 0)
        block = timed(seat.block.draft(window), target.device)
    return block, timed(engine.recorder.record(eagle), target.device)


def timed(work: Callable[[], Tensor], device: torch.device) -> float:
    """Median ms of a recorded step, the device idle before and after."""
    clock = clock_for(str(device))
    spent = []
    for _ in range(REPEATS):
        began = clock.now()
        work()
        spent.append(clock.now() - began)
    return median(spent)


def bandwidth(device: torch.device, size: int) -> float:
    """Bytes a second, read and written, of a large copy."""
    source = torch.ones(size, dtype=torch.uint8, device=device)
    copy = torch.empty_like(source)
    return 2000.0 * size / timed(lambda: copy.copy_(source), device)


def weight_bytes(target: Target) -> int:
    """What plain decoding reads of the weights for a token: no vision, one row of the embedding."""
    embedding, head = target.model.get_input_embeddings(), target.model.get_output_embeddings()
    text = _bytes(target.model.get_decoder())
    return text - _bytes(embedding) + _bytes(head)


def cache_bytes(shape: Shape, context: int, dtype: torch.dtype) -> int:
    """Keys and values of the target."""
    return 2 * shape.layers * shape.groups * shape.head_dim * context * dtype.itemsize


def draft_bytes(shape: Shape, drafter: BlockDrafter, target: Target, context: int) -> int:
    """What a draft pass reads: the head, the context projections again, lm_head, its context."""
    shared: Sequence[Tensor] = drafter.context_weights
    keys = 2 * shape.draft_layers * shape.groups * shape.head_dim * context
    own = _bytes(drafter.head) + _bytes(target.model.get_output_embeddings())
    return own + sum(each.nbytes for each in shared) + keys * target.dtype.itemsize


def _bytes(module: nn.Module) -> int:
    return sum(weights.nbytes for weights in module.parameters())
