"""build: a draft block becomes a candidate tree under a node budget. Pure, on the CPU.

The tree of the N most probable prefixes under the product of the block's marginals, found
best first (DDTree, arXiv 2604.12989). A child never scores above its parent, so popping in order
of probability yields a prefix-closed tree, and each pop has at most two successors: its next
sibling and its first child.
"""

from __future__ import annotations

import heapq
import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
import torch
from torch import Tensor

from glance.entropy import at_least_float32, entropy
from glance.types import CandidateTree, DraftBlock


class DrafterError(ValueError):
    """A drafter broke its contract; the message says how."""


class Costs(NamedTuple):
    """What a round may cost, and what the run has had for its costs before it.

    A run has the most tokens a millisecond where every round grows until a node adds less than the
    run's own rate, the same for all rounds. A round that looked at itself alone would go on for too
    long where little is sure, and end too early where much is.
    """

    round_ms: Sequence[float]  # [nodes + 1] of a round with so many nodes
    #: numbers of nodes, ascending, at which a tree may end: those that were measured, as kernels
    #: take rows by the block and what lies between two sizes costs more than a straight line says
    sizes: Sequence[int]
    tokens: int = 0  # that the rounds before committed
    ms: float = 0.0  # that they took, by the same costs

    def rate(self, nodes: int, expected: float) -> float:
        """Tokens a millisecond of the run, if a round of so many nodes commits what is expected."""
        return (self.tokens + expected) / (self.ms + self.round_ms[nodes])


@dataclass(frozen=True, slots=True)
class RankedOffsets:
    """The R best tokens of each drafted offset, best first, on the host."""

    ids: list[list[int]]  # [L][R]
    log_p: list[list[float]]  # [L][R]
    entropy: list[float]  # [L] nats, over the whole vocabulary


def rank_offsets(
    logits: Tensor,  # [L, V]
    most: int,  # no tree of N nodes needs a rank above N
) -> RankedOffsets:
    """Best tokens per offset, normalised over the whole vocabulary; one copy to the host."""
    offsets, vocabulary = logits.shape
    if offsets == 0:
        return RankedOffsets([], [], [])
    log_p = torch.log_softmax(at_least_float32(logits), dim=-1)
    count = min(most, vocabulary)
    top = torch.topk(log_p, count, dim=-1)
    table = torch.cat([top.indices.double(), top.values.double(), entropy(log_p)[:, None]], dim=1)
    rows = table.tolist()
    return RankedOffsets(
        ids=[[int(token_id) for token_id in row[:count]] for row in rows],
        log_p=[row[count : 2 * count] for row in rows],
        entropy=[row[-1] for row in rows],
    )


def candidates(
    root: int,
    drafted: DraftBlock | CandidateTree,
    offsets: RankedOffsets,  # of a block; a tree that a drafter grew needs none
    node_budget: int,
    costs: Costs | None = None,
) -> CandidateTree:
    """The tree that a round verifies; with costs, one no larger than pays.

    Raises:
        DrafterError: the drafter grew what is no tree of this root.
    """
    if isinstance(drafted, DraftBlock) and not drafted.chain:
        return build(root, offsets, node_budget, costs)
    if isinstance(drafted, DraftBlock):
        tree = build_chain(root, offsets, node_budget)
    else:
        tree = cut(drafted, node_budget)
        check_tree(tree, root, node_budget)
    return cut(tree, paying_nodes(tree, costs)) if costs else tree


def build(
    root: int,
    offsets: RankedOffsets,
    node_budget: int,
    costs: Costs | None = None,
) -> CandidateTree:
    """The node_budget most probable prefixes of the block, in O(N log N).

    With costs it is fewer: growth ends at the last size before the run's expected tokens a
    millisecond fall. If a round's costs are convex, no other size promises more (CaDDTree,
    arXiv 2606.01813), since what the next node adds never rises while what it costs never falls.

    Ties go to the lower ranks. The chain of best tokens is laid out first: when it is what the
    target accepts, the accepted rows of the cache already lie where they belong.
    """
    ids, log_p = offsets.ids, offsets.log_p
    width = len(ids[0]) if ids else 0
    tokens, parents, depths, ranks, weights = [root], [-1], [0], [0], [0.0]
    # (-path log-probability, ranks along the path, parent, depth)
    heap: list[tuple[float, tuple[int, ...], int, int]] = []

    def push(parent: int, depth: int, path: tuple[int, ...]) -> None:
        if depth > len(ids) or path[-1] >= width:
            return
        weight = weights[parent] + log_p[depth - 1][path[-1]]
        if weight > -math.inf:  # excludes NaN too: an impossible token earns no row
            heapq.heappush(heap, (-weight, path, parent, depth))

    expected = 1.0  # tokens that the round commits: the bonus token and each node's probability
    rows, rate = 1, costs.rate(0, expected) if costs else 0.0  # at the best size so far
    push(0, 1, (0,))
    while heap and len(tokens) <= node_budget:
        negative, path, parent, depth = heapq.heappop(heap)
        tokens.append(ids[depth - 1][path[-1]])
        parents.append(parent)
        depths.append(depth)
        ranks.append(path[-1])
        weights.append(-negative)
        push(parent, depth, (*path[:-1], path[-1] + 1))
        push(len(tokens) - 1, depth + 1, (*path, 0))
        expected += math.exp(-negative)
        nodes = len(tokens) - 1
        if costs and (nodes in costs.sizes or nodes == node_budget or not heap):
            before, rate = rate, costs.rate(nodes, expected)
            if rate <= before:
                break
            rows = len(tokens)
    if costs:
        for each in (tokens, parents, depths, ranks, weights):
            del each[rows:]

    order = _chain_first(parents, ranks)
    place = {node: row for row, node in enumerate(order)}
    return CandidateTree(
        token_ids=tuple(tokens[node] for node in order),
        parents=tuple(place.get(parents[node], -1) for node in order),
        depths=tuple(depths[node] for node in order),
        ranks=tuple(ranks[node] for node in order),
        p_draft=tuple(
            math.exp(log_p[depths[node] - 1][ranks[node]]) if node else 1.0 for node in order
        ),
    )


