"""Which nodes a best-first tree can ever hold: known before any draft. Pure, on the CPU.

A node is a path of ranks, one an offset. Every path with smaller or equal ranks, and every
beginning of one, is at least as probable and comes first among equals. There are
(r_1 + 1) + (r_1 + 1)(r_2 + 1) + ... of them, the node itself among them; where that exceeds the
node budget, the node is in no tree. What is left has a fixed place in memory, so that choosing the
best of it takes one sort and no heap.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache

import numpy as np

MOST = 300_000  # nodes above which the heap on the host is the better way; N = 127 has 209,241


@dataclass(frozen=True, slots=True)
class Universe:
    """All possible nodes in lexicographic order of their paths, a path before what extends it."""

    ranks: np.ndarray  # [U, L] int16 along the path; -1 past its end
    depths: np.ndarray  # [U] from 1
    ancestors: np.ndarray  # [U, L] index of the node's ancestor at each depth, itself included;
    # U, which stands for the root, past its end

    def __len__(self) -> int:
        return len(self.depths)

    @property
    def parents(self) -> np.ndarray:
        """[U] index of the parent; U for the root."""
        above = np.maximum(self.depths - 2, 0)
        parents = self.ancestors[np.arange(len(self)), above]
        return np.where(self.depths == 1, len(self), parents)

    @property
    def on_chain(self) -> np.ndarray:
        """[U] whether a node is on the chain of best tokens."""
        return np.all(self.ranks <= 0, axis=1)


@lru_cache(maxsize=8)
def universe(offsets: int, node_budget: int, chain: bool = False) -> Universe | None:
    """Nodes of trees over L offsets with N nodes at most; None if there are more than `MOST`.

    With `chain`, those of the chain alone.
    """
    paths: list[tuple[int, ...]] = []
    lines: list[tuple[int, ...]] = []  # indices of the ancestors, itself the last
    # last in, first out: a node's children come before its next sibling
    waiting: list[tuple[tuple[int, ...], tuple[int, ...], int, int]] = [((0,), (), 1, 0)]
    while waiting and offsets:
        path, line, product, before = waiting.pop()  # product, sum over the path above
        rank = path[-1]
        better = before + product * (rank + 1)
        if better > node_budget:
            continue
        if len(paths) == MOST:
            return None
        line_here = (*line, len(paths))
        paths.append(path)
        lines.append(line_here)
        if not chain:
            waiting.append(((*path[:-1], rank + 1), line, product, before))
        if len(path) < offsets:
            waiting.append(((*path, 0), line_here, product * (rank + 1), better))
    ranks = np.full((len(paths), offsets), -1, dtype=np.int16)
    ancestors = np.full((len(paths), offsets), len(paths), dtype=np.int64)
    for node, (path, line) in enumerate(zip(paths, lines, strict=True)):
        ranks[node, : len(path)] = path
        ancestors[node, : len(line)] = line
    return Universe(ranks, np.array([len(path) for path in paths], dtype=np.int64), ancestors)
