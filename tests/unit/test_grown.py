"""Trees grown level by level, as EAGLE-2 grows them.

Run: python -m pytest tests/unit/test_grown.py
"""

import math
import random

import pytest

from glance.drafters.grown import Children, TreeShape, grow
from glance.tree import check_tree, cut

ROOT = 90
Model = dict[tuple[int, ...], Children]  # children after a path of tokens


class Grower:
    """Answers `grow` from a table of paths, and notes what it is asked."""

    def __init__(self, children_of) -> None:
        self.children_of = children_of
        self.paths: list[tuple[int, ...]] = [()]  # of the level above
        self.asked: list[list[tuple[int, ...]]] = []

    def __call__(self, ids: list[int], parents: list[int]) -> list[Children]:
        self.paths = [(*self.paths[p], i) for i, p in zip(ids, parents, strict=True)]
        self.asked.append(self.paths)
        return [self.children_of(path) for path in self.paths]

    def grow(self, shape: TreeShape):
        return grow(ROOT, self.children_of(()), self, shape)


def noise(width: int, log_qs=None):
    """Children drawn anew for every path, the same each time."""

    def children_of(path: tuple[int, ...]) -> Children:
        r = random.Random(str(path))
        ids = r.sample(range(20), width)
        values = [r.choice(log_qs) if log_qs else math.log(r.random()) for _ in ids]
        return Children(ids, sorted(values, reverse=True))

    return children_of


def paths(tree) -> list[tuple[int, ...]]:
    found = [()]
    for node in range(1, len(tree)):
        found.append((*found[tree.parents[node]], tree.token_ids[node]))
    return found


def score(children_of, path: tuple[int, ...]) -> float:
    total = 0.0
    for depth in range(len(path)):
        children = children_of(path[:depth])
        total += children.log_q[children.ids.index(path[depth])]
    return total


@pytest.mark.parametrize("seed", range(20))
def test_the_best_of_all_candidates_are_kept(seed: int) -> None:
    """Written out: all candidates, the k best of each level going on, the N best of all."""
    r = random.Random(seed)
    shape = TreeShape(r.randint(1, 4), r.randint(1, 4), r.randint(1, 30))

    def children_of(path):
        return noise(shape.width)((seed, *path))

    candidates: list[tuple[int, ...]] = []
    frontier: list[tuple[int, ...]] = [()]
    for _ in range(shape.depth + 1):
        level = [(*path, i) for path in frontier for i in children_of(path).ids]
        candidates += level
        frontier = sorted(level, key=lambda p: -score(children_of, p))[: shape.width]
    assert len(candidates) == shape.width + shape.depth * shape.width**2
    best = sorted(candidates, key=lambda p: -score(children_of, p))[: shape.nodes]

    tree = Grower(children_of).grow(shape)
    check_tree(tree, ROOT, shape.nodes)
    assert paths(tree)[1:] == best
    for node in range(1, len(tree)):
        path = paths(tree)[node]
        children = children_of(path[:-1])
        assert tree.ranks[node] == children.ids.index(path[-1])
        assert tree.p_draft[node] == pytest.approx(math.exp(children.log_q[tree.ranks[node]]))


def test_the_paper_setting_has_710_candidates_for_59_places() -> None:
    grower = Grower(noise(10))
    tree = grower.grow(TreeShape(depth=7, width=10, nodes=59))
    assert len(tree) == 60
    assert [len(level) for level in grower.asked] == [10] * 7
    assert max(tree.depths) <= 8


@pytest.mark.parametrize("log_qs", [(0.0,), (0.0, -1.0), (-1.0, -2.0)])
@pytest.mark.parametrize("nodes", range(1, 60, 3))
def test_ties_leave_no_orphans_and_no_twins(log_qs: tuple[float, ...], nodes: int) -> None:
    """A child as likely as its parent must not displace it."""
    tree = Grower(noise(4, log_qs)).grow(TreeShape(depth=4, width=4, nodes=nodes))
    assert len(tree) == nodes + 1
    check_tree(tree, ROOT, nodes)


def test_a_smaller_budget_keeps_the_first_nodes() -> None:
    children_of = noise(4, (-0.5, -1.0, 0.0))
    whole = Grower(children_of).grow(TreeShape(4, 4, 50))
    for nodes in range(1, 50, 7):
        assert Grower(children_of).grow(TreeShape(4, 4, nodes)) == cut(whole, nodes)


def test_impossible_tokens_are_left_out() -> None:
    grower = Grower(lambda _: Children([1, 2, 3], [-0.1, -math.inf, math.nan]))
    tree = grower.grow(TreeShape(3, 3, 20))
    assert paths(tree) == [(), (1,), (1, 1), (1, 1, 1), (1, 1, 1, 1)]


def test_without_any_possible_token_only_the_root_is_left() -> None:
    grower = Grower(lambda _: Children([1, 2], [math.nan, math.nan]))
    assert len(grower.grow(TreeShape(3, 2, 20))) == 1
    assert grower.asked == []


def test_probabilities_rounded_above_one_count_as_one() -> None:
    tree = Grower(lambda _: Children([1, 2], [1e-7, -1e-7])).grow(TreeShape(3, 2, 9))
    check_tree(tree, ROOT, 9)
    assert max(tree.p_draft) == 1.0
