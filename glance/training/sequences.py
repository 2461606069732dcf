"""Token sequences of training batches, laid out as the processor and the class lay them out.

A page's turns share the image: the prompt's head is encoded once, each turn follows in its own
segment, sees the head and itself only, and its positions restart behind the image. Every turn is
thus trained exactly as if it were alone, while the visual tokens are paid for once.
Shapes: b prompts, S sequence length, n = R * C visual tokens a page.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import torch
from torch import Tensor

from glance.targets.embedded import (
    ASSISTANT,
    CELL,
    CHARACTERS,
    END,
    FIRST_CHARACTER,
    IMAGE,
    PAD,
    USER,
    VISION_END,
    VISION_START,
)
from glance.training.pages import Batch, Cell

ASK_WEIGHT = 2.0  # a question's answer is short beside a transcription, and matters as much
JUMP_WEIGHT = (
    4.0  # of a character that does not stand beside the last one: few, and all hangs on them
)


@dataclass(frozen=True, slots=True)
class Sequences:
    ids: Tensor  # [b, S] long
    goals: Tensor  # [b, S] long: the next token where it is an answer's, else -100
    #: [b, S] long: row of the visual token that holds the row's character, at a separator that of
    #: the last one before it; -1 none
    here: Tensor
    ahead: Tensor  # [b, S] long: the same of the character to come, -1 before a separator
    positions: Tensor  # [3, b, S] long
    mask: Tensor  # [b, 1, S, S] bool, True = may attend
    weights: Tensor  # [b, S] float: of the row's losses


def pixel_rows(images: Tensor) -> tuple[Tensor, Tensor]:
    """uint8 pages [b, R*14, C*14, 3] -> patch rows [b*n, 3*14*14] in -1..1, grid [b, 3]."""
    b, h, w, _ = images.shape
    x = images.float().div_(127.5).sub_(1.0)
    x = x.view(b, h // CELL, CELL, w // CELL, CELL, 3).permute(0, 1, 3, 5, 2, 4)
    return x.reshape(-1, 3 * CELL * CELL), torch.tensor([[1, h // CELL, w // CELL]] * b)


def image_positions(rows: int, columns: int, pages: int = 1) -> tuple[Tensor, int]:
    """M-RoPE positions [3, S0] of the shared head, and the position that follows it."""
    cell = torch.arange(rows * columns)
    parts = [torch.zeros(3, 1, dtype=torch.long)]
    follow = 1
    for _ in range(pages):
        first = follow + 1  # behind the start token
        parts.append(torch.full((3, 1), follow))
        parts.append(
            torch.stack([torch.full_like(cell, first), first + cell // columns,
                         first + cell % columns])
        )  # fmt: skip
        follow = first + max(rows, columns) + 1
        parts.append(torch.full((3, 1), follow - 1))
    return torch.cat(parts, dim=1), follow


def _last_known(cells: list[int]) -> list[int]:
    """Separators look back at the last glyph: from there the next line or item is found."""
    known, last = [], -1
    for cell in cells:
        last = cell if cell >= 0 else last
        known.append(last)
    return known


def _jumps(cells: Sequence[Cell]) -> list[bool]:
    """Whether each character is looked for elsewhere on the page than behind the last one."""
    found, last = [], (-9, -9)
    for cell in cells:
        row, column = cell[0] - last[0], cell[1] - last[1]
        found.append(cell[0] >= 0 and not (abs(row) <= 1 and 0 <= column <= 2))
        last = cell if cell[0] >= 0 else last
    return found


def build(batch: Batch) -> Sequences:
    """Pack a batch: one row a prompt, turns one behind the other."""
    rows, columns = (s // CELL for s in batch.images.shape[1:3])
    n = rows * columns
    head_positions, follow = image_positions(rows, columns, batch.pages)
    head = [USER, *[VISION_START, *[IMAGE] * n, VISION_END] * batch.pages]

    def place(cell: Cell) -> int:
        """Row of a cell's visual token in the sequence."""
        if cell[0] < 0:
            return -1
        page, row = divmod(cell[0], rows)
        return 2 + page * (n + 2) + row * columns + cell[1]

    table: list[tuple[list[Any], ...]] = []
    for turns in batch.turns:
        ids, segment, offset = list(head), [0] * len(head), [0] * len(head)
        goals, here, ahead = ([-100] * len(head), [-1] * len(head), [-1] * len(head))
        weights = [0.0] * len(head)
        for k, t in enumerate(turns, start=1):
            cells = [place(c) for c in t.cells]
            lead = len(t.question)
            ids += [*t.question, ASSISTANT, *t.answer, END]
            goals += [-100] * lead + [*t.answer, END if t.whole else -100, -100]
            here += [-1] * (lead - len(t.quoted)) + [place(c) for c in t.quoted]
            here += [-1, *_last_known(cells), -1]
            ahead += [-1] * lead + [*cells, -1, -1]
            length = lead + len(t.answer) + 2
            segment += [k] * length
            offset += range(length)
            weight = ASK_WEIGHT if k > 1 or batch.pages > 1 else 1.0
            jumps = [*[False] * lead, *_jumps(t.cells), False, False]
            weights += [weight * (JUMP_WEIGHT if jump else 1.0) for jump in jumps]
        table.append((ids, goals, here, ahead, segment, offset, weights))
    longest = max(len(row[0]) for row in table)
    fills = (PAD, -100, -1, -1, -1, 0, 0.0)
    ids_, goals_, here_, ahead_, segment_, offset_, weights_ = (
        torch.tensor([row[i] + [fill] * (longest - len(row[i])) for row in table])
        for i, fill in enumerate(fills)
    )
    positions = (offset_ + follow).expand(3, -1, -1).clone()
    positions[:, :, : len(head)] = head_positions[:, None]
    causal = torch.ones(longest, longest, dtype=torch.bool).tril()
    same = segment_[:, :, None] == segment_[:, None, :]
    mask = ((same | (segment_[:, None, :] == 0)) & causal)[:, None]
    return Sequences(ids_, goals_, here_, ahead_, positions, mask, weights_)


def misread(s: Sequences, share: float) -> Sequences:
    """A share of the answers' characters replaced by random ones, as input only.

    Answers are learnt behind the true characters, but given behind the model's own: one that it
    misreads must not cost it its place on the page.
    """
    given = torch.zeros_like(s.mask[:, 0, 0])  # characters that were some row's goal
    given[:, 1:] = s.goals[:, :-1] >= FIRST_CHARACTER
    wrong = given & (torch.rand(s.ids.shape) < share)
    any_character = torch.randint_like(s.ids, FIRST_CHARACTER, FIRST_CHARACTER + len(CHARACTERS))
    return replace(s, ids=torch.where(wrong, any_character, s.ids))
