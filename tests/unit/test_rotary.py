"""Rotary angles, on one axis and on three.

Run: python -m pytest tests/unit/test_rotary.py
"""

import pytest
import torch

from glance.heads.rotary import frequency_axes, rotary
from tests import tiny_models

SECTIONS = (4, 2, 2)  # of the tiny models


@pytest.mark.parametrize("family", tiny_models.MROPE)
def test_three_axes_turn_as_in_the_target(family: str) -> None:
    """What queries and keys are turned by in the target's own layers."""
    tiny, ask = tiny_models.target(family), tiny_models.prompt(family)
    positions, _ = tiny.family.prompt_positions(tiny.model, ask)  # [3, 1, n]
    text = tiny.model.model.language_model
    cos, sin = text.rotary_emb(torch.zeros(1), positions)
    axes = frequency_axes(SECTIONS, interleaved=family.startswith("qwen3_vl"))
    ours = rotary(positions[:, 0], 16, 10_000.0, torch.float32, axes)
    if cos.shape[0] == 3:  # Qwen2.5-VL shares the axes out only when it turns
        pieces = [2 * size for size in SECTIONS]
        halves = [s // 2 for s in pieces] * 2
        cos, sin = (
            torch.cat([part[i % 3] for i, part in enumerate(t.split(halves, -1))], -1)
            for t in (cos, sin)
        )
    torch.testing.assert_close(ours[0], cos[0], atol=1e-5, rtol=0)
    torch.testing.assert_close(ours[1], sin[0], atol=1e-5, rtol=0)


def test_one_axis_and_three_alike_are_the_same() -> None:
    rows = torch.arange(5, 20)[None]
    axes = frequency_axes((4, 2, 2), interleaved=False)
    one = rotary(rows, 16, 100.0, torch.float64)
    assert all(map(torch.equal, one, rotary(rows, 16, 100.0, torch.float64, axes)))
    three = rotary(rows.expand(3, -1), 16, 100.0, torch.float64, axes)
    assert all(map(torch.equal, one, three))


def test_frequencies_are_shared_out_in_runs_or_in_turn() -> None:
    assert frequency_axes((2, 3, 3), interleaved=False) == (0, 0, 1, 1, 1, 2, 2, 2)
    assert frequency_axes((4, 2, 2), interleaved=True) == (0, 1, 2, 0, 1, 2, 0, 0)
    assert len(frequency_axes((24, 20, 20), interleaved=True)) == 64
