"""The candidate tree against brute force and its own invariants."""

import itertools
import math

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from glance.tree import (
    Costs,
    DrafterError,
    RankedOffsets,
    best_chain,
    build,
    build_chain,
    candidates,
    check_tree,
    rank_offsets,
    visibility,
)
from glance.types import CandidateTree

ROOT = 1000

logit = st.floats(-4, 4).map(lambda x: round(x, 2))


@st.composite
def blocks(draw: st.DrawFn) -> torch.Tensor:
    offsets, vocabulary = draw(st.integers(1, 4)), draw(st.integers(1, 6))
    rows = draw(
        st.lists(
            st.lists(logit, min_size=vocabulary, max_size=vocabulary),
            min_size=offsets,
            max_size=offsets,
        )
    )
    return torch.tensor(rows, dtype=torch.float64)


def paths(tree: CandidateTree) -> list[tuple[int, ...]]:
    """Token path of every node, root left out."""
    found: list[tuple[int, ...]] = [()]
    for node in range(1, len(tree)):
        found.append((*found[tree.parents[node]], tree.token_ids[node]))
    return found


def path_log_p(path: tuple[int, ...], log_p: torch.Tensor) -> float:
    return sum(float(log_p[depth, token]) for depth, token in enumerate(path))


@given(blocks(), st.integers(1, 40))
@settings(max_examples=200, deadline=None)
def test_holds_the_most_probable_prefixes(logits, budget):
    tree = build(ROOT, rank_offsets(logits, budget), budget)
    log_p = torch.log_softmax(logits, -1)
    offsets, vocabulary = logits.shape
    everything = [
        path
        for depth in range(1, offsets + 1)
        for path in itertools.product(range(vocabulary), repeat=depth)
    ]
    best = sorted((path_log_p(path, log_p) for path in everything), reverse=True)[:budget]
    ours = sorted((path_log_p(path, log_p) for path in paths(tree)[1:]), reverse=True)
    # compared by score: with ties more than one set is the best one
    assert len(ours) == min(budget, len(everything))
    assert ours == pytest.approx(best)


@given(blocks(), st.integers(1, 40))
@settings(max_examples=200, deadline=None)
def test_is_a_tree_in_packed_order(logits, budget):
    tree = build(ROOT, rank_offsets(logits, budget), budget)
    check_tree(tree, ROOT, budget)  # parents first, depths, no twins, root, budget
    assert len(set(paths(tree))) == len(tree)
    ranked = logits.argsort(dim=-1, descending=True, stable=True)
    for node in range(1, len(tree)):
        depth, token = tree.depths[node], tree.token_ids[node]
        row = torch.softmax(logits[depth - 1], -1)
        assert tree.p_draft[node] == pytest.approx(float(row[token]))
        # the rank is right up to ties
        assert logits[depth - 1, ranked[depth - 1, tree.ranks[node]]] == logits[depth - 1, token]


@given(blocks(), st.integers(1, 40))
@settings(max_examples=100, deadline=None)
def test_best_chain_comes_first(logits, budget):
    tree = build(ROOT, rank_offsets(logits, budget), budget)
    chain = [n for n in range(len(tree)) if all(r == 0 for r in rank_path(tree, n))]
    assert chain == list(range(len(chain)))


@given(blocks(), st.integers(1, 40))
@settings(max_examples=100, deadline=None)
def test_the_best_chain_of_a_tree_is_the_chain_as_far_as_it_goes(logits, budget):
    offsets = rank_offsets(logits, budget)
    chain = best_chain(build(ROOT, offsets, budget))
    assert chain == build_chain(ROOT, offsets, len(chain) - 1)


def test_a_broken_tree_is_refused_before_it_is_weighed():
    orphan = CandidateTree((ROOT, 5), (-1, 7), (0, 1), (0, 0), (1.0, 0.5))
    with pytest.raises(DrafterError, match="does not follow its parent"):
        candidates(ROOT, orphan, RankedOffsets([], [], []), 5, Costs([1.0] * 6, range(6)))


def rank_path(tree: CandidateTree, node: int) -> list[int]:
    ranks = []
    while node > 0:
        ranks.append(tree.ranks[node])
        node = tree.parents[node]
    return ranks


@given(blocks(), st.integers(1, 40))
@settings(max_examples=100, deadline=None)
def test_visibility_is_an_ancestor_walk(logits, budget):
    tree = build(ROOT, rank_offsets(logits, budget), budget)
    seen = visibility(tree)
    for node in range(len(tree)):
        ancestors = {node}
        walk = node
        while tree.parents[walk] >= 0:
            walk = tree.parents[walk]
            ancestors.add(walk)
        assert {int(other) for other in seen[node].nonzero()[0]} == ancestors


