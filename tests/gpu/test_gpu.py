"""The engine on a real GPU: recorded passes, memory, users.

Run: python -m pytest -n 0 -m gpu -rs tests/gpu
"""

from __future__ import annotations

import copy
import gc
import threading
from collections.abc import Iterable
from dataclasses import replace
from functools import cache
from pathlib import Path
from typing import Any

import pytest
import torch
from accelerate import dispatch_model

from app.session import DRAFTERS, LANES, Session
from app.settings import Settings
from app.troubles import MEMORY
from glance.audit import full_float32, reference_ids
from glance.config import DecodeConfig
from glance.decode import Decoder
from glance.documents.intake import load_pages
from glance.drafters.block import BlockDrafter
from glance.drafters.toy import NoisyDrafter
from glance.engine.build import TreeBuilder
from glance.engine.rows import Rows, padded_rows
from glance.engine.universe import universe
from glance.replay import lanes
from glance.targets.base import Target
from glance.targets.load import make_target
from glance.trace import Line
from glance.tree import build, rank_offsets
from glance.types import Prompt
from glance.verify import Verifier
from tests import tiny_models
from tests.contract.lossless import random_head
from tests.eagle_heads import drafter as eagle_drafter

pytestmark = [
    pytest.mark.gpu,
    pytest.mark.skipif(not torch.cuda.is_available(), reason="no CUDA device here"),
]

ROOT = Path(__file__).resolve().parents[2]
FAMILIES = ("qwen3_vl", "qwen2_5_vl", "smolvlm", "llava")
TOKENS = 72


@pytest.fixture(autouse=True)
def whole_float32():
    """Products in full float32, in which the promise is identity."""
    with full_float32():
        yield


@cache
def target(family: str, attention: str = "sdpa") -> Target:
    """The tiny target of the family, on the GPU."""
    tiny = tiny_models.target(family, torch.float32, attention)
    model = copy.deepcopy(tiny.model).to("cuda")
    return make_target(family, model, tokenizer=tiny.tokenizer)


def prompt(family: str, seed: int = 0) -> Prompt:
    """Its prompt, there too."""
    ask = tiny_models.prompt(family, seed)
    inputs = {name: value.cuda() for name, value in ask.model_inputs.items()}
    return replace(ask, input_ids=ask.input_ids.cuda(), model_inputs=inputs)


@cache
def block(family: str, attention: str = "sdpa", chain: bool = False) -> BlockDrafter:
    """A random block head on the GPU."""
    head = random_head(family, torch.float32, attention, chain).head
    return BlockDrafter(copy.deepcopy(head), target(family, attention), chain=chain)


def drafter(name: str, family: str, attention: str, answer: list[int]) -> Any:
    """A drafter by name; None for plain decoding."""
    if name == "noisy":
        return NoisyDrafter(answer, tiny_models.VOCAB)
    if name == "eagle3":
        return eagle_drafter("eagle3", target(family, attention))
    return None if name == "ar" else block(family, attention, name == "glance-chain")


def refused(lines: Iterable[Line]) -> list[str]:
    """What was said where the engine could not be had; random heads get other notices."""
    return [line["text"] for line in lines if line.get("code") == "no-engine"]


@pytest.mark.parametrize("name", ["ar", "glance", "glance-chain", "noisy", "eagle3"])
@pytest.mark.parametrize("attention", ["sdpa", "eager"])
@pytest.mark.parametrize("family", FAMILIES)
def test_recorded_and_plain_passes_say_what_generate_says(family, attention, name):
    tiny, ask = target(family, attention), prompt(family)
    config = DecodeConfig(node_budget=40, max_new_tokens=TOKENS)
    expected = reference_ids(tiny, ask, config)
    assert len(set(expected)) >= 15
    draft = drafter(name, family, attention, expected)
    taps = draft.taps if draft else ()
    plain = Decoder(tiny, draft, config, verifier=Verifier(tiny, taps))
    assert list(plain.generate(ask).ids) == expected
    for _ in range(2):  # recorded, then only replayed
        lines = list(Decoder(tiny, draft, config).stream(ask))
        assert not refused(lines)
        assert next(iter(lanes(lines).values())).ids == expected


def test_trees_built_on_the_gpu_are_the_heaps():
    generator = torch.Generator().manual_seed(0)
    nodes = universe(15, 63)
    assert nodes is not None
    builder = TreeBuilder(nodes, Rows(padded_rows(64), torch.device("cuda")), 63)
    for case in range(100):
        logits = torch.randn(15, 300, generator=generator) * 3
        if case % 2:
            logits = logits.round()
        logits = logits.cuda()
        tree, _ = builder.read(7, builder.build(logits).tolist())
        assert tree == build(7, rank_offsets(logits, 63), 63)


@pytest.mark.parametrize("end", ["stop", "exception"])
def test_memory_is_returned(end, monkeypatch):
    tiny, ask = target("qwen3_vl"), prompt("qwen3_vl")
    decoder = Decoder(tiny, block("qwen3_vl"), DecodeConfig(max_new_tokens=TOKENS))
    decoder.generate(ask)

    def held() -> int:
        gc.collect()
        torch.cuda.synchronize()
        return torch.cuda.memory_allocated()

    before = held()
    if end == "stop":
        stream = decoder.stream(ask)
        for _ in range(12):
            next(stream)
        stream.close()
    else:
        with monkeypatch.context() as broken:
            broken.setattr("glance.engine.rounds.accept", lambda *_: 1 / 0)
            with pytest.raises(ZeroDivisionError):
                decoder.generate(ask)
    assert held() <= before
    assert not refused(decoder.stream(ask))


