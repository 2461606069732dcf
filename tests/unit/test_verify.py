"""The packed pass: masks by kind, and row logits against plain ones along every path."""

from dataclasses import replace
from types import SimpleNamespace

import numpy as np
import pytest
import torch

from glance.drafters.toy import RandomDrafter
from glance.targets.base import FULL, SLIDING
from glance.tree import build, rank_offsets, visibility
from glance.types import CandidateTree
from glance.verify import Verifier, pass_mask
from tests.tiny_models import FAMILIES, VOCAB, prompt, target

TREE = CandidateTree(
    token_ids=(9, 1, 2, 3, 3),
    parents=(-1, 0, 0, 1, 2),
    depths=(0, 1, 1, 2, 2),
    ranks=(0, 0, 1, 0, 0),
    p_draft=(1.0, 0.5, 0.3, 0.4, 0.4),
)
SEEN = np.array(
    [
        [1, 0, 0, 0, 0],
        [1, 1, 0, 0, 0],
        [1, 0, 1, 0, 0],
        [1, 1, 0, 1, 0],
        [1, 0, 1, 0, 1],
    ],
    dtype=bool,
)

#: eager attention takes its softmax in float32 whatever the dtype of the model
LOGIT_BOUNDS = {"sdpa": 1e-9, "eager": 1e-5}


def test_visibility_by_hand():
    assert np.array_equal(visibility(TREE), SEEN)


def like(attention, dtype=torch.float32, window=None):
    """What a mask must know of a target."""
    return SimpleNamespace(attention=attention, dtype=dtype, window=window)


def of_tree(target, committed):
    return pass_mask(target, torch.from_numpy(SEEN), torch.tensor(TREE.depths), committed)


def test_sdpa_gets_a_bool_mask():
    mask = of_tree(like("sdpa"), 3)
    assert (mask.shape, mask.dtype) == ((1, 1, 5, 8), torch.bool)
    assert mask[0, 0, :, :3].all()
    assert np.array_equal(mask[0, 0, :, 3:].numpy(), SEEN)


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64, torch.bfloat16])
def test_eager_gets_an_additive_mask(dtype):
    mask = of_tree(like("eager", dtype), 3)
    assert (mask.shape, mask.dtype) == ((1, 1, 5, 8), dtype)
    assert (mask[0, 0, :, :3] == 0).all()
    inside = mask[0, 0, :, 3:].float()
    assert (inside[torch.from_numpy(SEEN)] == 0).all()
    assert (inside[~torch.from_numpy(SEEN)] < -1e30).all()


def test_a_window_counts_places_not_slots():
    committed, window = 4, 3
    masks = of_tree(like("sdpa", window=window), committed)
    full, mask = masks[FULL][0, 0], masks[SLIDING][0, 0]
    assert torch.equal(full[:, committed:], torch.from_numpy(SEEN))
    places = [0, 1, 2, 3, *(committed + depth for depth in TREE.depths)]
    for row, place in enumerate(places[committed:]):
        for slot, other in enumerate(places):
            assert mask[row, slot] == (full[row, slot] and other > place - window)
    # the root and two before it; the same for a node of depth one, moved on by one
    assert mask[0].nonzero().flatten().tolist() == [2, 3, 4]
    assert mask[2].nonzero().flatten().tolist() == [3, 4, 6]
    assert mask[4].nonzero().flatten().tolist() == [4, 6, 8]
    added = of_tree(like("eager", window=window), committed)
    assert torch.equal(added[SLIDING][0, 0] == 0, mask)


@pytest.mark.parametrize("family", FAMILIES)
@pytest.mark.parametrize("attention", ["sdpa", "eager"])
@torch.inference_mode()
def test_each_row_is_its_own_path_alone(family, attention):
    """A row's logits are those of the plain model after the committed text and the row's path."""
    tiny = target(family, torch.float64, attention)
    ask = prompt(family, dtype=torch.float64)
    request, logits, _ = tiny.prefill(ask)
    root = int(logits.argmax())
    drafter = RandomDrafter(VOCAB, block_size=6)
    block = drafter.draft(drafter.start([]), [root], None)
    tree = build(root, rank_offsets(block.logits, 12), 12)
    assert max(tree.depths) > 1  # or the test would say nothing about depth
    verified = Verifier(tiny).verify(request, tree)
    for node in range(len(tree)):
        path = []
        walk = node
        while walk >= 0:
            path.insert(0, tree.token_ids[walk])
            walk = tree.parents[walk]
        plain, _, _ = tiny.prefill(ask)
        for token_id in path:
            row, _ = tiny.forward(plain, torch.tensor([token_id]), torch.tensor([0]))
            plain.length += 1
        assert (verified.logits[node] - row[0]).abs().max() < LOGIT_BOUNDS[attention]
        if node:
            parent_row = torch.softmax(verified.logits[tree.parents[node]], -1)
            expected = float(parent_row[tree.token_ids[node]])
            assert verified.stats.p_token[node] == pytest.approx(expected)
    assert verified.stats.p_token[0] == 1.0
    assert verified.features is None


@torch.inference_mode()
def test_keeping_a_path_moves_the_request_on():
    tiny = target("qwen3_vl")
    request, _, _ = tiny.prefill(prompt("qwen3_vl"))
    before = request.length
    verifier = Verifier(tiny, taps=(0, 2))
    verified = verifier.verify(request, TREE)
    assert verified.features is not None
    assert verified.features.shape == (5, 2, tiny.hidden_size)
    assert request.length == before
    verifier.keep(request, TREE, (0, 2, 4))
    assert request.length == before + 3 == request.cache.get_seq_length()


def test_a_tree_is_a_value():
    with pytest.raises(AttributeError):
        TREE.token_ids = ()
    assert replace(TREE) == TREE
