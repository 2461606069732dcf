"""A record as one sequence for heads that pair every token with the next one.

All questions follow the page, and each sees the page and itself only, so the page's rows, most of
all, are run once. The page's last row comes before every question anew: what follows it differs.
"""

from __future__ import annotations

from dataclasses import dataclass

import torch
from torch import Tensor

from glance.training.capture import Record


@dataclass(frozen=True, slots=True)
class Packed:
    """Rows of a record; within a question each is followed by the one that comes after it."""

    rows: Tensor  # [T] long, of the record
    seen: Tensor  # [1, 1, T, T] bool: whom each row may attend to
    real: Tensor  # [T] bool; the others fill gaps


def pack(record: Record, gap: int = 0) -> Packed:
    """Lay a record out.

    gap: rows before each question that no real row sees. A row that reads up to gap + 1 tokens
    ahead then finds none of another question's answer.
    """
    last = int((record.segments == 0).sum()) - 1
    rows, segments = [torch.arange(last)], [torch.zeros(last, dtype=torch.long)]
    for segment in range(1, len(record.tasks) + 1):
        own = (record.segments == segment).nonzero()[:, 0]
        rows.append(torch.cat((torch.full((gap + 1,), last), own)))
        segments.append(torch.tensor([-segment] * gap + [segment] * (len(own) + 1)))
    row, of = torch.cat(rows), torch.cat(segments)
    at = record.positions[row]
    seen = ((of == 0) | (of == of[:, None])) & (at <= at[:, None])
    return Packed(row, seen[None, None], of >= 0)
