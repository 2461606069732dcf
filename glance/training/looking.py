"""Where a head's first attention head looks, and the loss that tells it where to.

What a token was copied from stands in one cell of the page, and a head that looks there has the
token before it. The losses of the papers leave a head to find that out; told so, it learns in
hundreds of steps. It is the project's own addition. Of block heads `glance.training.blocks.Gaze`
knows where they look.
"""

from __future__ import annotations

import torch
from torch import Tensor

from glance.heads.llama_layer import masked
from glance.training.capture import Record


class Watched:
    """Attention under a mask, and log attention of its first head: `look` [P, R, T]."""

    def __init__(self, mask: Tensor) -> None:  # bool [P or 1, 1, R, T]
        self._mask = mask
        self._attend = masked(mask)
        self.look: Tensor | None = None

    def __call__(self, q: Tensor, k: Tensor, v: Tensor) -> Tensor:
        """What `masked` gives."""
        scores = (q[:, 0] @ k[:, 0].transpose(-1, -2)).float() * q.shape[-1] ** -0.5
        self.look = scores.masked_fill(~self._mask[:, 0], -torch.inf).log_softmax(-1)
        return self._attend(q, k, v)


def stream_cells(record: Record, rows: Tensor) -> Tensor:
    """Where in a stream [T] of a record's rows the cell of each token stands; -1 for none: [T]."""
    cells = record.cells[rows]
    return torch.where(cells < 0, -1, torch.searchsorted(rows, cells.clamp(min=0)))


def overlooked(
    look: Tensor,  # [P, R, T or more] log attention
    cells: Tensor,  # [P, T] from `stream_cells`
    rows: Tensor,  # [R] of the T
    ahead: int,  # row t speaks of the token of row t + ahead
) -> tuple[Tensor, Tensor]:
    """-log(attention on the cell of the token that a row speaks of), summed; and of how many."""
    to = rows + ahead
    inside = to < cells.shape[1]
    goal = cells[:, to.clamp(max=cells.shape[1] - 1)].masked_fill(~inside, -1)
    return missed(look, goal)


def missed(
    look: Tensor,  # [..., keys] log attention
    goal: Tensor,  # [...] the key to look at, -1 for none
) -> tuple[Tensor, Tensor]:
    """-log(attention on the goal), summed over the rows that have one; and how many have."""
    known = goal >= 0
    chosen = look.gather(-1, goal.clamp(min=0)[..., None])[..., 0]
    return -chosen[known].sum(), known.sum()
