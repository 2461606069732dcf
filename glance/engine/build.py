"""build on the device: the same tree as `glance.tree.build`, by one sort instead of a heap.

The heap takes candidates by path log-probability, equal ones by the order of their paths. As no
candidate is better than its parent or than the sibling before it, that is the order of all
candidates sorted so; those that can be taken are known beforehand (`glance.engine.universe`) and
lie in the order of their paths, so a stable sort by log-probability finds them.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

import torch
from torch import Tensor
from torch.nn import functional as F

from glance.engine.rows import Rows
from glance.engine.universe import Universe
from glance.entropy import at_least_float32, entropy
from glance.tree import RankedOffsets
from glance.types import CandidateTree

COLUMNS = 5  # of a row on its way to the host: id, parent, depth, rank, log-probability


class TreeBuilder:
    """Turns the logits of drafted offsets into the rows of a verify pass."""

    def __init__(self, nodes: Universe, rows: Rows, node_budget: int) -> None:
        """The built tree goes to `rows`, which has at least node_budget + 1."""
        device = rows.ids.device
        self._rows = rows
        self._kept = min(node_budget, len(nodes))
        self._size = len(nodes)  # stands for the root where nodes are counted
        self._offsets = nodes.ranks.shape[1]
        self._path = torch.from_numpy(nodes.ranks.T.copy()).to(device, torch.long)  # [L, U]
        self._past = self._path < 0
        self._depths = torch.from_numpy(nodes.depths).to(device)
        self._parents = torch.from_numpy(nodes.parents).to(device)
        self._ancestors = torch.from_numpy(nodes.ancestors).to(device)
        self._on_chain = torch.from_numpy(nodes.on_chain).to(device)
        self._ranks = self._path.clamp_min(0).gather(0, self._depths[None] - 1)[0]  # the last
        # the host reads it after the verify pass, whose recording may share what a build returns
        size = self._offsets + 1 + self._kept * COLUMNS
        self._table = torch.zeros(size, dtype=torch.float64, device=device)

    @property
    def most_rows(self) -> int:
        """Of a tree, its root among them."""
        return self._kept + 1

    def build(self, logits: Tensor) -> Tensor:
        """Fill the rows but for the root's id, which is known to whoever drafted.

        logits: [L, V].

        Returns:
            What `read` makes a tree of: [L + 1 + kept * COLUMNS] double. The next build
            overwrites it.
        """
        log_p = torch.log_softmax(at_least_float32(logits), dim=-1)
        top = torch.topk(log_p, min(self._kept, log_p.shape[-1]), dim=-1)
        missing = self._kept - top.values.shape[1]  # ranks past a small vocabulary
        best = F.pad(top.values.double(), (0, missing), value=-math.inf)  # [L, R]
        tokens = F.pad(top.indices, (0, missing))

        steps = best.gather(1, self._path.clamp_min(0)).masked_fill(self._past, 0.0)  # [L, U]
        weights = torch.zeros_like(steps[0])
        for step in steps:  # one addition after another, as along a path: any other order rounds
            weights = weights + step
        weights = weights.nan_to_num(nan=-math.inf, neginf=-math.inf)
        order = torch.sort(weights, descending=True, stable=True)
        chosen = order.indices[: self._kept]
        known = order.values[: self._kept] > -math.inf  # an impossible token earns no row
        # the chain of best tokens goes first, impossible nodes last
        turn = torch.where(known, torch.where(self._on_chain[chosen], 0, 1), 2)
        turn, places = torch.sort(turn, stable=True)
        chosen, known = chosen[places], turn < 2

        rows, kept = self._rows, self._kept
        place = torch.zeros(self._size + 1, dtype=torch.long, device=logits.device)
        place[chosen] = rows.count[1 : kept + 1]  # the root's row is 0
        depths = self._depths[chosen]
        ranks = self._ranks[chosen]
        ids = tokens[depths - 1, ranks]
        own = best[depths - 1, ranks]
        parents = place[self._parents[chosen]]
        node = slice(1, kept + 1)
        rows.ids[node] = torch.where(known, ids, 0)
        rows.depths[node] = torch.where(known, depths, 0)
        rows.parents[node] = torch.where(known, parents, 0)
        seen = torch.zeros_like(rows.visible[node])
        seen.scatter_(1, place[self._ancestors[chosen]], True)
        seen[:, 0] = True
        rows.visible[node] = seen & known[:, None]
        rows.visible.fill_diagonal_(True)
        columns = torch.stack((ids, parents, depths, ranks), dim=1).double()
        table = torch.cat((columns, own[:, None]), dim=1)
        count = known.sum()[None].double()
        return self._table.copy_(torch.cat((entropy(log_p).double(), count, table.flatten())))

    def read(self, root: int, table: Sequence[float]) -> tuple[CandidateTree, RankedOffsets]:
        """The tree on the host, from what `build` returned."""
        offsets = self._offsets
        head, rest = table[: offsets + 1], table[offsets + 1 :]
        nodes = [rest[at : at + COLUMNS] for at in range(0, int(head[-1]) * COLUMNS, COLUMNS)]
        tree = CandidateTree(
            token_ids=(root, *(int(node[0]) for node in nodes)),
            parents=(-1, *(int(node[1]) for node in nodes)),
            depths=(0, *(int(node[2]) for node in nodes)),
            ranks=(0, *(int(node[3]) for node in nodes)),
            p_draft=(1.0, *(math.exp(node[4]) for node in nodes)),
        )
        return tree, RankedOffsets([[]] * offsets, [], list(head[:-1]))
