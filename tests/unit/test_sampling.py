"""Logits to tokens."""

import pytest
import torch

from glance.sampling import Sampler, argmax


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64, torch.bfloat16])
@pytest.mark.parametrize("size", [3, 64, 5000])
def test_ties_go_to_the_lowest_id(dtype, size):
    logits = torch.zeros(4, size, dtype=dtype)
    logits[1, 1:] = 2.0
    logits[2, size // 2 :] = 1.0
    logits[3, -1] = 3.0
    assert argmax(logits).tolist() == [0, 1, size // 2, size - 1]


def test_greedy_needs_no_draw():
    sampler = Sampler(0.0, seed=0)
    assert [sampler.pick(torch.tensor([0.0, 2.0, 2.0])) for _ in range(3)] == [1, 1, 1]


def test_draws_have_the_tempered_distribution():
    logits = torch.tensor([1.0, 0.0, -1.0, -30.0])
    sampler = Sampler(0.5, seed=7)
    n = 20_000
    counts = torch.bincount(torch.tensor([sampler.pick(logits) for _ in range(n)]), minlength=4)
    expected = n * torch.softmax(logits / 0.5, -1)
    chi_square = float((((counts - expected) ** 2) / expected)[:3].sum())
    assert chi_square < 13.8  # 2 degrees of freedom, p = 0.001
    assert counts[3] == 0


def test_same_seed_same_draws_and_no_global_state():
    logits = torch.randn(50, generator=torch.Generator().manual_seed(0))
    before = torch.get_rng_state()
    first = [Sampler(1.0, seed=3).pick(logits) for _ in range(1)]
    draws = [Sampler(1.0, seed=3) for _ in range(2)]
    left, right = ([s.pick(logits) for _ in range(20)] for s in draws)
    assert left == right
    assert left[0] == first[0]
    assert torch.equal(torch.get_rng_state(), before)


@pytest.mark.parametrize("temperature", [1e-3, 1e-300, 5e-324])
def test_a_temperature_near_zero_is_almost_greedy(temperature):
    sampler = Sampler(temperature, seed=0)
    logits = torch.tensor([1.0, 30.0, -float("inf"), 29.0])
    assert {sampler.pick(logits) for _ in range(50)} == {1}


def test_a_draw_never_leaves_the_vocabulary():
    sampler = Sampler(1.0, seed=0)
    logits = torch.full((7,), -1e4)
    logits[6] = 0.0
    assert {sampler.pick(logits) for _ in range(200)} == {6}
