"""The static path says what the step-by-step path says: ids, trees, verdicts, what rows look like.

Run: python -m pytest tests/engine/test_engine.py
"""

from __future__ import annotations

from functools import cache
from typing import Any

import pytest
import torch

from glance.config import AUTO, MOST_NODES, DecodeConfig
from glance.decode import Decoder
from glance.drafters.hivis import HiViSDrafter
from glance.drafters.medusa import MedusaDrafter
from glance.drafters.ngram import NgramDrafter
from glance.drafters.vispec import ViSpecDrafter
from glance.engine import rows
from glance.engine.choose import best_device, device_name, engine_for
from glance.engine.engine import Engine, EngineError
from glance.heads.hivis import HiViSConfig, HiViSHead
from glance.heads.medusa import MedusaConfig, MedusaHead
from glance.heads.vispec import ViSpecConfig, ViSpecHead
from glance.replay import lanes
from glance.targets.grouped import NAME, grouped_attention
from tests.contract.lossless import drafter, reference
from tests.costs import straight
from tests.eagle_heads import SHAPE, drawn, sizes
from tests.eagle_heads import drafter as eagle_drafter
from tests.tiny_models import IMAGE, prompt, target

FAMILY = "qwen3_vl"
DTYPE = torch.float64
TIMES = ("t", "ms", "other", "tok_s", "decode_ms", "prefill_ms")


@pytest.fixture(autouse=True)
def small_windows(monkeypatch: pytest.MonkeyPatch) -> None:
    """Requests of the tests pass through several context windows."""
    monkeypatch.setattr(rows, "LEAST_CONTEXT", 32)


@cache
def headed(name: str) -> Any:
    """Drafters that need heads, with random ones."""
    tiny = target(FAMILY, DTYPE)
    common = sizes(tiny)
    if name.startswith("eagle"):
        return eagle_drafter(name, tiny)
    if name == "medusa":
        head: Any = MedusaHead(MedusaConfig(tiny.hidden_size, tiny.vocab_size, tiny.num_layers))
        drawn(head)
        return MedusaDrafter(head, tiny)
    if name == "vispec":
        head = ViSpecHead(ViSpecConfig(**common))
        drawn(head)
        return ViSpecDrafter(head, tiny, SHAPE)
    head = HiViSHead(HiViSConfig(**common))
    drawn(head)
    return HiViSDrafter(head, tiny, SHAPE)


def made(name: str, answer: tuple[int, ...]) -> Any:
    """A drafter by name."""
    if name == "ngram":
        return NgramDrafter(IMAGE)
    if name in ("eagle3", "eagle2", "medusa", "vispec", "hivis"):
        return headed(name)
    return drafter(name, FAMILY, DTYPE, "sdpa", answer)


def untimed(value: Any) -> Any:
    """A trace without its times, numbers rounded off."""
    if isinstance(value, dict):
        return {key: untimed(each) for key, each in value.items() if key not in TIMES}
    if isinstance(value, list):
        return [untimed(each) for each in value]
    return pytest.approx(value, abs=2e-4, rel=5e-3) if isinstance(value, float) else value


def both(draft: Any, config: DecodeConfig, engine: Engine, family: str = FAMILY, **kind: Any):
    """Lines of the step-by-step path and of the static one."""
    tiny, ask = target(family, **kind), prompt(family, dtype=kind.get("dtype", torch.float32))
    plain = list(Decoder(tiny, draft, config).stream(ask))
    static = list(Decoder(tiny, draft, config, engine=engine).stream(ask))
    return plain, static


DRAFTERS = ("ar", "glance", "glance-chain", "noisy", "random", "always-wrong", "ngram")
HEADED = ("eagle3", "eagle2", "medusa", "vispec", "hivis")


@pytest.mark.parametrize("name", [*DRAFTERS, *HEADED])
def test_same_trace_for_every_drafter(name):
    answer = reference(FAMILY, DTYPE, "sdpa").ids
    config = DecodeConfig(node_budget=15, max_new_tokens=len(answer))
    engine = Engine(target(FAMILY, DTYPE))
    plain, static = both(made(name, answer), config, engine, dtype=DTYPE)
    assert tuple(next(iter(lanes(static).values())).ids) == answer
    assert [line["kind"] for line in static] == [line["kind"] for line in plain]
    for ours, theirs in zip(static, plain, strict=True):
        assert ours == {**untimed(theirs), **{key: ours[key] for key in TIMES if key in ours}}
    if name == "noisy":
        assert plain[-1]["partial"] >= 3  # or compaction would hardly be tested


