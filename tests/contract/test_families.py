"""The contract of families whose text layers the larger tests have seen in others, and of Gemma 3.

Each has its own positions, image places and masks to get wrong, so each is compared with
`model.generate(do_sample=False)`, with right, wrong and noisy drafters, and with faults planted.

Run: python -m pytest tests/contract/test_families.py
"""

from dataclasses import replace

import pytest
import torch

from glance.config import DecodeConfig
from glance.decode import Decoder
from tests.contract.lossless import (
    LOGIT_BOUNDS,
    CausalMask,
    CropOnly,
    Recorder,
    SlotPositions,
    check,
    check_another_image,
    check_interleaved,
    drafter,
    generated,
    reference,
)
from tests.tiny_models import ALL, MORE, WINDOW, prompt, target

FLOAT64 = (torch.float64, "sdpa")


@pytest.mark.parametrize("name", ["oracle", "always-wrong", "noisy"])
@pytest.mark.parametrize("family", MORE)
def test_same_tokens_and_logits_as_generate(family, name):
    expected = reference(family, *FLOAT64)
    draft = drafter(name, family, *FLOAT64, expected.ids)
    tiny, ask = target(family, torch.float64), prompt(family, dtype=torch.float64)
    result = check(tiny, ask, draft, expected, LOGIT_BOUNDS[FLOAT64])
    if name == "oracle":
        assert result.stats["tau"] > 14
    if name == "always-wrong":
        assert result.stats["tau"] == 1.0
    if name == "noisy":
        assert result.stats["partial"] >= 3  # or compaction would hardly be tested


@pytest.mark.parametrize("attention", ["sdpa", "eager"])
@pytest.mark.parametrize("family", MORE)
def test_the_same_in_float32(family, attention):
    expected = reference(family, torch.float32, attention)
    draft = drafter("noisy", family, answer=expected.ids)
    tiny, ask = target(family, torch.float32, attention), prompt(family)
    check(tiny, ask, draft, expected, LOGIT_BOUNDS[torch.float32, attention])


@pytest.mark.parametrize("fault", [CausalMask, SlotPositions, CropOnly])
@pytest.mark.parametrize("family", MORE)
def test_a_planted_fault_fails_the_check(family, fault):
    expected = reference(family, *FLOAT64)
    tiny, ask = target(family, torch.float64), prompt(family, dtype=torch.float64)
    draft = drafter("noisy", family, answer=expected.ids)
    with pytest.raises(AssertionError):
        check(tiny, ask, draft, expected, LOGIT_BOUNDS[FLOAT64], fault)


@pytest.mark.parametrize("window", [WINDOW - 1, WINDOW + 1, 10_000])
def test_another_window_fails_the_check(monkeypatch, window):
    expected = reference("gemma3", *FLOAT64)
    tiny, ask = target("gemma3", torch.float64), prompt("gemma3", dtype=torch.float64)
    assert tiny.window == WINDOW < ask.input_ids.shape[1]
    monkeypatch.setattr(tiny, "window", window)
    draft = drafter("noisy", "gemma3", answer=expected.ids)
    with pytest.raises(AssertionError):
        check(tiny, ask, draft, expected, LOGIT_BOUNDS[FLOAT64])


@pytest.mark.parametrize("family", MORE)
def test_another_image_gives_other_logits_and_its_own_answer(family):
    check_another_image(family, "noisy")


@pytest.mark.parametrize("family", MORE)
def test_two_interleaved_requests_get_their_solo_answers(family):
    check_interleaved(family)


@pytest.mark.parametrize("family", ALL)
def test_words_between_images_keep_their_places(family):
    tiny, ask = target(family), prompt(family, images=2)
    expected = generated(tiny, ask, DecodeConfig(max_new_tokens=32))
    draft = drafter("noisy", family, answer=expected.ids)
    check(tiny, ask, draft, expected, LOGIT_BOUNDS[torch.float32, "sdpa"], Recorder)
    # the second image counts, and so does its place
    pixels = ask.model_inputs["pixel_values"]
    tiles = pixels.flatten(0, 1) if pixels.dim() == 5 and pixels.shape[0] == 1 else pixels
    half = len(tiles) // 2
    turned = torch.cat([tiles[half:], tiles[:half]]).reshape(pixels.shape)
    swapped = replace(ask, model_inputs={**ask.model_inputs, "pixel_values": turned})
    other = Decoder(tiny, None, DecodeConfig(max_new_tokens=32)).generate(swapped)
    assert other.ids != expected.ids
