"""Acceptance: the target's own tokens, whatever was drafted."""

from itertools import product

import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from glance.accept import accept
from glance.sampling import Sampler
from glance.tree import build, rank_offsets
from glance.types import CandidateTree

# 0 root; 1 'a' and 2 'b' below it; 3 'c' below 1, 4 'c' below 2; 5 'd' below 3
TREE = CandidateTree(
    token_ids=(9, 1, 2, 3, 3, 4),
    parents=(-1, 0, 0, 1, 2, 3),
    depths=(0, 1, 1, 2, 2, 3),
    ranks=(0, 0, 1, 0, 0, 0),
    p_draft=(1.0, 0.5, 0.3, 0.4, 0.4, 0.4),
)


def walk(*posterior: int) -> tuple[tuple[int, ...], int]:
    verdict = accept(TREE, posterior.__getitem__)
    return verdict.path, verdict.bonus


def test_perfect_match():
    assert walk(1, 3, 0, 4, 0, 7) == ((0, 1, 3, 5), 7)


def test_early_mismatch():
    assert walk(8, 3, 0, 4, 0, 7) == ((0,), 8)


def test_second_branch():
    assert walk(2, 0, 3, 0, 6, 0) == ((0, 2, 4), 6)


def test_a_cousins_token_is_no_child():
    # after 'b' the target wants 'd', which stands below another path only
    assert walk(2, 0, 4, 0, 0, 0) == ((0, 2), 4)


def test_root_alone():
    alone = CandidateTree((9,), (-1,), (0,), (0,), (1.0,))
    verdict = accept(alone, lambda _: 5)
    assert (verdict.path, verdict.bonus, verdict.accepted) == ((0,), 5, 0)


@given(st.integers(0, 10_000), st.integers(1, 20))
@settings(max_examples=100, deadline=None)
def test_path_is_a_root_path_and_the_tokens_are_the_targets(seed, budget):
    torch.manual_seed(seed)
    tree = build(9, rank_offsets(torch.randn(4, 4), budget), budget)
    posterior = torch.randint(4, (len(tree),)).tolist()
    verdict = accept(tree, posterior.__getitem__)
    assert verdict.path[0] == 0
    assert list(verdict.path) == sorted(verdict.path)
    for parent, child in zip(verdict.path, verdict.path[1:], strict=False):
        assert tree.parents[child] == parent
    committed = [*(tree.token_ids[node] for node in verdict.path[1:]), verdict.bonus]
    assert committed == [posterior[node] for node in verdict.path]
    last = verdict.path[-1]
    children = [tree.token_ids[n] for n in range(1, len(tree)) if tree.parents[n] == last]
    assert verdict.bonus not in children


def test_each_visited_node_is_asked_once_and_in_order():
    asked: list[int] = []

    def choose(node: int) -> int:
        asked.append(node)
        return (1, 3, 0, 4, 0, 7)[node]

    accept(TREE, choose)
    assert asked == [0, 1, 3, 5]


def chi_square(counts: dict[tuple[int, ...], int], p: dict[tuple[int, ...], float]) -> float:
    total = sum(counts.values())
    return sum((counts.get(k, 0) - total * q) ** 2 / (total * q) for k, q in p.items())


def test_sampled_text_has_the_targets_distribution():
    """Two tokens of a three-token language, drafted by a tree that favours the wrong ones."""
    torch.manual_seed(3)
    after_root = torch.tensor([0.6, 0.1, -0.7])
    after = torch.randn(3, 3)  # logits after each first token
    logits = torch.stack([after_root, *after])  # rows: root, then one a first token
    temperature = 0.7
    # second tokens 0 below first 2, and first tokens 2 and 1 (not 0): partial coverage
    tree = CandidateTree((9, 2, 1, 0), (-1, 0, 0, 1), (0, 1, 1, 2), (0, 0, 1, 0), (1.0,) * 4)
    row_of = {0: 0, 1: 3, 2: 2}  # node -> row of logits
    sampler = Sampler(temperature, seed=1)
    counts: dict[tuple[int, ...], int] = {}
    for _ in range(20_000):
        verdict = accept(tree, lambda node: sampler.pick(logits[row_of.get(node, 0)]))
        tokens = [*(tree.token_ids[n] for n in verdict.path[1:]), verdict.bonus]
        if len(tokens) == 1:  # the next round would go on from the first token
            tokens.append(sampler.pick(after[tokens[0]]))
        key = tuple(tokens[:2])
        counts[key] = counts.get(key, 0) + 1
    first = torch.softmax(after_root / temperature, -1)
    second = torch.softmax(after / temperature, -1)
    p = {(i, j): float(first[i] * second[i, j]) for i, j in product(range(3), repeat=2)}
    assert chi_square(counts, p) < 26.1  # 8 degrees of freedom, p = 0.001