@pytest.mark.parametrize("budget", [1, 7, 40])
@pytest.mark.parametrize(
    ("family", "attention"),
    [("qwen3_vl", "eager"), ("qwen2_5_vl", "sdpa"), ("smolvlm", "sdpa"), ("llava", "eager")],
)
def test_same_tokens_and_verdicts_on_every_kind_of_target(family, attention, budget):
    kind = {"dtype": torch.float32, "attention": attention}
    answer = reference(family, torch.float32, attention).ids
    config = DecodeConfig(node_budget=budget, max_new_tokens=len(answer))
    draft = drafter("glance", family, torch.float32, attention)
    plain, static = both(draft, config, Engine(target(family, **kind)), family, **kind)
    assert tuple(lanes(static)["glance"].ids) == answer
    verdicts = [[x["verdict"] for x in lines if x["kind"] == "accept"] for lines in (plain, static)]
    assert verdicts[0] == verdicts[1]
    if budget == 40:
        paths = [verdict["path"] for verdict in verdicts[0]]
        assert any(path != list(range(len(path))) for path in paths)  # rows that had to move


def test_a_grown_head_that_is_often_right_moves_many_rows_a_round(monkeypatch):
    """The random head's logits, with the truth mixed in: paths of several tokens."""
    answer = reference(FAMILY, DTYPE, "sdpa").ids
    tiny = target(FAMILY, DTYPE)
    draft = drafter("glance", FAMILY, DTYPE, "sdpa")
    ask = prompt(FAMILY, dtype=DTYPE)
    tokens = ask.input_ids.shape[1]
    whole = torch.tensor([*answer, *[0] * draft.block_size])
    head = type(tiny).lm_head

    def told(self, hidden):
        logits = head(self, hidden)
        if len(hidden) != draft.block_size - 1:
            return logits
        at = told.at - tokens + 1
        logits = logits * 2
        logits[torch.arange(len(hidden)), whole[at : at + len(hidden)]] += 11.0
        return logits

    monkeypatch.setattr(type(tiny), "lm_head", told)
    engine = Engine(tiny)
    config = DecodeConfig(node_budget=15, max_new_tokens=len(answer))
    results = []
    for chosen in (None, engine):
        told.at = tokens
        lines = []
        for line in Decoder(tiny, draft, config, engine=chosen).stream(ask):
            lines.append(line)
            told.at = line.get("cache", told.at)
        results.append(lines)
    plain, static = results
    assert tuple(lanes(static)["glance"].ids) == answer
    paths = [[x["verdict"]["path"] for x in some if x["kind"] == "accept"] for some in results]
    assert paths[0] == paths[1]
    assert any(len(path) > 2 for path in paths[0])
    assert any(path != list(range(len(path))) for path in paths[0])  # rows that had to move
    for ours, theirs in zip(static, plain, strict=True):
        assert ours == {**untimed(theirs), **{key: ours[key] for key in TIMES if key in ours}}


def test_a_chain_takes_no_more_rows_than_it_has():
    tiny = target(FAMILY, DTYPE)
    draft, config = drafter("glance-chain", FAMILY, DTYPE, "sdpa"), DecodeConfig(MOST_NODES)
    with Engine(tiny).seated(draft, 20, config) as seat:
        assert seat.most_rows == draft.block_size
    with Engine(tiny).seated(drafter("glance", FAMILY, DTYPE, "sdpa"), 20, config) as seat:
        assert seat.most_rows == MOST_NODES + 1


@pytest.mark.parametrize("name", ["glance", "glance-chain"])
def test_an_automatic_node_budget_is_chosen_on_the_host(name):
    answer = reference(FAMILY, DTYPE, "sdpa").ids
    costs = straight([(10.0, 12.0)], [2.0])
    config = DecodeConfig(node_budget=AUTO, max_new_tokens=len(answer), costs=costs)
    draft = drafter(name, FAMILY, DTYPE, "sdpa")
    plain, static = both(draft, config, Engine(target(FAMILY, DTYPE)), dtype=DTYPE)
    assert tuple(lanes(static)[name].ids) == answer
    built = [line["tree"]["id"] for line in static if line["kind"] == "build"]
    assert built == [line["tree"]["id"] for line in plain if line["kind"] == "build"]
    if name == "glance-chain":  # its head is as good as random: hardly a token pays
        assert max(map(len, built)) < draft.block_size


