"""A follow-up that goes on from the rows of the question before says what a cold run says.

Run: python -m pytest tests/contract/test_follow_up.py
"""

from __future__ import annotations

from dataclasses import replace

import pytest
import torch

from glance.audit import reference_ids
from glance.config import DecodeConfig
from glance.decode import Decoder
from glance.prefix_cache import Prefix, PrefixCache
from glance.replay import lanes
from glance.types import INPUT, Prompt
from tests.contract.lossless import drafter, random_head
from tests.tiny_models import FAMILIES, MROPE, prompt, target

TAPS = (INPUT, 0, 1, 2)
CONFIG = DecodeConfig(max_new_tokens=48)


def follow_up(first: Prompt, more: list[int]) -> Prompt:
    """The first prompt and, after it, more text: an answer and the next question."""
    ids = torch.cat([first.input_ids, torch.tensor([more])], dim=1)
    inputs = dict(first.model_inputs)
    if "mm_token_type_ids" in inputs:
        kinds = inputs["mm_token_type_ids"]
        inputs["mm_token_type_ids"] = torch.cat([kinds, kinds.new_zeros(1, len(more))], dim=1)
    return replace(first, input_ids=ids, model_inputs=inputs)


@torch.inference_mode()
def prefilled(family: str, dtype: torch.dtype, ask: Prompt, attention: str = "sdpa") -> Prefix:
    request, _, features = target(family, dtype, attention).prefill(ask, TAPS)
    return Prefix.of(ask, request, TAPS, features)


@pytest.mark.parametrize("attention", ["sdpa", "eager"])
@pytest.mark.parametrize("family", FAMILIES)
def test_rows_logits_and_features_are_those_of_a_cold_prefill(family, attention):
    tiny, first = target(family, torch.float64, attention), prompt(family, dtype=torch.float64)
    earlier = prefilled(family, torch.float64, first, attention)
    ask = follow_up(first, list(range(5, 40)))
    with torch.inference_mode():
        cold, logits, features = tiny.prefill(ask, TAPS)
        warm, warm_logits, warm_features = tiny.prefill(ask, TAPS, earlier)
    bound = 1e-9 if attention == "sdpa" else 1e-5  # eager attention has its softmax in float32
    assert warm.reused == first.input_ids.shape[1]
    assert cold.reused == 0
    assert (warm.length, warm.rope_delta) == (cold.length, cold.rope_delta)
    assert warm.cache.get_seq_length() == cold.length
    assert torch.equal(warm.positions, cold.positions)
    assert (warm_logits - logits).abs().max() < bound
    assert warm_features.shape == features.shape
    assert (warm_features - features).abs().max() < bound
    for one, other in zip(warm.cache.layers, cold.cache.layers, strict=True):
        assert (one.keys - other.keys).abs().max() < bound
        assert (one.values - other.values).abs().max() < bound


@pytest.mark.parametrize("name", ["ar", "glance", "glance-chain", "noisy", "random"])
@pytest.mark.parametrize("family", FAMILIES)
def test_a_dialogue_has_the_ids_of_cold_runs(family, name):
    """Three questions in a row; each goes on from the one before, and answers as `generate()`."""
    tiny, ask, kept = target(family), prompt(family), PrefixCache()
    before = 0
    for turn in range(3):
        expected = reference_ids(tiny, ask, CONFIG)
        draft = drafter(name, family, answer=expected)
        taps = draft.taps if draft else ()
        earlier = kept.covering(taps)
        lines = list(Decoder(tiny, draft, CONFIG).stream(ask, "x", None, earlier, kept.keep))
        [lane] = lanes(lines).values()
        assert lane.ids == expected
        assert len(set(expected)) > 10
        assert lane.prefill["reused"] == before
        assert lane.prefill["cache"] == ask.input_ids.shape[1]
        before = ask.input_ids.shape[1]
        ask = follow_up(ask, [*expected, *range(50 + turn, 60 + turn)])


@pytest.mark.parametrize("family", FAMILIES)
def test_a_run_leaves_the_kept_rows_as_they_were(family):
    tiny, ask, kept = target(family), prompt(family), PrefixCache()
    stream = Decoder(tiny, random_head(family, torch.float32, "sdpa", False), CONFIG).stream(
        ask, "x", None, None, kept.keep
    )
    next(stream)
    held = [(keys.clone(), values.clone()) for keys, values in kept.prefix.layers]
    list(stream)
    for (keys, values), (one, other) in zip(kept.prefix.layers, held, strict=True):
        assert keys.shape[2] == ask.input_ids.shape[1]
        assert torch.equal(keys, one)
        assert torch.equal(values, other)


@pytest.mark.parametrize("family", FAMILIES)
def test_only_what_is_shared_is_reused(family):
    first = prompt(family)
    n = first.input_ids.shape[1]
    earlier = prefilled(family, torch.float32, first)
    tiny = target(family)

    def reused(ask: Prompt, earlier: Prefix = earlier) -> int:
        with torch.inference_mode():
            request, logits, _ = tiny.prefill(ask, (), earlier)
            _, cold, _ = tiny.prefill(ask)
        assert (logits - cold).abs().max() < 1e-3
        return request.reused

    def changed(place: int) -> Prompt:
        ids = first.input_ids.clone()
        ids[0, place] = 7 if ids[0, place] != 7 else 8
        return replace(first, input_ids=ids)

    assert reused(first) == n - 1  # the last row is read for its logits
    assert reused(changed(n - 3)) == n - 3
    assert reused(changed(0)) == 0  # the page stands after it
    other = prompt(family, seed=1).model_inputs["pixel_values"]
    assert reused(replace(first, model_inputs={**first.model_inputs, "pixel_values": other})) == 0
    if family in MROPE:
        grid = {**first.model_inputs, "image_grid_thw": torch.tensor([(1, 12, 8)])}
        assert reused(replace(first, model_inputs=grid)) == 0
    with pytest.raises(AssertionError):  # rows of another prompt: the check above would tell
        reused(changed(2), replace(earlier, prompt=changed(2)))


def test_lanes_of_one_question_add_their_features_and_the_next_question_replaces_them():
    family, kept = "qwen3_vl", PrefixCache()
    ask = prompt(family)
    with torch.inference_mode():
        request, _, features = target(family).prefill(ask, (0, 2))
        kept.keep(Prefix.of(ask, request, (0, 2), features))
        assert kept.covering((0, 2))
        assert kept.covering(())
        assert kept.covering((0, 1)) is None
        request, _, features = target(family).prefill(ask, (1,))
        kept.keep(Prefix.of(ask, request, (1,), features))
        assert kept.covering((0, 1, 2)).features.keys() == {0, 1, 2}
        later = follow_up(ask, [1, 2, 3])
        request, _, _ = target(family).prefill(later)
        kept.keep(Prefix.of(later, request, (), None))
    assert kept.covering((0,)) is None
    assert kept.covering(()).prompt.input_ids is later.input_ids
    kept.clear()
    assert kept.covering(()) is None
