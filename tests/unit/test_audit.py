"""The audit passes a sound decoder, and notices every planted fault."""

import pytest
import torch

from glance.audit import BROKEN, reference_ids, run_audit
from glance.config import DecodeConfig
from glance.drafters.toy import NoisyDrafter, RandomDrafter
from tests.tiny_models import VOCAB, prompt, target

CONFIG = DecodeConfig(max_new_tokens=64)
FAMILY = "qwen2_5_vl"


@pytest.fixture(scope="module")
def answer() -> list[int]:
    return reference_ids(target(FAMILY), prompt(FAMILY), CONFIG)


def test_a_sound_decoder_passes(answer):
    seen: list[str] = []
    report = run_audit(
        target(FAMILY),
        [None, NoisyDrafter(answer, VOCAB)],
        [prompt(FAMILY, 0), prompt(FAMILY, 1)],
        CONFIG,
        progress=seen.append,
    )
    assert report.passed
    assert [row.lane for row in report.rows] == ["control", "ar", "noisy"]
    noisy = report.rows[2]
    assert (noisy.identical, noisy.prompts, noisy.tokens) == (2, 2, 128)
    assert noisy.partial_rounds > 0
    assert noisy.tau > 1.5
    assert report.rows[1].tau == 1.0
    assert noisy.smallest_margin is not None
    assert str(noisy).startswith(
        f"noisy 2/2 identical, 128 tokens, {noisy.partial_rounds} partial rounds"
    )
    assert "smallest margin" in str(report.rows[1])
    assert seen


@pytest.mark.parametrize("fault", BROKEN)
def test_a_planted_fault_is_noticed(answer, fault):
    report = run_audit(
        target(FAMILY), [NoisyDrafter(answer, VOCAB)], [prompt(FAMILY)], CONFIG, fault
    )
    assert not report.passed
    control, plain, noisy = report.rows
    assert control.passed
    assert plain.passed
    assert not noisy.passed
    [difference] = noisy.differences
    assert difference.expected == answer[difference.at]
    assert difference.got != difference.expected
    assert f"token {difference.at}" in str(noisy)
    assert "margin" in str(noisy)


def test_answers_that_are_known_are_not_generated_again(answer):
    seen: list[str] = []
    report = run_audit(target(FAMILY), [], [prompt(FAMILY)], CONFIG, None, seen.append, [answer])
    assert report.passed
    assert [row.lane for row in report.rows] == ["control", "ar"]
    assert seen == ["generate() again: prompt 1 of 1", "ar: prompt 1 of 1"]


def test_an_audit_of_nothing_does_not_pass():
    assert not run_audit(target(FAMILY), [RandomDrafter(VOCAB)], [], CONFIG).passed


def test_sampling_cannot_be_audited():
    with pytest.raises(ValueError, match="temperature"):
        run_audit(target(FAMILY), [], [], DecodeConfig(temperature=0.5))


def test_unknown_faults_are_refused():
    with pytest.raises(ValueError, match="mask, positions, compaction"):
        run_audit(target(FAMILY), [], [], CONFIG, break_="typo")


def test_logits_processors_of_the_model_are_put_aside(answer):
    tiny = target(FAMILY)
    tiny.model.generation_config.repetition_penalty = 5.0
    try:
        assert reference_ids(tiny, prompt(FAMILY), CONFIG) == answer
    finally:
        tiny.model.generation_config.repetition_penalty = None


def test_the_reference_is_made_without_gradients(answer):
    assert torch.is_grad_enabled()
    assert len(answer) == 64
