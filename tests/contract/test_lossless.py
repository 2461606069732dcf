"""Every lane says what `model.generate(do_sample=False)` says, token by token.

Run: python -m pytest tests/contract
"""

import threading

import pytest
import torch

from glance.audit import reference_ids
from glance.config import AUTO, MOST_NODES, DecodeConfig
from glance.decode import Decoder
from glance.replay import lanes
from tests.contract.lossless import (
    DRAFTERS,
    LOGIT_BOUNDS,
    CausalMask,
    CropOnly,
    NoRopeDelta,
    Recorder,
    SlotPositions,
    check,
    check_another_image,
    check_interleaved,
    drafter,
    reference,
)
from tests.costs import straight
from tests.tiny_models import FAMILIES, MROPE, prompt, target

KINDS = sorted(LOGIT_BOUNDS, key=str)


@pytest.mark.parametrize("name", DRAFTERS)
@pytest.mark.parametrize(("dtype", "attention"), KINDS, ids=lambda value: str(value))
@pytest.mark.parametrize("family", FAMILIES)
def test_same_tokens_and_logits_as_generate(family, dtype, attention, name):
    expected = reference(family, dtype, attention)
    draft = drafter(name, family, dtype, attention, expected.ids)
    tiny, ask = target(family, dtype, attention), prompt(family, dtype=dtype)
    result = check(tiny, ask, draft, expected, LOGIT_BOUNDS[dtype, attention])
    if name == "oracle":
        assert result.stats["tau"] > 14
    if name == "always-wrong":
        assert result.stats["tau"] == 1.0
    if name == "noisy":
        assert result.stats["partial"] >= 3  # or compaction would hardly be tested


@pytest.mark.parametrize("budget", [1, 2, 7, 40])
@pytest.mark.parametrize("family", FAMILIES)
def test_any_node_budget_gives_the_same_tokens(family, budget):
    expected = reference(family, torch.float64, "sdpa")
    tiny, ask = target(family, torch.float64), prompt(family, dtype=torch.float64)
    config = DecodeConfig(max_new_tokens=len(expected.ids), node_budget=budget)
    for name in ("noisy", "glance"):
        draft = drafter(name, family, torch.float64, "sdpa", expected.ids)
        assert Decoder(tiny, draft, config).generate(ask).ids == expected.ids


@pytest.mark.parametrize("ms_a_node", [0.05, 0.4, 20.0])
@pytest.mark.parametrize("family", FAMILIES)
def test_an_automatic_node_budget_gives_the_same_tokens(family, ms_a_node):
    expected = reference(family, torch.float64, "sdpa")
    tiny, ask = target(family, torch.float64), prompt(family, dtype=torch.float64)
    costs = straight([(10.0, 10.0 + MOST_NODES * ms_a_node)], [2.0])
    config = DecodeConfig(max_new_tokens=len(expected.ids), node_budget=AUTO, costs=costs)
    used: dict[str, set[int]] = {}
    for name in ("noisy", "glance", "random", "oracle-chain"):
        draft = drafter(name, family, torch.float64, "sdpa", expected.ids)
        [lane] = lanes(list(Decoder(tiny, draft, config).stream(ask))).values()
        assert tuple(lane.ids) == expected.ids
        used[name] = {each.lines["build"]["node_budget"] for each in lane.rounds}
    if ms_a_node == 20.0:
        # rounds of the root alone, which cost less than they risk
        assert used["random"] == used["oracle-chain"] == {0}
    else:
        assert len(used["noisy"]) > 1
        assert max(used["oracle-chain"]) == 15  # fewer where the answer ends


# --- faults that the check must catch ---


@pytest.mark.parametrize("fault", [CausalMask, SlotPositions, CropOnly])
@pytest.mark.parametrize("dtype", [torch.float32, torch.float64], ids=str)
@pytest.mark.parametrize("family", FAMILIES)
def test_a_planted_fault_fails_the_check(family, dtype, fault):
    expected = reference(family, dtype, "sdpa")
    tiny, ask = target(family, dtype), prompt(family, dtype=dtype)
    bound = LOGIT_BOUNDS[dtype, "sdpa"]
    check(tiny, ask, drafter("noisy", family, answer=expected.ids), expected, bound, Recorder)
    with pytest.raises(AssertionError):
        check(tiny, ask, drafter("noisy", family, answer=expected.ids), expected, bound, fault)


