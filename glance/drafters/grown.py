"""Grow a candidate tree level by level, keep its best nodes (EAGLE-2, arXiv 2406.16858). Pure.

A node's score is the log-probability of its whole path. Only the best nodes of a level have
children, but all children of a level are candidates for the tree.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass

from glance.types import CandidateTree


@dataclass(frozen=True, slots=True)
class TreeShape:
    """How far a tree grows and how much of it is kept."""

    depth: int  # passes over drafted tokens; the deepest nodes stand at depth + 1
    width: int  # children of a node, and nodes of a level that have any (k)
    nodes: int  # kept, the root not counted (N)


@dataclass(frozen=True, slots=True)
class Children:
    """The best tokens after one node, best first, all different."""

    ids: list[int]
    log_q: list[float]


#: Children of a level's chosen nodes, from their tokens and the places of their parents among
#: the nodes chosen a level above; 0 stands for the root.
Expand = Callable[[list[int], list[int]], list[Children]]


def grow(root: int, first: Children, expand: Expand, shape: TreeShape) -> CandidateTree:
    """The best `shape.nodes` candidates, best first.

    Equal scores go to the node nearer the root. As no score is above its parent's, parents come
    before their children, and every beginning of the tree is the best tree of its size.
    """
    tokens, parents, depths, ranks, log_q, scores = [root], [-1], [0], [0], [0.0], [0.0]

    def add(parent: int, children: Children) -> list[int]:
        added = []
        for rank, (token_id, log_p) in enumerate(zip(children.ids, children.log_q, strict=True)):
            score = scores[parent] + min(log_p, 0.0)  # rounding may lift it above 0
            if not score > -math.inf:  # an impossible token, or NaN
                continue
            added.append(len(tokens))
            tokens.append(token_id)
            parents.append(parent)
            depths.append(depths[parent] + 1)
            ranks.append(rank)
            log_q.append(min(log_p, 0.0))
            scores.append(score)
        return added

    above = {0: 0}  # place of each node chosen a level above
    level = add(0, first)
    for _ in range(shape.depth):
        chosen = sorted(level, key=lambda node: -scores[node])[: shape.width]
        if not chosen:
            break
        expanded = expand([tokens[n] for n in chosen], [above[parents[n]] for n in chosen])
        above = {node: place for place, node in enumerate(chosen)}
        level = [
            child
            for node, children in zip(chosen, expanded, strict=True)
            for child in add(node, children)
        ]

    order = sorted(range(len(tokens)), key=lambda node: (-scores[node], depths[node], node))
    kept = order[: shape.nodes + 1]  # the root's score, 0, is the highest
    place = {node: row for row, node in enumerate(kept)}
    assert all(place[parents[node]] < place[node] for node in kept[1:])
    return CandidateTree(
        token_ids=tuple(tokens[node] for node in kept),
        parents=(-1, *(place[parents[node]] for node in kept[1:])),
        depths=tuple(depths[node] for node in kept),
        ranks=tuple(ranks[node] for node in kept),
        p_draft=tuple(math.exp(log_q[node]) for node in kept),
    )
