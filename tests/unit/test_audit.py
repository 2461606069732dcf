"""The audit passes a sound decoder, and notices every planted fault."""

from dataclasses import replace

import pytest
import torch

from glance.audit import (
    BROKEN,
    Coverage,
    covered,
    reference_answers,
    reference_ids,
    run_audit,
)
from glance.config import DecodeConfig
from glance.documents.mix import TASKS
from glance.drafters.toy import NoisyDrafter, RandomDrafter
from tests import tiny_models
from tests.reader import Blind, Reader
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


def test_answers_go_on_past_their_end_where_that_is_asked_for(answer, monkeypatch):
    tiny, end = target(FAMILY), answer[20]
    ended = answer.index(end) + 1
    monkeypatch.setattr(tiny, "eos_ids", (end,))
    monkeypatch.setattr(tiny.model.generation_config, "eos_token_id", end)
    prompts = [prompt(FAMILY)] * 2
    references = reference_answers(tiny, prompts, CONFIG, past_end={1})
    assert references == [answer[:ended], answer]
    drafters = [NoisyDrafter(answer, VOCAB)]
    report = run_audit(tiny, drafters, prompts, CONFIG, references=references, past_end={1})
    assert report.passed
    assert {row.tokens for row in report.rows} == {ended + 64}
    assert not run_audit(tiny, drafters, prompts, CONFIG, references=references).passed


def test_a_drafter_that_is_not_connected_is_named():
    tiny, ask = target("qwen3_vl", torch.float64), tiny_models.prompt("qwen3_vl", 0, torch.float64)
    [said] = reference_answers(tiny, [ask], CONFIG)
    report = run_audit(tiny, [Reader(said, chain=True), Blind(said, chain=True)], [ask], CONFIG)
    assert report.passed  # it costs time, never a token
    *others, blind = report.rows
    assert [row.warning for row in others] == [None] * 3
    assert blind.warning.startswith("Drafter disconnected: chain has 1.00 tokens a round over 63")
    assert str(blind).endswith(blind.warning)


def test_what_an_audit_rests_on_is_counted(answer):
    prompts = [prompt(FAMILY, 0), prompt(FAMILY, 1)]
    references = reference_answers(target(FAMILY), prompts, CONFIG)
    report = run_audit(
        target(FAMILY), [NoisyDrafter(answer, VOCAB)], prompts, CONFIG, references=references
    )
    found = covered(report, ["caption", "docvqa"], references)
    assert found == Coverage({"docvqa": 1, "caption": 1}, 0, 128, report.rows[2].partial_rounds)
    assert not found.full


def test_a_full_audit_has_enough_of_everything():
    full = Coverage(dict.fromkeys(TASKS, 10), long=30, tokens=5_000, partial_rounds=100)
    assert full.full
    assert str(full).startswith("60 prompts (transcribe 10, docvqa 10, ")
    assert "30 of them with 128 new tokens or more, 5000 tokens in all, 100 partial" in str(full)
    for less in (
        {"prompts": dict.fromkeys(TASKS[1:], 12)},
        {"prompts": {**full.prompts, "caption": 9}},
        {"long": 29},
        {"tokens": 4_999},
        {"partial_rounds": 99},
    ):
        assert not replace(full, **less).full


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
