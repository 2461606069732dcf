"""Trees built by one sort are the heap's, ties, impossible tokens and all.

Run: python -m pytest tests/engine/test_build.py
"""

import random

import pytest
import torch

from glance.engine.build import TreeBuilder
from glance.engine.rows import Rows, padded_rows
from glance.engine.universe import MOST, universe
from glance.tree import build, build_chain, rank_offsets, visibility

CASES = 1_000
KINDS = ("free", "tied", "flat", "peaked", "impossible")


def drawn(kind: str, offsets: int, vocabulary: int, generator: torch.Generator) -> torch.Tensor:
    """Logits [L, V] with as many ties as the kind says."""
    noise = torch.randn(offsets, vocabulary, generator=generator)
    if kind == "tied":
        return noise.mul(2).round().div(2)
    if kind == "flat":
        return torch.zeros_like(noise)
    if kind == "peaked":  # the best token is certain: a child is as probable as its parent
        noise[:, 0] += 200.0
    if kind == "impossible":
        return noise.masked_fill(noise < 0.3, float("-inf"))
    return noise.mul(3)


def built(logits: torch.Tensor, budget: int, chain: bool = False):
    """The device's tree, its offsets, and the rows of its verify pass."""
    nodes = universe(len(logits), budget, chain)
    assert nodes is not None
    rows = Rows(padded_rows(budget + 1), torch.device("cpu"))
    builder = TreeBuilder(nodes, rows, budget)
    return *builder.read(7, builder.build(logits).tolist()), rows


def test_trees_equal_the_heaps_ties_included():
    draw, generator = random.Random(0), torch.Generator().manual_seed(0)
    ties = shorter = 0
    for case in range(CASES):
        kind = KINDS[case % len(KINDS)]
        offsets, budget = draw.choice([(1, 5), (3, 7), (4, 20), (7, 15), (15, 15), (15, 31)])
        vocabulary = draw.choice([3, 5, 40])
        logits = drawn(kind, offsets, vocabulary, generator)
        if kind == "impossible":
            logits[:, 0] = 0.0
            logits[draw.randrange(offsets), :] = float("nan") if case % 2 else 0.0
        ranked = rank_offsets(logits, budget)
        expected = build(7, ranked, budget)
        tree, found, rows = built(logits, budget)
        assert tree == expected, (case, kind)
        assert found.entropy == pytest.approx(ranked.entropy, nan_ok=True)
        count = len(tree)
        assert (rows.visible[:count, :count].numpy() == visibility(tree)).all()
        assert rows.ids[1:count].tolist() == list(tree.token_ids[1:])
        assert rows.depths[:count].tolist() == list(tree.depths)
        assert rows.parents[1:count].tolist() == list(tree.parents[1:])
        assert not rows.visible[count:, :count].any()
        assert rows.visible.diagonal().all()
        ties += any(len(set(row)) < len(row) for row in ranked.log_p)
        shorter += count <= budget
    assert ties > CASES // 3
    assert shorter > CASES // 20


def test_what_was_built_lies_in_memory_of_its_own():
    """The host reads it after the next pass, which may use again what a recording returned."""
    nodes = universe(3, 7)
    assert nodes is not None
    builder = TreeBuilder(nodes, Rows(8, torch.device("cpu")), 7)
    first = builder.build(torch.zeros(3, 40))
    known = first.clone()
    second = builder.build(torch.randn(3, 40, generator=torch.Generator().manual_seed(3)))
    assert first.data_ptr() == second.data_ptr()
    assert not first.equal(known)


def test_full_size():
    logits = torch.randn(15, 500, generator=torch.Generator().manual_seed(1)).bfloat16()
    expected = build(7, rank_offsets(logits, 63), 63)
    assert built(logits, 63)[0] == expected


def test_rows_of_a_larger_tree_before_do_not_stay():
    nodes = universe(3, 7)
    assert nodes is not None
    rows = Rows(8, torch.device("cpu"))
    builder = TreeBuilder(nodes, rows, 7)
    builder.build(torch.zeros(3, 40))
    certain = torch.full((3, 40), float("-inf"))
    certain[:, 4] = 0.0
    tree, _ = builder.read(7, builder.build(certain).tolist())
    assert tree.token_ids == (7, 4, 4, 4)
    assert rows.depths.tolist() == [0, 1, 2, 3, 0, 0, 0, 0]
    assert rows.visible[4:].equal(torch.eye(8, dtype=torch.bool)[4:])


@pytest.mark.parametrize("budget", [1, 3, 15])
def test_chains_equal_the_hosts(budget):
    logits = torch.randn(7, 30, generator=torch.Generator().manual_seed(2))
    expected = build_chain(7, rank_offsets(logits, 1), budget)
    assert built(logits, budget, chain=True)[0] == expected


def test_what_a_tree_can_hold():
    nodes = universe(15, 63)
    assert nodes is not None
    assert len(nodes) == 28_496
    paths = [tuple(rank for rank in path if rank >= 0) for path in nodes.ranks.tolist()]
    assert paths == sorted(paths)
    assert universe(15, 255) is None  # more than MOST
    assert MOST < 1_312_662
