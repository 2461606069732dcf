"""Rotary angles for positions on one axis, or on the three axes of M-RoPE."""

from __future__ import annotations

from collections.abc import Sequence

import torch
from torch import Tensor

from glance.heads.block import Rope


def rotary(
    positions: Tensor,  # [..., axes, rows]; 1 axis, or 3: time, height, width
    head_dim: int,
    theta: float,
    dtype: torch.dtype,
    axis_of: Sequence[int] = (),  # [head_dim/2] the axis of each frequency; () for the first axis
) -> Rope:
    """cos and sin, each [..., rows, head_dim], half-split layout."""
    half = head_dim // 2
    # float64 angles: at position 4000 a float32 product already errs by 1e-4 radians.
    steps = torch.arange(half, device=positions.device, dtype=torch.float64) / half
    rows = positions.to(torch.float64).transpose(-1, -2)  # [..., rows, axes]
    several = bool(axis_of) and positions.shape[-2] > 1
    at = rows[..., list(axis_of)] if several else rows[..., :1]
    angles = at * theta**-steps
    cos, sin = angles.cos().to(dtype), angles.sin().to(dtype)
    return torch.cat((cos, cos), dim=-1), torch.cat((sin, sin), dim=-1)


def frequency_axes(sections: Sequence[int], interleaved: bool) -> tuple[int, ...]:
    """Which axis turns each frequency of a head: [sum of sections] of 0, 1, 2.

    Qwen2.5-VL gives each axis a run of frequencies. Qwen3-VL deals them out in turn, and those
    that are left when height and width have theirs go to time.
    """
    if not interleaved:
        return tuple(axis for axis, size in enumerate(sections) for _ in range(size))
    return tuple(i % 3 if i < 3 * sections[i % 3] else 0 for i in range(sum(sections)))
