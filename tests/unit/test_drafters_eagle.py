"""The EAGLE drafters behind the Drafter protocol.

Run: python -m pytest tests/unit/test_drafters_eagle.py
"""

import math

import pytest
import torch
from torch.nn import functional as F

from glance.config import MOST_NODES
from glance.drafters.eagle2 import Eagle2Drafter
from glance.drafters.eagle3 import Eagle3Drafter
from glance.drafters.grown import Children, TreeShape
from glance.drafters.load import load_drafter
from glance.heads.config import HeadError
from glance.heads.formats_eagle import write_eagle2, write_eagle3
from glance.heads.llama_layer import masked
from glance.tree import check_tree
from tests import tiny_models
from tests.eagle_heads import SHAPE, drafter, eagle2_head, eagle3_head

FAMILY = "qwen3_vl"
PLAIN = {"eagle2": {}, "eagle3": {"mrope_section": ()}}  # positions on one axis
KINDS = (("eagle2", {}), ("eagle3", {}), ("eagle3", {"image_stream": "vision_embed"}))
kinds = pytest.mark.parametrize(("name", "changes"), KINDS, ids=["eagle2", "eagle3", "vision"])


@pytest.fixture(scope="module")
def tiny():
    return tiny_models.target(FAMILY, torch.float64)


@pytest.fixture(scope="module")
def read(tiny):
    """A prompt and text after it, as read by the target: ids, taps of all layers, positions."""
    ask = tiny_models.prompt(FAMILY, dtype=torch.float64)
    text = torch.randint(100, (14,), generator=torch.Generator().manual_seed(1))
    request, _, before = tiny.prefill(ask, (-1, 0, 1, 2))
    features = [before]
    with torch.inference_mode():
        for token_id in text:
            _, row = tiny.forward(request, token_id[None], torch.tensor([0]), taps=(-1, 0, 1, 2))
            request.length += 1
            features.append(row)
    ids = [*ask.input_ids[0].tolist(), *text.tolist()]
    return ids, torch.cat(features), request.positions, ask.input_ids.shape[1]


def taken(draft, features):
    """The taps that a drafter asked for."""
    return features[:, [tap + 1 for tap in draft.taps]]


@kinds
def test_trees_are_sound_and_of_the_preset(tiny, read, name, changes) -> None:
    ids, features, positions, n = read
    draft = drafter(name, tiny, **changes)
    tree = draft.draft(draft.start(ids[:n], positions), ids[: n + 1], taken(draft, features)[:n])
    check_tree(tree, ids[n], SHAPE.nodes)
    assert len(tree) == SHAPE.nodes + 1
    assert max(tree.depths) <= SHAPE.depth + 1 == draft.block_size - 1
    if name == "eagle3":
        assert all(token_id % 2 == 0 for token_id in tree.token_ids[1:])  # its own vocabulary


@kinds
def test_cache_after_commits_equals_full_recompute(tiny, read, name, changes) -> None:
    """Accepted positions are computed again from the target's features, guesses are dropped."""
    ids, features, positions, n = read
    draft = drafter(name, tiny, **changes)
    features = taken(draft, features)
    state, begin = draft.start(ids[:n], positions), 0
    for end in (n, n + 1, n + 5, n + 7):  # rounds that committed 1, 4 and 2 tokens
        grown = draft.draft(state, ids[: end + 1], features[begin:end])
        assert state.cache.length == end
        fresh = draft.start(ids[:n], positions)
        whole = draft.draft(fresh, ids[: end + 1], features[:end])
        assert grown.token_ids == whole.token_ids
        assert grown.parents == whole.parents
        assert grown.p_draft == pytest.approx(whole.p_draft, abs=1e-12)
        for mine, full in (
            (state.cache.keys, fresh.cache.keys),
            (state.cache.values, fresh.cache.values),
        ):
            torch.testing.assert_close(mine[:, :, :end], full[:, :, :end], atol=1e-12, rtol=0)
        begin = end


@kinds
def test_passes_are_the_forwards_of_a_round(tiny, read, name, changes) -> None:
    ids, features, positions, n = read
    draft = drafter(name, tiny, **changes)
    rows: list[int] = []
    draft.head.register_forward_hook(lambda _m, args, _o: rows.append(args[0].shape[1]))
    draft.draft(draft.start(ids[:n], positions), ids[: n + 1], taken(draft, features)[:n])
    assert rows == [n] + [SHAPE.width] * SHAPE.depth
    assert len(rows) == draft.passes


