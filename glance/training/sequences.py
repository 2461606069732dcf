"""Token sequences of training batches, laid out as the processor and the class lay them out.

A page's turns share the image: the prompt's head is encoded once, each turn follows in its own
segment, sees the head and itself only, and its positions restart behind the image. Every turn is
thus trained exactly as if it were alone, while the visual tokens are paid for once.
Shapes: b pages, S sequence length, n = R * C visual tokens.
"""

from dataclasses import dataclass

import torch
from torch import Tensor

from glance.targets.embedded import (
    ASSISTANT,
    CELL,
    END,
    IMAGE,
    PAD,
    USER,
    VISION_END,
    VISION_START,
)
from glance.training.pages import Batch

HEAD = 2  # tokens before the first visual token


@dataclass(frozen=True, slots=True)
class Sequences:
    ids: Tensor  # [b, S] long
    goals: Tensor  # [b, S] long: the next token where it is an answer's, else -100
    here: Tensor  # [b, S] long: visual token the row's own character stands in, -1 none
    ahead: Tensor  # [b, S] long: the same of the character to come
    positions: Tensor  # [3, b, S] long
    mask: Tensor  # [b, 1, S, S] bool, True = may attend


def pixel_rows(images: Tensor) -> tuple[Tensor, Tensor]:
    """uint8 pages [b, R*14, C*14] -> patch rows [b*n, 3*14*14] in -1..1, grid [b, 3]."""
    b, h, w = images.shape
    x = images.float().div_(127.5).sub_(1.0)
    x = x.view(b, h // CELL, CELL, w // CELL, CELL).transpose(2, 3).reshape(-1, 1, CELL * CELL)
    rows = x.expand(-1, 3, -1).reshape(-1, 3 * CELL * CELL)
    return rows, torch.tensor([[1, h // CELL, w // CELL]] * b)


def image_positions(rows: int, columns: int) -> tuple[Tensor, int]:
    """M-RoPE positions [3, HEAD + n + 1] of the shared head, and the position that follows it."""
    n = rows * columns
    cell = torch.arange(n)
    after = HEAD + max(rows, columns)
    head = torch.arange(HEAD).expand(3, -1)
    grid = torch.stack([torch.full((n,), HEAD), HEAD + cell // columns, HEAD + cell % columns])
    return torch.cat([head, grid, torch.full((3, 1), after)], dim=1), after + 1


def build(batch: Batch) -> Sequences:
    """Pack a batch: one row a page, turns one behind the other."""
    rows, columns = (s // CELL for s in batch.images.shape[1:])
    head_positions, follow = image_positions(rows, columns)
    head = [USER, VISION_START, *[IMAGE] * (rows * columns), VISION_END]
    table: list[tuple[list[int], list[int], list[int], list[int], list[int], list[int]]] = []
    for turns in batch.turns:
        ids, segment, offset = list(head), [0] * len(head), [0] * len(head)
        goals, here, ahead = ([-100] * len(head), [-1] * len(head), [-1] * len(head))
        for k, t in enumerate(turns, start=1):
            cells = [r * columns + c if r >= 0 else -1 for r, c in t.cells]
            lead = len(t.question)
            ids += [*t.question, ASSISTANT, *t.answer, END]
            goals += [-100] * lead + [*t.answer, END, -100]
            here += [-1] * (lead + 1) + [*cells, -1]
            ahead += [-1] * lead + [*cells, -1, -1]
            length = lead + len(t.answer) + 2
            segment += [k] * length
            offset += range(length)
        table.append((ids, goals, here, ahead, segment, offset))
    longest = max(len(row[0]) for row in table)
    fills = (PAD, -100, -1, -1, -1, 0)
    ids_, goals_, here_, ahead_, segment_, offset_ = (
        torch.tensor([row[i] + [fill] * (longest - len(row[i])) for row in table])
        for i, fill in enumerate(fills)
    )
    positions = (offset_ + follow).expand(3, -1, -1).clone()
    positions[:, :, : len(head)] = head_positions[:, None]
    causal = torch.ones(longest, longest, dtype=torch.bool).tril()
    same = segment_[:, :, None] == segment_[:, None, :]
    mask = ((same | (segment_[:, None, :] == 0)) & causal)[:, None]
    return Sequences(ids_, goals_, here_, ahead_, positions, mask)