def test_draws_are_the_same_too():
    config = DecodeConfig(node_budget=7, max_new_tokens=40, temperature=0.8, seed=3)
    engine = Engine(target(FAMILY, DTYPE))
    for name in ("ar", "glance", "random"):
        plain, static = both(drafter(name, FAMILY, DTYPE, "sdpa"), config, engine, dtype=DTYPE)
        [ours], [theirs] = lanes(static).values(), lanes(plain).values()
        assert ours.ids == theirs.ids


def test_one_request_at_a_time_and_the_others_say_so():
    tiny, ask = target(FAMILY, DTYPE), prompt(FAMILY, dtype=DTYPE)
    engine = Engine(tiny)
    config = DecodeConfig(max_new_tokens=30)
    draft = drafter("glance", FAMILY, DTYPE, "sdpa")
    expected = Decoder(tiny, draft, config).generate(ask).ids
    first = Decoder(tiny, draft, config, engine=engine).stream(ask)
    begun = [next(first) for _ in range(12)]
    second = list(Decoder(tiny, None, config, engine=engine).stream(ask))
    notice = second[1]
    assert (notice["kind"], notice["code"]) == ("notice", "no-engine")
    assert "Another run" in notice["text"]
    assert tuple(lanes(second)["ar"].ids) == expected
    begun += first
    assert tuple(lanes(begun)["glance"].ids) == expected
    assert not any(line["kind"] == "notice" for line in begun)


def test_a_run_that_is_stopped_or_fails_gives_the_seat_back(monkeypatch):
    tiny, ask = target(FAMILY, DTYPE), prompt(FAMILY, dtype=DTYPE)
    engine = Engine(tiny)
    config = DecodeConfig(max_new_tokens=30)
    decoder = Decoder(tiny, drafter("glance", FAMILY, DTYPE, "sdpa"), config, engine=engine)
    stream = decoder.stream(ask)
    next(stream)
    stream.close()
    decoder.warm_up(ask)
    with monkeypatch.context() as broken:
        broken.setattr("glance.engine.rounds.accept", lambda *_: 1 / 0)
        with pytest.raises(ZeroDivisionError):
            decoder.generate(ask)
    assert not any(line["kind"] == "notice" for line in decoder.stream(ask))


def test_memory_grows_with_the_request_and_is_used_again():
    tiny, ask = target(FAMILY, DTYPE), prompt(FAMILY, dtype=DTYPE)
    engine = Engine(tiny)
    draft = drafter("glance", FAMILY, DTYPE, "sdpa")
    Decoder(tiny, draft, DecodeConfig(max_new_tokens=8), engine=engine).generate(ask)
    small = engine.store
    Decoder(tiny, draft, DecodeConfig(max_new_tokens=200), engine=engine).generate(ask)
    large = engine.store
    assert small is not None
    assert large is not None
    assert large.capacity > small.capacity
    Decoder(tiny, None, DecodeConfig(max_new_tokens=8), engine=engine).generate(ask)
    assert engine.store is large


def test_targets_that_it_does_not_know_are_refused_in_words(monkeypatch):
    tiny = target(FAMILY, DTYPE)
    monkeypatch.setattr(tiny, "window", 16)
    with pytest.raises(EngineError, match="sliding"), Engine(tiny).seated(None, 10, DecodeConfig()):
        pass


def test_a_cpu_has_no_engine():
    assert engine_for(target(FAMILY, DTYPE)) is None
    assert best_device() == ("cuda" if torch.cuda.is_available() else "cpu")


def test_a_card_is_named_in_the_record(monkeypatch):
    monkeypatch.setattr(torch.cuda, "get_device_name", lambda device: f"Card {device.index}")
    assert device_name(torch.device("cuda", 0)) == "Card 0"
    assert device_name(torch.device("cpu")) == "cpu"


def test_attention_is_as_it_was_afterwards():
    layer = target(FAMILY, DTYPE).family.text_layers(target(FAMILY, DTYPE).model)[0].self_attn
    with grouped_attention(target(FAMILY, DTYPE)):
        assert layer.config._attn_implementation == NAME
    assert layer.config._attn_implementation == "sdpa"