def test_ties_give_the_same_tree_every_time():
    logits = torch.zeros(3, 5)
    trees = {build(ROOT, rank_offsets(logits, 12), 12) for _ in range(5)}
    assert len(trees) == 1


def test_twelve_nodes_by_hand():
    # offset 1: a .6 b .4; offset 2: c .9 d .1
    offsets = RankedOffsets(
        ids=[[1, 2], [3, 4]],
        log_p=[[math.log(0.6), math.log(0.4)], [math.log(0.9), math.log(0.1)]],
        entropy=[0.0, 0.0],
    )
    tree = build(ROOT, offsets, 12)
    # a .6, ac .54 are the chain; b .4, bc .36, ad .06, bd .04 follow by probability
    assert tree.token_ids == (ROOT, 1, 3, 2, 3, 4, 4)
    assert tree.parents == (-1, 0, 1, 0, 3, 1, 3)
    assert tree.depths == (0, 1, 2, 1, 2, 2, 2)
    assert tree.ranks == (0, 0, 0, 1, 0, 1, 1)
    assert build(ROOT, offsets, 3).token_ids == (ROOT, 1, 3, 2)


def test_budget_bounds_the_ranks_that_are_needed():
    torch.manual_seed(0)
    logits = torch.randn(6, 50)
    for budget in (1, 4, 9):
        narrow = build(ROOT, rank_offsets(logits, budget), budget)
        assert narrow == build(ROOT, rank_offsets(logits, 50), budget)


def test_probabilities_are_over_the_whole_vocabulary():
    offsets = rank_offsets(torch.tensor([[2.0, 1.0, 0.0, -1.0]]), most=2)
    whole = torch.softmax(torch.tensor([2.0, 1.0, 0.0, -1.0]), -1)
    assert [math.exp(x) for x in offsets.log_p[0]] == pytest.approx(whole[:2].tolist())


def test_impossible_tokens_get_no_row():
    logits = torch.full((2, 5), -math.inf)
    logits[:, 3] = 0.0
    assert build(ROOT, rank_offsets(logits, 8), 8).token_ids == (ROOT, 3, 3)


def test_half_precision_is_ranked_in_float32():
    torch.manual_seed(0)
    logits = torch.randn(3, 40).bfloat16()
    offsets = rank_offsets(logits, 5)
    exact = torch.log_softmax(logits.float(), -1).topk(5)
    assert torch.equal(torch.tensor(offsets.log_p), exact.values)


@pytest.mark.parametrize("budget", [1, 3, 15])
def test_chain_is_the_argmax_of_every_offset(budget):
    torch.manual_seed(0)
    logits = torch.randn(6, 40)
    tree = build_chain(ROOT, rank_offsets(logits, 1), budget)
    length = min(6, budget)
    assert tree.token_ids == (ROOT, *logits.argmax(-1).tolist()[:length])
    assert tree.parents == tuple(range(-1, length))
    check_tree(tree, ROOT, budget)


def test_empty_block_leaves_the_root():
    assert build(ROOT, rank_offsets(torch.zeros(0, 5), 3), 3).token_ids == (ROOT,)


GOOD = CandidateTree((7, 1, 2), (-1, 0, 0), (0, 1, 1), (0, 0, 1), (1.0, 0.5, 0.4))


@pytest.mark.parametrize(
    ("tree", "words"),
    [
        (CandidateTree((8, 1, 2), (-1, 0, 0), (0, 1, 1), (0, 0, 1), (1.0, 0.5, 0.4)), "root"),
        (CandidateTree((7, 1, 1), (-1, 0, 0), (0, 1, 1), (0, 0, 1), (1.0, 0.5, 0.4)), "twin"),
        (CandidateTree((7, 1, 2), (-1, 2, 0), (0, 2, 1), (0, 0, 1), (1.0, 0.5, 0.4)), "parent"),
        (CandidateTree((7, 1, 2), (-1, 0, 1), (0, 1, 1), (0, 0, 1), (1.0, 0.5, 0.4)), "parent"),
        (CandidateTree((7, 1, 2), (-1, 0, 0), (0, 1, 1), (0, 0), (1.0, 0.5, 0.4)), "length"),
        (CandidateTree((7, 1, 2, 3), (-1, 0, 0, 0), (0, 1, 1, 1), (0,) * 4, (1.0,) * 4), "over 2"),
    ],
)
def test_a_drafters_own_tree_is_checked(tree, words):
    check_tree(GOOD, 7, 2)
    with pytest.raises(DrafterError, match=words):
        check_tree(tree, 7, 2)