@pytest.mark.parametrize("family", MROPE)
def test_a_missing_rope_delta_fails_the_check(family):
    expected = reference(family, torch.float64, "sdpa")
    tiny, ask = target(family, torch.float64), prompt(family, dtype=torch.float64)
    for name in ("noisy", "oracle-chain"):
        draft = drafter(name, family, answer=expected.ids)
        with pytest.raises(AssertionError):
            check(tiny, ask, draft, expected, 1e-9, NoRopeDelta)


def test_a_bool_mask_under_eager_attention_would_be_wrong(monkeypatch):
    expected = reference("qwen3_vl", torch.float64, "eager")
    tiny = target("qwen3_vl", torch.float64, "eager")
    monkeypatch.setattr("glance.verify.mask_for", lambda _attention, mask, _dtype: mask)
    draft = drafter("noisy", "qwen3_vl", answer=expected.ids)
    with pytest.raises(AssertionError):
        check(tiny, prompt("qwen3_vl", dtype=torch.float64), draft, expected, 1e-5)


# --- where an answer ends ---


@pytest.mark.parametrize("name", ["oracle", "oracle-chain", "noisy"])
@pytest.mark.parametrize("place", range(18))
def test_end_token_at_every_depth(monkeypatch, place, name):
    """The end token stands on the prefill token, at each depth of a block, on the bonus."""
    tiny, ask = target("qwen2_5_vl"), prompt("qwen2_5_vl")
    whole = reference("qwen2_5_vl", torch.float32, "sdpa").ids
    end = whole[place]
    first = whole.index(end)
    monkeypatch.setattr(tiny, "eos_ids", (end,))
    config = DecodeConfig(max_new_tokens=72)
    expected = reference_ids(tiny, ask, config)
    assert expected == list(whole[: first + 1])
    result = Decoder(tiny, drafter(name, "qwen2_5_vl", answer=whole), config).generate(ask)
    assert list(result.ids) == expected
    assert result.stats["reason"] == "eos"
    assert result.stats["tokens"] == first + 1


def test_end_places_reach_every_depth():
    """The test above would be empty if its end tokens all came early."""
    whole = reference("qwen2_5_vl", torch.float32, "sdpa").ids
    assert {whole.index(whole[place]) for place in range(18)} >= set(range(16))


@pytest.mark.parametrize("name", ["ar", "oracle", "noisy", "glance"])
@pytest.mark.parametrize("most", [1, 2, 3, 9, 16, 17, 18, 33])
def test_the_limit_cuts_where_generate_stops(name, most):
    tiny, ask = target("llava"), prompt("llava")
    whole = reference("llava", torch.float32, "sdpa").ids
    config = DecodeConfig(max_new_tokens=most)
    result = Decoder(tiny, drafter(name, "llava", answer=whole), config).generate(ask)
    assert list(result.ids) == reference_ids(tiny, ask, config) == list(whole[:most])
    assert result.stats["reason"] == "length"


def test_stop_ids_end_the_answer_in_every_lane():
    tiny, ask = target("smolvlm"), prompt("smolvlm")
    whole = reference("smolvlm", torch.float32, "sdpa").ids
    config = DecodeConfig(max_new_tokens=72, stop_ids=(whole[40],))
    expected = whole[: whole.index(whole[40]) + 1]
    for name in DRAFTERS:
        draft = drafter(name, "smolvlm", answer=whole)
        result = Decoder(tiny, draft, config).generate(ask)
        assert result.ids == expected
        assert result.stats["reason"] == "stop"


# --- the image, and others on the same model ---


@pytest.mark.parametrize("name", ["ar", "glance", "noisy"])
@pytest.mark.parametrize("family", FAMILIES)
def test_another_image_gives_other_logits_and_its_own_answer(family, name):
    check_another_image(family, name)


@pytest.mark.parametrize("family", FAMILIES)
def test_two_interleaved_requests_get_their_solo_answers(family):
    check_interleaved(family)


def test_two_threads_on_one_model_get_their_solo_answers():
    tiny = target("qwen3_vl")
    asks = [prompt("qwen3_vl", seed) for seed in (0, 1)]
    config = DecodeConfig(max_new_tokens=48)
    expected = [tuple(reference_ids(tiny, ask, config)) for ask in asks]
    shared = drafter("glance", "qwen3_vl")
    got: dict[int, tuple[int, ...]] = {}

    def work(user: int) -> None:
        got[user] = Decoder(tiny, shared, config).generate(asks[user]).ids

    threads = [threading.Thread(target=work, args=(user,)) for user in (0, 1)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert [got[0], got[1]] == expected
