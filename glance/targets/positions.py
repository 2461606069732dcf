"""Position ids of rows that follow the prompt.

After an image the next position is not the token count: M-RoPE gives a grid of patches
max(height, width) positions, so later tokens stand at `token count + rope_delta`.
"""

from __future__ import annotations

from torch import Tensor


def token_positions(
    first: int,  # position of depth 0
    depths: Tensor,  # [rows] long
) -> Tensor:
    """One axis: [1, rows]. Rows of equal depth share a position."""
    return (depths + first).unsqueeze(0)


def mrope_positions(
    first: int,  # position of depth 0, rope_delta included
    depths: Tensor,  # [rows] long
) -> Tensor:
    """Time, height and width alike, as text has them: [3, 1, rows]."""
    return (depths + first).expand(3, 1, -1)
