"""Half precision: what rounding can do is measured, counted, and no excuse for a fault.

Run: python -m pytest tests/unit/test_certificate.py
"""

from dataclasses import replace

import numpy as np
import pytest
import torch

from glance.audit import BROKEN, full_float32, reference_ids, run_audit
from glance.bench_lanes import Threads, Timed
from glance.bench_rows import medians, rows
from glance.certificate import TOKENS, Certificate, measure, shortfall
from glance.clock import clock_for
from glance.config import DecodeConfig
from glance.decode import Decoder
from glance.drafters.load import PLAIN
from glance.drafters.toy import NoisyDrafter
from glance.engine.engine import Engine, Seat
from glance.replay import lanes
from glance.verify import Verifier
from tests.tiny_models import VOCAB, prompt, target

FAMILY = "smolvlm"
HALF = torch.bfloat16
CONFIG = DecodeConfig(max_new_tokens=64)


@pytest.fixture(scope="module")
def certificate() -> Certificate:
    return measure(target(FAMILY, HALF), prompt(FAMILY, dtype=HALF))


@pytest.fixture(scope="module")
def answer() -> list[int]:
    return reference_ids(target(FAMILY, HALF), prompt(FAMILY, dtype=HALF), CONFIG)


def test_the_meter_is_alive_in_half_precision_and_still_in_full(certificate):
    assert certificate.tokens == TOKENS
    assert 1e-3 < certificate.largest < 1.0
    full = measure(target(FAMILY), prompt(FAMILY))
    assert 0 < full.largest < 1e-4


def test_the_meter_sees_a_fault(monkeypatch):
    monkeypatch.setattr(Verifier, "visible", lambda _self, tree: np.ones((len(tree),) * 2, bool))
    assert measure(target(FAMILY), prompt(FAMILY)).largest > 0.1


def test_where_there_is_an_engine_its_passes_are_measured(monkeypatch):
    tiny, ask = target("qwen3_vl"), prompt("qwen3_vl")
    passes, run = [], Seat.run
    monkeypatch.setattr(
        Seat, "run", lambda seat, request, rows: passes.append(rows) or run(seat, request, rows)
    )
    assert 0 < measure(tiny, ask, Engine(tiny)).largest < 1e-4
    assert passes == [15] * (TOKENS // 8) + [64] * (TOKENS // 8)  # nodes and root
    monkeypatch.setattr(Verifier, "visible", lambda _self, tree: np.ones((len(tree),) * 2, bool))
    assert measure(tiny, ask, Engine(tiny)).largest > 0.1


def test_an_engine_that_cannot_be_had_is_done_without():
    tiny, ask = target("qwen3_vl"), prompt("qwen3_vl")
    engine = Engine(tiny)
    with engine.seated(None, 8, DecodeConfig(max_new_tokens=8)):
        assert measure(tiny, ask, engine) == measure(tiny, ask)


def test_margins_are_counted_against_twice_the_bound():
    certificate = Certificate(largest=0.25, tokens=1)
    assert (certificate.bound, certificate.swap) == (0.5, 1.0)
    assert certificate.uncertified([0.0, 1.0, 1.0001, 5.0]) == 2


def test_a_shortfall_is_that_of_the_worst_token():
    tiny, ask = target(FAMILY, torch.float64), prompt(FAMILY, dtype=torch.float64)
    said = reference_ids(tiny, ask, CONFIG)
    assert shortfall(tiny, ask, said) == 0.0
    wrong = [*said[:10], (said[10] + 1) % VOCAB]
    assert shortfall(tiny, ask, wrong) > 0.01


@pytest.mark.parametrize("temperature", [0.0, 1.0])
def test_uncertified_tokens_stand_beside_the_speed(monkeypatch, certificate, answer, temperature):
    tiny, ask = target(FAMILY, HALF), prompt(FAMILY, dtype=HALF)
    monkeypatch.setattr(tiny, "certificate", certificate)
    config = DecodeConfig(max_new_tokens=64, temperature=temperature)
    [lane] = lanes(list(Decoder(tiny, NoisyDrafter(answer, VOCAB), config).stream(ask))).values()
    assert lane.finish is not None
    if temperature:
        assert "uncertified" not in lane.finish
    else:
        margins = [token["margin"] for token in lane.tokens]
        assert len(margins) == 64
        assert lane.finish["uncertified"] == sum(m <= certificate.swap for m in margins) > 0


def test_a_bench_counts_them_for_every_row(monkeypatch, certificate):
    tiny, ask = target(FAMILY, HALF), prompt(FAMILY, dtype=HALF)
    monkeypatch.setattr(tiny, "certificate", certificate)
    using = Timed(tiny, DecodeConfig(max_new_tokens=16), clock_for("cpu"))
    sample = using.engine(None, ask, Threads(1, 1))
    assert sample.uncertified is not None
    measured = medians([sample], sample.ids, 16)
    assert measured.uncertified == sample.uncertified
    two, three = (replace(measured, uncertified=count) for count in (2, 3))
    assert rows({"docvqa": {PLAIN: [two, three]}})[0].uncertified == 5
    unknown = replace(measured, uncertified=None)
    assert rows({"docvqa": {PLAIN: [two, unknown]}})[0].uncertified is None


def test_without_a_certificate_nothing_is_counted():
    tiny, ask = target(FAMILY, HALF), prompt(FAMILY, dtype=HALF)
    [lane] = lanes(list(Decoder(tiny, None, CONFIG).stream(ask))).values()
    assert lane.finish is not None
    assert "uncertified" not in lane.finish


def test_an_audit_in_half_precision_holds_every_token_to_the_contract(answer):
    tiny, ask = target(FAMILY, HALF), prompt(FAMILY, dtype=HALF)
    report = run_audit(tiny, [NoisyDrafter(answer, VOCAB)], [ask], CONFIG)
    assert report.passed, str(report)
    control, _plain, noisy = report.rows
    assert control.allowed is None  # generate() must repeat itself
    assert noisy.uncertified
    assert noisy.shortfall <= noisy.allowed
    assert f"{noisy.uncertified} tokens uncertified, largest shortfall" in str(noisy)
    for difference in noisy.differences:  # each at a place where two logits are that close
        assert difference.margin <= noisy.allowed


@pytest.mark.parametrize("fault", BROKEN)
def test_a_fault_is_no_rounding(answer, fault):
    tiny, ask = target(FAMILY, HALF), prompt(FAMILY, dtype=HALF)
    report = run_audit(tiny, [NoisyDrafter(answer, VOCAB)], [ask], CONFIG, fault)
    assert not report.rows[2].passed
    [difference] = report.rows[2].differences
    assert f"token {difference.at} is {difference.got}" in str(report)


def test_an_audit_takes_no_short_floats(monkeypatch):
    monkeypatch.setattr(torch.backends.cudnn, "allow_tf32", True)
    before = torch.get_float32_matmul_precision()
    torch.set_float32_matmul_precision("high")
    try:
        with full_float32():
            assert torch.get_float32_matmul_precision() == "highest"
            assert not torch.backends.cudnn.allow_tf32
        assert torch.get_float32_matmul_precision() == "high"
        assert torch.backends.cudnn.allow_tf32
    finally:
        torch.set_float32_matmul_precision(before)