@kinds
def test_a_path_of_the_tree_is_a_chain_of_its_own(tiny, read, name, changes) -> None:
    """Probabilities in a wide tree are those of drafting each path alone: siblings are unseen."""
    ids, features, positions, n = read
    everything = TreeShape(SHAPE.depth, SHAPE.width, nodes=52)
    draft = drafter(name, tiny, everything, **changes)
    feats = taken(draft, features)[:n]
    tree = draft.draft(draft.start(ids[:n], positions), ids[: n + 1], feats)
    assert len(tree) == 1 + 52
    chain = drafter(name, tiny, TreeShape(SHAPE.depth, 1, 9), **changes)
    rank = draft._rank
    leaves = [node for node in range(len(tree)) if tree.depths[node] == SHAPE.depth + 1]
    assert len({tree.parents[leaf] for leaf in leaves}) == SHAPE.width
    for leaf in leaves:
        left = path_to(tree, leaf)

        def only_the_path(hidden, left=left):
            node = left.pop(0)
            (children,) = rank(hidden)
            log_q = children.log_q[children.ids.index(tree.token_ids[node])]
            assert log_q == pytest.approx(math.log(tree.p_draft[node]), abs=1e-9)
            return [Children([tree.token_ids[node]], [log_q])]

        chain._rank = only_the_path
        chain.draft(chain.start(ids[:n], positions), ids[: n + 1], feats)
        assert not left


def path_to(tree, node: int) -> list[int]:
    path = []
    while node:
        path.insert(0, node)
        node = tree.parents[node]
    return path


@pytest.mark.parametrize("name", ["eagle2", "eagle3"])
def test_drafting_deeper_is_reading_on(tiny, read, name) -> None:
    """A chain equals the whole sequence read again at each depth, guesses in place of features."""
    ids, features, positions, n = read
    draft = drafter(name, tiny, TreeShape(4, 1, 5), **PLAIN[name])
    outputs = []

    def watch(hidden):
        outputs.append(hidden[0, -1])
        return rank(hidden)

    rank, draft._rank = draft._rank, watch
    feats = taken(draft, features)[:n]
    tree = draft.draft(draft.start(ids[:n], positions), ids[: n + 1], feats)
    if name == "eagle2":
        embeds, states = feats[1:, 0], tiny.final_norm(feats[:, 1])
    else:
        embeds, states = tiny.embed(torch.tensor(ids[1:n])), draft.head.fuse(feats)
    for output, token_id in zip(outputs, (ids[n], *tree.token_ids[1:]), strict=False):
        embeds = torch.cat((embeds, tiny.embed(torch.tensor([token_id]))))
        rows = len(embeds)
        rope = draft.head.config.rope(torch.arange(rows)[None], torch.float64)
        seen = masked(torch.ones(1, 1, rows, rows, dtype=torch.bool).tril())
        whole = draft.head(embeds[None], states[None], rope, seen)[0, -1:]
        torch.testing.assert_close(output, whole[0])
        states = torch.cat((states, whole))
    assert len(outputs) == draft.passes


