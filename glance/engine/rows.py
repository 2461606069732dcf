"""What stands still between passes: where the request is, and the rows of the next pass."""

from __future__ import annotations

from collections.abc import Sequence

import torch

from glance.engine.graphs import put

LEAST_ROWS = 8  # of a tree pass: fewer take as long
LEAST_CONTEXT = 512


def padded_rows(rows: int) -> int:
    """Rows of the pass that takes `rows`: 1, or a power of two."""
    return rows if rows == 1 else max(LEAST_ROWS, 1 << (rows - 1).bit_length())


def padded_context(tokens: int) -> int:
    """Cache entries that a pass attends to where `tokens` are in use: a power of two."""
    return max(LEAST_CONTEXT, 1 << (tokens - 1).bit_length())


class Place:
    """Where the request is, in one static tensor, so that one copy moves it on."""

    def __init__(self, longest_path: int, device: torch.device) -> None:
        """`longest_path` is the most rows that a round can commit."""
        self._all = torch.zeros(4 + longest_path, dtype=torch.long, device=device)
        self.start = self._all[0:1]  # committed tokens with keys and values in the cache
        self.delta = self._all[1:2]  # position minus token index
        self.first = self._all[2:3]  # start a round ago: where the rows committed since begin
        self.root = self._all[3:4]  # token id
        self.path = self._all[4:]  # rows committed last, padded with 0

    def move(self, start: int, delta: int, first: int, root: int, path: Sequence[int] = ()) -> None:
        """Set all of it; the device goes on when the copy is there."""
        rest = [0] * (len(self.path) - len(path))
        put(self._all, [start, delta, first, root, *path, *rest])


class Rows:
    """Input of a pass over a fixed number of rows."""

    def __init__(self, rows: int, device: torch.device) -> None:
        self.count = torch.arange(rows, device=device)
        self.ids = torch.zeros_like(self.count)
        self.depths = torch.zeros_like(self.count)
        self.parents = torch.zeros_like(self.count)
        # a padding row sees itself, for attention to nothing is not a number
        self.visible = torch.eye(rows, dtype=torch.bool, device=device)

    def __len__(self) -> int:
        return len(self.count)