def _chain_first(parents: list[int], ranks: list[int]) -> list[int]:
    """Nodes in packed order: the chain of best tokens, then the rest as they were found."""
    chain = _best_chain(parents, ranks)
    on_chain = set(chain)
    return chain + [node for node in range(len(parents)) if node not in on_chain]


def _best_chain(parents: Sequence[int], ranks: Sequence[int]) -> list[int]:
    chain = [0]
    for node in range(1, len(parents)):
        if parents[node] == chain[-1] and ranks[node] == 0:
            chain.append(node)
    return chain


def build_chain(root: int, offsets: RankedOffsets, node_budget: int) -> CandidateTree:
    """The chain of per-offset best tokens: a tree of width one."""
    length = min(len(offsets.ids), node_budget)
    return CandidateTree(
        token_ids=(root, *(offsets.ids[j][0] for j in range(length))),
        parents=tuple(range(-1, length)),
        depths=tuple(range(length + 1)),
        ranks=(0,) * (length + 1),
        p_draft=(1.0, *(math.exp(offsets.log_p[j][0]) for j in range(length))),
    )


def best_chain(tree: CandidateTree) -> CandidateTree:
    """The chain of best tokens of a tree, as far as the tree has it."""
    chain = _best_chain(tree.parents, tree.ranks)
    return CandidateTree(
        token_ids=tuple(tree.token_ids[node] for node in chain),
        parents=tuple(range(-1, len(chain) - 1)),
        depths=tuple(range(len(chain))),
        ranks=(0,) * len(chain),
        p_draft=tuple(tree.p_draft[node] for node in chain),
    )


def paying_nodes(
    tree: CandidateTree,  # its nodes best first
    costs: Costs,
) -> int:
    """How many of a tree's first nodes to verify: as many as `build` would let grow."""
    reached = [1.0]  # probability of each node's path
    expected, nodes, rate = 1.0, 0, costs.rate(0, 1.0)
    for node in range(1, len(tree)):
        reached.append(reached[tree.parents[node]] * tree.p_draft[node])
        expected += reached[node]
        if node in costs.sizes or node == len(tree) - 1:
            before, rate = rate, costs.rate(node, expected)
            if rate <= before:
                break
            nodes = node
    return nodes


def cut(tree: CandidateTree, node_budget: int) -> CandidateTree:
    """The first `node_budget` nodes of a tree, its best where it lists them best first.

    Parents stand before their children, so what is left is a tree.
    """
    rows = node_budget + 1
    return CandidateTree(
        token_ids=tree.token_ids[:rows],
        parents=tree.parents[:rows],
        depths=tree.depths[:rows],
        ranks=tree.ranks[:rows],
        p_draft=tree.p_draft[:rows],
    )


def check_tree(tree: CandidateTree, root: int, node_budget: int) -> None:
    """Check a tree that a drafter grew itself.

    Raises:
        DrafterError: over the budget, a parent after its child, twins, or another root.
    """
    arrays = (tree.parents, tree.depths, tree.ranks, tree.p_draft)
    if any(len(array) != len(tree) for array in arrays):
        raise DrafterError("the arrays of the candidate tree differ in length")
    if tree.token_ids[0] != root or tree.parents[0] != -1 or tree.depths[0] != 0:
        raise DrafterError("node 0 of the candidate tree is not the root token")
    if len(tree) - 1 > node_budget:
        raise DrafterError(f"the candidate tree has {len(tree) - 1} nodes, over {node_budget}")
    seen: set[tuple[int, int]] = set()
    for node in range(1, len(tree)):
        parent = tree.parents[node]
        if not 0 <= parent < node or tree.depths[node] != tree.depths[parent] + 1:
            raise DrafterError(f"node {node} of the candidate tree does not follow its parent")
        if (parent, tree.token_ids[node]) in seen:
            raise DrafterError(f"node {parent} of the candidate tree has twin children")
        seen.add((parent, tree.token_ids[node]))


def visibility(tree: CandidateTree) -> np.ndarray:
    """Who attends to whom inside the tree: [rows, rows] bool.

    A node sees itself and its ancestors, the root among them, and no one else: not its siblings,
    not its cousins. So each row stands for one continuation of the committed text.
    """
    rows = len(tree)
    seen = np.eye(rows, dtype=bool)
    for node in range(1, rows):  # parents come first: their rows are complete
        seen[node] |= seen[tree.parents[node]]
    return seen