def test_a_pass_keeps_its_result_through_the_passes_that_follow():
    """All that a round reads late lies where no other recording puts what it holds in between."""
    tiny, ask = target("qwen3_vl"), prompt("qwen3_vl")
    config = DecodeConfig(node_budget=15, max_new_tokens=TOKENS)
    draft = block("qwen3_vl")
    plain = Decoder(tiny, draft, config, verifier=Verifier(tiny, draft.taps))
    lines = [list(each.stream(ask)) for each in (plain, Decoder(tiny, draft, config))]
    trees = [[x["tree"]["id"] for x in some if x["kind"] == "build"] for some in lines]
    same = sum(a == b for a, b in zip(*trees, strict=True))
    assert same > 0.9 * len(trees[0])  # not all: rounding may swap two nodes of equal worth


def test_one_user_decodes_while_the_engine_records_for_another():
    tiny, config = target("qwen2_5_vl"), DecodeConfig(node_budget=23, max_new_tokens=TOKENS)
    ask = prompt("qwen2_5_vl")
    expected = reference_ids(tiny, ask, config)
    beside: list[list[int]] = []
    begun, ended = threading.Event(), threading.Event()

    def use() -> None:
        alone = Decoder(tiny, None, config, verifier=Verifier(tiny))
        while not ended.is_set():
            beside.append(list(alone.generate(ask).ids))
            begun.set()

    other = threading.Thread(target=use)
    other.start()
    try:
        assert begun.wait(60)
        lines = list(Decoder(tiny, block("qwen2_5_vl"), config).stream(ask))
    finally:
        ended.set()
        other.join()
    assert not refused(lines)
    assert lanes(lines)["glance"].ids == expected
    assert beside
    assert all(ids == expected for ids in beside)


def test_two_users():
    tiny, config = target("qwen3_vl"), DecodeConfig(max_new_tokens=TOKENS)
    asks = [prompt("qwen3_vl", seed) for seed in (0, 1)]
    expected = [reference_ids(tiny, ask, config) for ask in asks]
    got: list[Any] = [None, None]

    def use(user: int) -> None:
        for _ in range(3):
            got[user] = list(Decoder(tiny, block("qwen3_vl"), config).generate(asks[user]).ids)

    threads = [threading.Thread(target=use, args=(user,)) for user in (0, 1)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert got == expected


def test_where_recording_fails_decoding_goes_on_and_says_so(monkeypatch):
    tiny, ask = target("llava"), prompt("llava")
    config = DecodeConfig(max_new_tokens=TOKENS)
    expected = reference_ids(tiny, ask, config)

    def full(*_: object) -> None:
        raise torch.OutOfMemoryError("CUDA out of memory")

    monkeypatch.setattr("glance.engine.engine.Recorder.record", full)
    monkeypatch.setattr(tiny, "engine", None)  # with nothing recorded yet
    lines = list(Decoder(tiny, block("llava"), config).stream(ask))
    assert len(refused(lines)) == 1
    assert lanes(lines)["glance"].ids == expected


CARDS = [
    pytest.param("cpu", id="offloaded"),  # to main memory; it is computed on the card
    pytest.param(
        1,
        marks=pytest.mark.skipif(torch.cuda.device_count() == 1, reason="one CUDA device here"),
        id="two cards",
    ),
]


@pytest.mark.parametrize("second", CARDS)
@pytest.mark.parametrize("name", ["ar", "glance", "eagle2"])
def test_layers_on_several_devices(second, name):
    tiny, ask = target("qwen3_vl"), prompt("qwen3_vl")
    config = DecodeConfig(node_budget=15, max_new_tokens=TOKENS)
    expected = reference_ids(tiny, ask, config)
    places: dict[str, Any] = {"model.visual": 0, "model.language_model.embed_tokens": 0}
    layers = tiny.num_layers
    for layer in range(layers):
        places[f"model.language_model.layers.{layer}"] = 0 if layer < layers // 2 else second
    for rest in ("model.language_model.norm", "model.language_model.rotary_emb", "lm_head"):
        places[rest] = second
    model = dispatch_model(copy.deepcopy(tiny.model), places)
    spread = make_target("spread", model, tokenizer=tiny.tokenizer)
    assert spread.device.type == "cuda"
    draft: Any = None
    if name == "glance":
        draft = BlockDrafter(copy.deepcopy(block("qwen3_vl").head), spread)
    elif name == "eagle2":
        draft = eagle_drafter("eagle2", spread)
    lines = list(Decoder(spread, draft, config).stream(ask))
    [said] = refused(lines)
    assert "one device" in said
    assert next(iter(lanes(lines).values())).ids == expected


def test_a_full_gpu_is_said_in_words():
    def load() -> Any:
        def run(*_: object):
            torch.empty(1 << 50, dtype=torch.uint8, device="cuda")
            yield {}

        return run

    assert _asked(Session(load), LANES)[0] == MEMORY.text


def test_a_run_of_the_page():
    """With every drafter, on recorded passes."""
    said, lines = _asked(Session(), DRAFTERS)
    assert said == "Done."
    assert not refused(lines)
    texts = {name: lane.text for name, lane in lanes(lines).items()}
    assert set(texts) == set(DRAFTERS)
    assert len(set(texts.values())) == 1


def _asked(session: Session, names: tuple[str, ...]) -> tuple[str, list[Any]]:
    """What the page says at the end of a run, and the run's trace."""
    session.load()
    pages = load_pages(ROOT / "assets" / "samples" / "receipt.png", [1])
    settings = Settings(names, max_tokens=64)
    updates = list(session.run(pages, "What is the total?", settings))
    return updates[-1].text, [line for update in updates for line in update.lines]
