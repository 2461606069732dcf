"""The block head behind the Drafter protocol.

Run: python -m pytest tests/unit/test_drafters_block.py
"""

from dataclasses import replace

import pytest
import torch
from torch import Tensor, nn

from glance.config import DecodeConfig
from glance.decode import Decoder
from glance.drafters.block import BlockDrafter, BlockState
from glance.heads.block import BlockHead
from glance.heads.config import HeadConfig, HeadError
from tests import tiny_models
from tests.tables import Tables

CONFIG = HeadConfig(
    hidden_size=32,
    intermediate_size=48,
    num_hidden_layers=2,
    num_attention_heads=4,
    num_key_value_heads=2,
    head_dim=8,
    vocab_size=40,
    num_target_layers=6,
    mask_token_id=39,
    target_layer_ids=(1, 3, 5),
    block_size=5,
    target_revision="abc",
)


@pytest.fixture
def drafter() -> BlockDrafter:
    torch.manual_seed(0)
    head = BlockHead(CONFIG)
    for name, p in head.named_parameters():
        if "norm" in name:  # ones would hide a norm that is skipped or swapped
            nn.init.uniform_(p, 0.5, 1.5)
    return BlockDrafter(head, Tables())


def features(rows: int, seed: int) -> Tensor:
    generator = torch.Generator().manual_seed(seed)
    return torch.randn(rows, 3, 32, generator=generator, dtype=torch.float64)


def plain_draft(drafter: BlockDrafter, out: list[int], context: Tensor) -> Tensor:
    """The block head written out with loops over heads, no cache: logits [L, V]."""
    c, weights, table = CONFIG, drafter.head.state_dict(), drafter.target.table.weight

    def norm(x: Tensor, name: str) -> Tensor:
        return x / (x.square().mean(-1, keepdim=True) + c.rms_norm_eps).sqrt() * weights[name]

    def rotate(x: Tensor, position: int) -> Tensor:
        half = c.head_dim // 2
        y = x.clone()
        for i in range(half):
            angle = torch.tensor(position * c.rope_theta ** (-2 * i / c.head_dim))
            y[i] = x[i] * angle.cos() - x[half + i] * angle.sin()
            y[half + i] = x[half + i] * angle.cos() + x[i] * angle.sin()
        return y

    fused = norm(context.flatten(1) @ weights["fc.weight"].T, "hidden_norm.weight")  # [S, d]
    x = table[[out[-1]] + [c.mask_token_id] * (c.block_size - 1)]  # [B, d]
    for i in range(c.num_hidden_layers):
        attn, prefix = f"layers.{i}.self_attn.", f"layers.{i}."
        y = norm(x, prefix + "input_layernorm.weight")
        rows = torch.cat((fused, y))  # the context is not normed by the layer
        q, k = y @ weights[attn + "q_proj.weight"].T, rows @ weights[attn + "k_proj.weight"].T
        v = rows @ weights[attn + "v_proj.weight"].T
        heads = []
        for h in range(c.num_attention_heads):
            g = h // (c.num_attention_heads // c.num_key_value_heads)
            own, shared = (slice(n * c.head_dim, (n + 1) * c.head_dim) for n in (h, g))
            start = len(out) - 1
            qh = norm(q[:, own], attn + "q_norm.weight")
            kh = norm(k[:, shared], attn + "k_norm.weight")
            qh = torch.stack([rotate(row, start + j) for j, row in enumerate(qh)])
            kh = torch.stack([rotate(row, p) for p, row in enumerate(kh)])
            heads.append((qh @ kh.T / c.head_dim**0.5).softmax(-1) @ v[:, shared])
        x = x + torch.cat(heads, -1) @ weights[attn + "o_proj.weight"].T
        y = norm(x, prefix + "post_attention_layernorm.weight")
        gate = nn.functional.silu(y @ weights[prefix + "mlp.gate_proj.weight"].T)
        up = y @ weights[prefix + "mlp.up_proj.weight"].T
        x = x + (gate * up) @ weights[prefix + "mlp.down_proj.weight"].T
    return norm(x, "norm.weight")[1:] @ table.T


def test_one_pass_equals_the_method_written_out(drafter: BlockDrafter) -> None:
    out = [3, 1, 4, 1, 5, 9, 2]
    context = features(6, seed=2)
    block = drafter.draft(drafter.start(out[:6]), out, context)
    assert block.logits.shape == (CONFIG.block_size - 1, CONFIG.vocab_size)
    assert block.chain is False
    torch.testing.assert_close(block.logits, plain_draft(drafter, out, context))


def test_incremental_context_equals_full_recompute(drafter: BlockDrafter) -> None:
    out, context = [3, 1, 4, 1, 5, 9, 2, 6, 5, 3, 5, 8], features(11, seed=3)
    state = drafter.start(out[:4])
    for begin, end in ((0, 4), (4, 5), (5, 9), (9, 11)):  # rounds that committed 1, 4 and 2 tokens
        grown = drafter.draft(state, out[: end + 1], context[begin:end])
        assert state.length == end
        fresh = drafter.start(out[:4])
        whole = drafter.draft(fresh, out[: end + 1], context[:end])
        torch.testing.assert_close(grown.logits, whole.logits)
        for mine, full in ((state.keys, fresh.keys), (state.values, fresh.values)):
            torch.testing.assert_close(mine[:, :, :, :end], full[:, :, :, :end])


