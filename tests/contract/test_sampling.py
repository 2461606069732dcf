"""Above temperature 0 every lane draws from the target's own distribution, whatever is drafted.

The first four tokens of 20,000 answers are held against their exact joint distribution by Pearson's
chi-square test. Seeds are fixed: a test that passes once passes again.

Run: python -m pytest tests/contract/test_sampling.py
"""

import random
from collections.abc import Callable

import pytest
import torch
from torch import Tensor

from glance.drafters.load import NAMES, PLAIN, TEST_NAMES
from glance.sampling import Sampler
from glance.tree import DrafterError, check_tree
from glance.types import CandidateTree
from tests.contract.sampled import (
    DRAFTERS,
    DRAWS,
    TEMPERATURE,
    Rounds,
    Ruling,
    chi_square,
    draw,
)

LANES = (*NAMES, *TEST_NAMES)
SHALLOW = (PLAIN, "always-wrong")  # these draft nothing, or nothing right that has a child
SIGNIFICANCE = 0.001
HOPELESS = 1e-100  # p-value of a rule that is wrong, not unlucky


def test_every_drafter_of_the_registry_takes_part():
    assert set(DRAFTERS) == set(LANES)


@pytest.mark.parametrize("name", LANES)
def test_answers_have_the_targets_distribution(name):
    rounds, first_seed = Rounds(name), DRAWS * LANES.index(name)
    drawn = draw(rounds, first_seed=first_seed)
    assert drawn.counts.total() == DRAWS
    _, p = chi_square(drawn.counts)
    assert p > SIGNIFICANCE
    assert (drawn.deep == 0) if name in SHALLOW else (drawn.deep > DRAWS / 20)
    for seed in range(first_seed, first_seed + 8):  # what was counted is what the decoder says
        assert list(draw(rounds, first_seed=seed, draws=1).counts) == [rounds.decode(seed)]


# --- rules that the test must tell from the decoder's ---


def typical(tree: CandidateTree, logits: Tensor, sampler: Sampler) -> Ruling:
    """Medusa's typical acceptance (arXiv 2401.10774): what is not too unlikely is accepted."""
    p = torch.softmax(logits / TEMPERATURE, dim=-1)
    entropy = torch.special.entr(p).sum(dim=-1)
    threshold = torch.clamp(0.3 * torch.exp(-entropy), max=0.09)
    paths: list[list[int]] = [[0]]
    for node in range(1, len(tree)):
        parent = tree.parents[node]
        above = next((path for path in paths if path[-1] == parent), None)
        if above and p[parent, tree.token_ids[node]] > threshold[parent]:
            paths.append([*above, node])
    longest = max(paths, key=len)
    bonus = sampler.pick(logits[longest[-1]])
    return [*(tree.token_ids[node] for node in longest[1:]), bonus], len(longest) - 1


def rejection() -> Callable[[CandidateTree, Tensor, Sampler], Ruling]:
    """Children tried one by one, each with its share of the probability left by those before.

    As exact as the decoder's rule, as long as no two children are the same token.
    """
    chance = random.Random(0)

    def rule(tree: CandidateTree, logits: Tensor, _sampler: Sampler) -> Ruling:
        rows = torch.softmax(logits / TEMPERATURE, dim=-1).tolist()
        node, tokens = 0, []
        while True:
            p, left = rows[node], 1.0
            children = [n for n in range(1, len(tree)) if tree.parents[n] == node]
            for child in children:
                token_id = tree.token_ids[child]
                if chance.random() * left < p[token_id]:
                    tokens.append(token_id)
                    node = child
                    break
                left -= p[token_id]
            else:
                for child in children:
                    p[tree.token_ids[child]] = 0.0
                [bonus] = chance.choices(range(len(p)), weights=p)
                return [*tokens, bonus], len(tokens)

    return rule


def twinned(tree: CandidateTree) -> CandidateTree:
    """Every node but the root a second time, as a leaf."""
    return CandidateTree(
        token_ids=tree.token_ids + tree.token_ids[1:],
        parents=tree.parents + tree.parents[1:],
        depths=tree.depths + tree.depths[1:],
        ranks=tree.ranks + tree.ranks[1:],
        p_draft=tree.p_draft + tree.p_draft[1:],
    )


def test_typical_acceptance_has_another_distribution():
    drawn = draw(Rounds("glance"), typical)
    statistic, p = chi_square(drawn.counts)
    assert drawn.deep > DRAWS / 20
    assert statistic > DRAWS
    assert p < HOPELESS


def test_twin_siblings_spoil_rejection_and_are_refused():
    rounds, rule = Rounds("glance"), rejection()

    def with_twins(tree: CandidateTree, logits: Tensor, sampler: Sampler) -> Ruling:
        return rule(twinned(tree), torch.cat([logits, logits[1:]]), sampler)

    _, p = chi_square(draw(rounds, rule).counts)
    assert p > SIGNIFICANCE
    statistic, p = chi_square(draw(rounds, with_twins).counts)
    assert statistic > DRAWS / 4
    assert p < HOPELESS

    tree, _ = rounds.after(((0,),))
    with pytest.raises(DrafterError, match="twin"):
        check_tree(twinned(tree), tree.token_ids[0], 2 * len(tree))
