"""Facts about rows of logits."""

import math

import pytest
import torch

from glance.entropy import entropy, row_stats


def test_entropy_of_known_distributions():
    flat = torch.log_softmax(torch.zeros(1, 8), -1)
    sure = torch.log_softmax(torch.tensor([[0.0, -math.inf, -math.inf]]), -1)
    half = torch.log(torch.tensor([[0.5, 0.25, 0.25]]))
    assert float(entropy(flat)) == pytest.approx(math.log(8))
    assert float(entropy(sure)) == 0.0
    assert float(entropy(half)) == pytest.approx(1.5 * math.log(2))


def test_row_stats_against_plain_loops():
    torch.manual_seed(0)
    logits = torch.randn(4, 30, dtype=torch.float64)
    asked = torch.tensor([[0, 3], [0, 7], [2, 1], [3, 29]])
    stats = row_stats(logits, asked)
    for row in range(4):
        p = torch.softmax(logits[row], -1)
        order = sorted(range(30), key=lambda i: -logits[row, i])
        assert stats.posterior[row] == order[0]
        assert stats.entropy[row] == pytest.approx(float(-(p * p.log()).sum()))
        assert stats.margin[row] == pytest.approx(
            float(logits[row, order[0]] - logits[row, order[1]])
        )
        assert stats.top_ids[row] == order[:5]
        assert stats.top_p[row] == pytest.approx(p[order[:5]].tolist())
    for place, (row, token_id) in enumerate(asked.tolist()):
        p = torch.softmax(logits[row], -1)
        assert stats.p_token[place] == pytest.approx(float(p[token_id]))


def test_without_a_question_there_is_no_answer():
    assert row_stats(torch.randn(2, 9)).p_token == []


def test_tie_has_margin_zero_and_the_lowest_id():
    stats = row_stats(torch.tensor([[0.0, 5.0, 5.0, 1.0]]))
    assert (stats.posterior, stats.margin) == ([1], [0.0])


def test_large_ids_survive_half_precision():
    logits = torch.zeros(1, 70_001, dtype=torch.bfloat16)
    logits[0, 70_000] = 9.0
    assert row_stats(logits).posterior == [70_000]