def test_the_method_written_out(tiny, read) -> None:
    """EAGLE-3's first prediction, with loops and the target's own positions."""
    ids, features, positions, n = read
    draft = drafter("eagle3", tiny, TreeShape(1, 4, 4))
    weights = draft.head.state_dict()
    logits = []
    rank = draft._rank

    def spy(hidden):
        logits.append(draft.head.logits(hidden[0]))
        return rank(hidden)

    draft._rank = spy
    draft.draft(draft.start(ids[:n], positions), ids[: n + 1], taken(draft, features)[:n])

    def norm(x, name):
        return x / (x.pow(2).mean(-1, keepdim=True) + 1e-6).sqrt() * weights[name]

    g = taken(draft, features)[:n].flatten(1) @ weights["fc.weight"].T
    e = tiny.embed(torch.tensor(ids[1 : n + 1]))
    x = torch.cat(
        (norm(e, "midlayer.input_layernorm.weight"), norm(g, "midlayer.hidden_norm.weight")), -1
    )
    q, k, v = (x @ weights[f"midlayer.self_attn.{name}_proj.weight"].T for name in "qkv")

    def rotate(row, axes):  # axes: time, height, width of one position
        y = row.clone()
        for i in range(8):
            axis = i % 3 if i < 3 * (4, 2, 2)[i % 3] else 0
            angle = torch.tensor(axes[axis] * 10_000.0 ** (-i / 8), dtype=torch.float64)
            y[i] = row[i] * angle.cos() - row[8 + i] * angle.sin()
            y[8 + i] = row[8 + i] * angle.cos() + row[i] * angle.sin()
        return y

    at = positions.T.tolist()
    heads = []
    for h in range(4):
        own, shared = slice(16 * h, 16 * h + 16), slice(16 * (h // 2), 16 * (h // 2) + 16)
        last = rotate(q[-1, own], at[-1])
        keys = torch.stack([rotate(row, p) for row, p in zip(k[:, shared], at, strict=True)])
        heads.append((keys @ last / 4).softmax(-1) @ v[:, shared])
    y = g[-1] + torch.cat(heads) @ weights["midlayer.self_attn.o_proj.weight"].T
    z = norm(y, "midlayer.post_attention_layernorm.weight")
    gate = F.silu(z @ weights["midlayer.mlp.gate_proj.weight"].T)
    up = z @ weights["midlayer.mlp.up_proj.weight"].T
    y = y + (gate * up) @ weights["midlayer.mlp.down_proj.weight"].T
    expected = norm(y, "norm.weight") @ weights["lm_head.weight"].T
    torch.testing.assert_close(logits[0][0], expected)


def test_eagle2_reads_images_where_eagle3_reads_their_placeholders(tiny, read) -> None:
    ids, features, positions, n = read
    other = features.clone()
    other[:, 0] += 1.0  # what enters the first layer
    for name, changes, differs in (*[(k, c, True) for k, c in KINDS[::2]], (*KINDS[1], False)):
        draft = drafter(name, tiny, **changes)
        trees = [
            draft.draft(draft.start(ids[:n], positions), ids[: n + 1], taken(draft, f)[:n])
            for f in (features, other)
        ]
        assert (trees[0].p_draft != trees[1].p_draft) is differs


def test_positions_after_the_prompt_go_on_from_its_last(tiny, read) -> None:
    ids, _, positions, n = read
    state = drafter("eagle3", tiny).start(ids[:n], positions)
    delta = int(positions.max()) + 1 - n
    assert delta < 0  # the image takes fewer places than tokens
    assert state.at(0, n).equal(positions)
    assert state.at(n, 2).tolist() == [[n + delta, n + 1 + delta]] * 3
    assert state.at(n - 1, 2).tolist() == [[n - 1 + delta, n + delta]] * 3
    plain = drafter("eagle3", tiny, mrope_section=()).start(ids[:n], positions)
    assert plain.at(n - 1, 3).tolist() == [[n - 1, n, n + 1]]


@kinds
def test_features_that_do_not_continue_the_context_are_refused(tiny, read, name, changes) -> None:
    ids, features, positions, n = read
    draft = drafter(name, tiny, **changes)
    for given in (None, taken(draft, features)[: n - 1]):
        with pytest.raises(RuntimeError, match=f"expected {n}"):
            draft.draft(draft.start(ids[:n], positions), ids[: n + 1], given)


def test_the_cache_grows_past_its_first_room(tiny, read) -> None:
    ids, features, positions, n = read
    draft = drafter("eagle2", tiny)
    state = draft.start(ids[:n], positions)
    state.cache.keys, state.cache.values = state.cache.keys[:, :, :3], state.cache.values[:, :, :3]
    small = draft.draft(state, ids[: n + 1], taken(draft, features)[:n])
    usual = draft.start(ids[:n], positions)
    assert small == draft.draft(usual, ids[: n + 1], taken(draft, features)[:n])


@pytest.mark.parametrize("name", ["eagle2", "eagle3"])
@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({"vocab_size": 320}, "vocabulary"),
        ({"hidden_size": 32}, "hidden size"),
        ({"num_target_layers": 7}, "number of layers"),
        ({"target_revision": "other"}, "trained on target weights other"),
    ],
)
def test_a_head_of_another_target_is_refused(tiny, name, change, words) -> None:
    with pytest.raises(HeadError, match=words):
        drafter(name, tiny, **change)


def test_paper_settings(tiny) -> None:
    two = Eagle2Drafter(eagle2_head(tiny), tiny)
    three = Eagle3Drafter(eagle3_head(tiny), tiny)
    assert (two.shape, two.passes, two.block_size) == (TreeShape(5, 10, MOST_NODES), 6, 7)
    assert (three.shape, three.passes, three.block_size) == (TreeShape(7, 10, MOST_NODES), 8, 9)
    assert two.revision == Eagle2Drafter(eagle2_head(tiny), tiny).revision


def test_drafters_load_by_name_from_a_folder(tiny, tmp_path) -> None:
    write_eagle2(eagle2_head(tiny), tmp_path / "eagle2")
    write_eagle3(eagle3_head(tiny), tmp_path / "eagle3")
    for name in ("eagle2", "eagle3"):
        loaded = load_drafter(name, tiny, tmp_path / name)
        assert loaded.name == name
        assert loaded.head.fc.weight.dtype == torch.float64
    with pytest.raises(HeadError, match="not an EAGLE-2 head"):
        load_drafter("eagle2", tiny, tmp_path / "eagle3")


@pytest.mark.parametrize("name", ["eagle2", "eagle3"])
def test_without_a_head_it_says_so(tiny, name, tmp_path, monkeypatch) -> None:
    monkeypatch.setattr("glance.drafters.load.MODELS", tmp_path / "none")
    with pytest.raises(HeadError, match=f"No head for {name} ships"):
        load_drafter(name, tiny)