def test_context_rows_are_not_touched_by_later_commits(drafter: BlockDrafter) -> None:
    out, context = [3, 1, 4, 1, 5, 9, 2, 6], features(7, seed=4)
    state = drafter.start(out[:4])
    drafter.draft(state, out[:5], context[:4])
    before = state.keys[:, :, :, :4].clone(), state.values[:, :, :, :4].clone()
    drafter.draft(state, out, context[4:])
    assert torch.equal(state.keys[:, :, :, :4], before[0])
    assert torch.equal(state.values[:, :, :, :4], before[1])


def test_state_grows_past_its_first_capacity(drafter: BlockDrafter) -> None:
    rows = 700
    out, context = [i % 39 for i in range(rows + 1)], features(rows, seed=5)
    state = drafter.start(out[:2])
    small = state.keys.shape[3]
    drafter.draft(state, out[:3], context[:2])
    grown = drafter.draft(state, out, context[2:])
    assert state.keys.shape[3] > small
    whole = drafter.draft(drafter.start(out[:rows]), out, context)
    torch.testing.assert_close(grown.logits, whole.logits)


def test_two_requests_share_a_drafter(drafter: BlockDrafter) -> None:
    outs = [3, 1, 4, 1, 5, 9], [2, 7, 1, 8, 2, 8]
    contexts = features(5, seed=6), features(5, seed=7)
    states = [drafter.start(out[:3]) for out in outs]
    shared = []
    for end in (4, 6):
        for state, out, context in zip(states, outs, contexts, strict=True):
            new = context[state.length : end - 1]
            shared.append(drafter.draft(state, out[:end], new).logits)
    for i, (out, context) in enumerate(zip(outs, contexts, strict=True)):
        solo = drafter.start(out[:3])
        torch.testing.assert_close(drafter.draft(solo, out[:4], context[:3]).logits, shared[i])
        torch.testing.assert_close(drafter.draft(solo, out, context[3:]).logits, shared[2 + i])


@pytest.mark.parametrize("rows", [3, 5])
def test_features_that_do_not_continue_the_context_are_refused(
    drafter: BlockDrafter, rows: int
) -> None:
    out = [3, 1, 4, 1, 5]
    with pytest.raises(RuntimeError, match="expected 4"):
        drafter.draft(drafter.start(out[:4]), out, features(rows, seed=8))


def test_chain_differs_in_width_only() -> None:
    torch.manual_seed(0)
    head = BlockHead(CONFIG)
    tree, chain = BlockDrafter(head, Tables()), BlockDrafter(head, Tables(), chain=True)
    assert (tree.name, chain.name) == ("glance", "glance-chain")
    assert tree.revision == chain.revision
    assert tree.passes == chain.passes == 1
    out, context = [3, 1, 4], features(2, seed=9)
    a = tree.draft(tree.start(out[:2]), out, context)
    b = chain.draft(chain.start(out[:2]), out, context)
    assert torch.equal(a.logits, b.logits)
    assert b.chain


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({"vocab_size": 41}, "vocabulary"),
        ({"hidden_size": 64}, "hidden size"),
        ({"num_layers": 7}, "number of layers"),
        ({"revision": "other"}, "trained on target weights abc"),
    ],
)
def test_a_head_of_another_target_is_refused(change: dict, words: str) -> None:
    with pytest.raises(HeadError, match=words):
        BlockDrafter(BlockHead(CONFIG), Tables(**change))


def test_revision_follows_the_weights() -> None:
    torch.manual_seed(0)
    head = BlockHead(CONFIG)
    before = head.revision()
    assert head.revision() == before
    with torch.no_grad():
        head.norm.weight[0] += 1
    assert head.revision() != before


@pytest.mark.parametrize("taps", [(1, 1, 3), (3, 1), (), (1, 6), (-1, 2)])
def test_taps_must_be_distinct_layers_in_order(taps: tuple[int, ...]) -> None:
    with pytest.raises(HeadError, match="target_layer_ids"):
        replace(CONFIG, target_layer_ids=taps)


def test_state_is_plain_tensors_of_the_context() -> None:
    state = BlockDrafter(BlockHead(CONFIG), Tables()).start([1, 2, 3])
    assert isinstance(state, BlockState)
    assert state.block_ids.tolist() == [39] * 5
    assert state.length == 0


@pytest.mark.parametrize("chain", [False, True])
@pytest.mark.parametrize("family", ["qwen2_5_vl", "qwen3_vl"])
def test_a_random_head_leaves_the_answer_alone(family: str, chain: bool) -> None:
    target, prompt = tiny_models.target(family), tiny_models.prompt(family)
    config = replace(
        CONFIG,
        hidden_size=target.hidden_size,
        vocab_size=target.vocab_size,
        num_target_layers=target.num_layers,
        target_layer_ids=(0, 2),
        target_revision=target.revision,
    )
    torch.manual_seed(0)
    drafter = BlockDrafter(BlockHead(config), target, chain=chain)
    answer = Decoder(target, drafter, DecodeConfig(max_new_tokens=64)).generate(prompt)
    whole = target.model.generate(
        input_ids=prompt.input_ids,
        attention_mask=torch.ones_like(prompt.input_ids),
        **prompt.model_inputs,
        max_new_tokens=64,
        do_sample=False,
    )
    reference = whole[0, prompt.input_ids.shape[1] :].tolist()
    assert list(answer.ids) == reference
    assert len(set(reference)) >= 20
    assert answer.stats["drafter_passes"] == answer.stats["rounds"]
