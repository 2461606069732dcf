"""The ViSpec head: which rows a prompt becomes, files, drafting, training.

Run: python -m pytest tests/unit/test_drafters_vispec.py
"""

import json
import math
from dataclasses import asdict, replace
from pathlib import Path

import pytest
import torch
from safetensors.torch import load_file, save_file
from torch import Tensor, nn
from torch.nn import functional as F

from glance.drafters.eagle2 import Eagle2Drafter
from glance.drafters.grown import TreeShape
from glance.drafters.load import load_drafter
from glance.drafters.vispec import SHAPE, ViSpecDrafter
from glance.heads.config import HeadError
from glance.heads.eagle2 import Eagle2Head
from glance.heads.formats_vispec import read_vispec, write_vispec
from glance.heads.llama_layer import SequentialConfig
from glance.heads.vispec import Layout, ViSpecConfig, ViSpecHead, image_spans, lay_out
from glance.targets.base import Target
from glance.training.vispec import list_mle, rollouts, trained_rows, vispec_loss
from glance.types import CandidateTree
from tests.contract.lossless import LOGIT_BOUNDS, check, reference
from tests.tables import Tables
from tests.tiny_models import FAMILIES, MROPE, prompt, target

IMAGE = 38  # of Tables
CONFIG = ViSpecConfig(
    hidden_size=32,
    intermediate_size=48,
    num_attention_heads=4,
    num_key_value_heads=2,
    head_dim=8,
    vocab_size=40,
    num_target_layers=6,
    attention_bias=True,
    target_revision="abc",
)
PARTS = [(True, True), (True, False), (False, True), (False, False)]
SMALL = TreeShape(depth=2, width=3, nodes=14)
#: words, an image of four tokens, words, an image of two, words; then an answer
PROMPT = [3, 1, 4, *[IMAGE] * 4, 1, 5, *[IMAGE] * 2, 9, 2]
OUT = [*PROMPT, 6, 5, 3, 5, 8, 9, 7, 9, 3, 2]
CPU = torch.device("cpu")


def random_head(config: ViSpecConfig = CONFIG) -> ViSpecHead:
    torch.manual_seed(0)
    head = ViSpecHead(config)
    for name, p in head.named_parameters():
        if "norm" in name:  # ones would hide a norm that is skipped
            nn.init.uniform_(p, 0.5, 1.5)
        if name == "img_fc.weight":  # zeros would hide a wrong image
            nn.init.normal_(p, std=0.3)
    return head


def made_for(tiny: Target) -> ViSpecConfig:
    return replace(
        CONFIG,
        hidden_size=tiny.hidden_size,
        head_dim=16,
        vocab_size=tiny.vocab_size,
        num_target_layers=tiny.num_layers,
        target_revision="",
    )


def parts(adaptor: bool, global_vector: bool) -> ViSpecConfig:
    return replace(CONFIG, adaptor=adaptor, global_vector=global_vector)


def features(ids: list[int], dtype: torch.dtype = torch.float64) -> Tensor:
    """Taps [n, 2, d]: embeddings, random where an image is, and random states."""
    generator = torch.Generator().manual_seed(2)
    taps = torch.randn(len(ids), 2, 32, generator=generator, dtype=dtype)
    text = torch.tensor(ids) != IMAGE
    taps[text, 0] = Tables(dtype=dtype).embed(torch.tensor(ids)[text])
    return taps


# --- rows ---


@pytest.mark.parametrize(
    ("ids", "moments", "spans", "rows"),
    [
        ([1, 2, 3], None, (), 3),
        ([1, IMAGE, IMAGE, IMAGE, 2], None, ((0, 3),), 3),
        ([1, IMAGE, IMAGE, 2, 3, IMAGE, IMAGE, IMAGE, 4], None, ((0, 2), (4, 7)), 6),
        # side by side: M-RoPE gives every image a time of its own
        ([1, *[IMAGE] * 5, 2], [0, 1, 1, 3, 3, 3, 6], ((0, 2), (2, 5)), 4),
        ([1, *[IMAGE] * 5, 2], None, ((0, 5),), 3),
        ([IMAGE, IMAGE, 2], None, ((0, 1),), 3),
        ([IMAGE, 2], None, (), 2),  # no pair has it
    ],
)
def test_an_image_becomes_one_row(
    ids: list[int], moments: list[int] | None, spans: tuple, rows: int
) -> None:
    assert image_spans(ids, IMAGE, moments or [0] * len(ids)) == spans
    layout = lay_out(len(ids), spans, True, CPU)
    assert len(layout.places) == rows
    assert (layout.image >= 0).sum() == len(spans)
    whole = lay_out(len(ids), spans, False, CPU)
    assert whole.places.tolist() == list(range(len(ids)))
    assert whole.image.tolist() == [-1] * len(ids)


def test_rows_keep_their_places_and_look_at_the_image_before_them() -> None:
    spans = image_spans(PROMPT, IMAGE, [0] * len(PROMPT))
    layout = lay_out(len(PROMPT), spans, True, CPU)
    # pair t is of an image where token t + 1 is; the one row stands where its last pair stood
    assert layout.places.tolist() == [0, 1, 5, 6, 7, 9, 10, 11, 12]
    assert layout.image.tolist() == [-1, -1, 0, -1, -1, 1, -1, -1, -1]
    assert [layout.latest[i] for i in (0, 1)] == [-1, -1]
    assert [layout.latest[i] for i in (3, 4)] == [0, 0]
    assert [layout.latest[i] for i in (6, 7, 8)] == [1, 1, 1]


@pytest.mark.parametrize("family", FAMILIES)
def test_the_prompts_of_every_family_have_one_image(family: str) -> None:
    tiny, ask = target(family), prompt(family)
    positions = tiny.prefill(ask)[0].positions
    moments = [0] * ask.input_ids.shape[1]
    if family in MROPE:
        moments = positions[0].tolist()
    ids = ask.input_ids[0].tolist()
    [(first, end)] = image_spans(ids, tiny.model.config.image_token_id, moments)
    assert end - first == ask.image_tokens


# --- files ---


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    write_vispec(random_head(), tmp_path, dtype=torch.float32)
    return tmp_path


def test_tensor_names_and_shapes_are_the_published_ones(folder: Path) -> None:
    weights = load_file(folder / "model.safetensors")
    both = ("weight", "bias")
    assert weights.keys() == {
        *(f"{name}.{kind}" for name in ("fc", "img_fc") for kind in both),
        *(f"layers.0.self_attn.{x}_proj.{kind}" for x in "qkv" for kind in both),
        "layers.0.self_attn.o_proj.weight",
        *(f"layers.0.mlp.{name}_proj.weight" for name in ("gate", "up", "down")),
        "layers.0.post_attention_layernorm.weight",
        "imadpt.q",
        *(f"imadpt.{x}_proj.{kind}" for x in "kv" for kind in both),
        "imadpt.o_proj.weight",
    }
    assert weights["imadpt.q"].shape == (2, 4, 8)
    assert weights["imadpt.k_proj.weight"].shape == (32, 32)  # as many heads as queries have
    assert weights["img_fc.weight"].shape == (32, 64)


@pytest.mark.parametrize("which", PARTS)
def test_round_trip(tmp_path: Path, which: tuple[bool, bool]) -> None:
    head = random_head(parts(*which))
    write_vispec(head, tmp_path, dtype=torch.float32)
    again = read_vispec(tmp_path, 1)
    assert again.config == head.config
    assert again.revision() == head.revision()


def test_a_published_head_is_read(folder: Path) -> None:
    """Its config has no more than the layer's sizes, and its file a copy of the embedding."""
    path = folder / "config.json"
    raw = json.loads(path.read_text())
    for name in ("adaptor", "global_vector", "num_target_layers", "target_revision", "head_dim"):
        del raw[name]
    raw["qkv_bias"] = raw.pop("attention_bias")
    path.write_text(json.dumps({**raw, "architectures": ["LlamaForCausalLM"]}))
    weights = load_file(folder / "model.safetensors")
    weights["embed_tokens.weight"] = torch.ones(40, 32)
    save_file(weights, folder / "model.safetensors")
    assert read_vispec(folder, 6).config == replace(CONFIG, target_revision="")


@pytest.mark.parametrize(
    ("change", "words"),
    [
        (lambda w: w.pop("imadpt.q"), "missing \\['imadpt.q'\\]"),
        (lambda w: w.update({"norm.weight": torch.ones(32)}), "unknown \\['norm.weight'\\]"),
        (lambda w: w.update({"imadpt.q": torch.ones(3, 4, 8)}), "imadpt.q has shape"),
        (lambda w: w.update({"embed_tokens.weight": torch.ones(41, 32)}), "embed_tokens.weight"),
    ],
)
def test_tensors_are_checked_by_name_and_shape(folder: Path, change, words: str) -> None:
    weights = load_file(folder / "model.safetensors")
    change(weights)
    save_file(weights, folder / "model.safetensors")
    with pytest.raises(HeadError, match=words):
        read_vispec(folder, 6)


@pytest.mark.parametrize(
    ("change", "words"),
    [
        (lambda raw: raw.update(architectures=["DFlashDraftModel"]), "not a ViSpec head"),
        (lambda raw: raw.update(draft_vocab_size=20), "draft vocabulary"),
        (lambda raw: raw.update(num_hidden_layers=2), "2 layers"),
        (lambda raw: raw.update(bias=False), "ViSpec heads without a bias"),
        (lambda raw: raw.update(rope_scaling={"mrope_section": [1, 1, 2]}), "positions"),
        (lambda raw: raw.pop("intermediate_size"), "lacks intermediate_size"),
    ],
)
def test_other_kinds_of_head_are_refused_by_name(folder: Path, change, words: str) -> None:
    path = folder / "config.json"
    raw = json.loads(path.read_text())
    change(raw)
    path.write_text(json.dumps(raw))
    with pytest.raises(HeadError, match=words):
        read_vispec(folder, 6)


def test_loading_by_name(folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    assert load_drafter("vispec", Tables(), folder).name == "vispec"
    with pytest.raises(HeadError, match="number of layers"):
        load_drafter("vispec", Tables(num_layers=7), folder)
    monkeypatch.setattr("glance.drafters.load.MODELS", tmp_path / "none")
    with pytest.raises(HeadError, match="No head for vispec"):
        load_drafter("vispec", Tables())


# --- drafting ---


def test_a_new_head_has_no_image_in_its_features() -> None:
    head = ViSpecHead(CONFIG)
    embeds, states, vectors = torch.randn(3, 5, 32)
    expected = head.fc(torch.cat((embeds, states), -1))
    torch.testing.assert_close(head.pairs(embeds, states, vectors), expected)


class Plain:
    """The method written out: no cache, one row and one attention head at a time."""

    def __init__(self, head: ViSpecHead, tables: Tables) -> None:
        self.c, self.w, self.tables = head.config, head.state_dict(), tables

    def linear(self, x: Tensor, name: str) -> Tensor:
        y = self.w[f"{name}.weight"] @ x
        return y + self.w[f"{name}.bias"] if f"{name}.bias" in self.w else y

    def look(self, image: list[Tensor], query: int) -> Tensor:
        keys = [self.linear(x, "imadpt.k_proj").view(4, 8) for x in image]
        values = [self.linear(x, "imadpt.v_proj").view(4, 8) for x in image]
        heads = []
        for h in range(4):
            scores = torch.stack([self.w["imadpt.q"][query, h] @ k[h] for k in keys])
            weights = (scores / 8**0.5).softmax(0)
            heads.append(sum(a * v[h] for a, v in zip(weights, values, strict=True)))
        return self.linear(torch.cat(heads), "imadpt.o_proj")

    def pair(self, embed: Tensor, feature: Tensor, vector: Tensor) -> Tensor:
        if self.c.global_vector:
            feature = self.linear(torch.cat((feature, vector)), "img_fc")
        return self.linear(torch.cat((embed, feature)), "fc")

    def stream(
        self, out: list[int], taps: Tensor
    ) -> tuple[list[tuple[int, Tensor]], Tensor]:  # rows with their places, the last vector
        """The rows of all of `out`, its root token included."""
        embeds = [*taps[1:, 0], self.tables.embed(torch.tensor(out[-1]))]
        vector, rows, image = torch.zeros(32, dtype=torch.float64), [], []
        for place, embed in enumerate(embeds):
            if out[place + 1] != IMAGE:
                feature = self.tables.norm(taps[place, 1])
                rows.append((place, self.pair(embed, feature, vector)))
                continue
            image.append(embed)
            if not self.c.adaptor:
                feature = self.tables.norm(taps[place, 1])
                rows.append((place, self.pair(embed, feature, vector)))
            if out[place + 2] != IMAGE:
                if self.c.adaptor:
                    rows.append((place, self.look(image, 0)))
                if self.c.global_vector:
                    vector = self.look(image, self.c.queries - 1)
                image = []
        return rows, vector

    def rotated(self, x: Tensor, place: int) -> Tensor:
        y = x.clone()
        for i in range(4):
            angle = torch.tensor(place * self.c.rope_theta ** (-2 * i / 8), dtype=x.dtype)
            y[i] = x[i] * angle.cos() - x[4 + i] * angle.sin()
            y[4 + i] = x[4 + i] * angle.cos() + x[i] * angle.sin()
        return y

    def last(self, rows: list[tuple[int, Tensor]]) -> Tensor:
        """Output of the last row, which sees all before it."""
        place, x = rows[-1]
        attn, heads = "layers.0.self_attn", []
        for h in range(4):
            q = self.linear(x, f"{attn}.q_proj").view(4, 8)[h]
            own = [
                (at, self.linear(y, f"{attn}.k_proj"), self.linear(y, f"{attn}.v_proj"))
                for at, y in rows
            ]
            keys = torch.stack([self.rotated(k.view(2, 8)[h // 2], at) for at, k, _ in own])
            values = torch.stack([v.view(2, 8)[h // 2] for _, _, v in own])
            weights = (keys @ self.rotated(q, place) / 8**0.5).softmax(0)
            heads.append(weights @ values)
        x = x + self.linear(torch.cat(heads), f"{attn}.o_proj")
        y = x / (x.square().mean() + self.c.rms_norm_eps).sqrt()
        y = y * self.w["layers.0.post_attention_layernorm.weight"]
        gate = F.silu(self.linear(y, "layers.0.mlp.gate_proj"))
        return x + self.linear(
            gate * self.linear(y, "layers.0.mlp.up_proj"), "layers.0.mlp.down_proj"
        )


@pytest.mark.parametrize("which", PARTS)
def test_a_draft_is_the_method_written_out(which: tuple[bool, bool]) -> None:
    tables = Tables()
    drafter = ViSpecDrafter(random_head(parts(*which)), tables, SMALL)
    taps = features(OUT[:-1])
    n = len(PROMPT)
    state = drafter.start(PROMPT)
    drafter.draft(state, OUT[: n + 1], taps[:n])
    tree = drafter.draft(state, OUT, taps[n:])
    plain = Plain(drafter.head, tables)
    rows, vector = plain.stream(OUT, taps)
    assert state.cache.length == len(rows)
    torch.testing.assert_close(state.vector, vector)
    outputs, paths = {0: plain.last(rows)}, {0: rows}
    for node in range(1, len(tree)):
        parent, token_id = tree.parents[node], tree.token_ids[node]
        q = tables.lm_head(outputs[parent]).softmax(-1)
        assert math.isclose(tree.p_draft[node], q[token_id].item(), rel_tol=1e-9)
        assert (q > q[token_id]).sum() == tree.ranks[node]
        embed = tables.embed(torch.tensor(token_id))
        row = plain.pair(embed, outputs[parent], vector)
        paths[node] = [*paths[parent], (len(OUT) - 2 + tree.depths[node], row)]
        outputs[node] = plain.last(paths[node])
    assert max(tree.depths) == 3


@pytest.mark.parametrize("which", PARTS)
def test_the_cache_after_commits_is_that_of_a_full_recompute(which: tuple[bool, bool]) -> None:
    drafter = ViSpecDrafter(random_head(parts(*which)), Tables(), SMALL)
    taps = features(OUT[:-1])
    state, n = drafter.start(PROMPT), len(PROMPT)
    dropped = 4 if which[0] else 0
    for begin, end in ((0, n), (n, n + 1), (n + 1, n + 4), (n + 4, len(OUT) - 1)):
        grown = drafter.draft(state, OUT[: end + 1], taps[begin:end])
        fresh = drafter.start(PROMPT)
        whole = drafter.draft(fresh, OUT[: end + 1], taps[:end])
        assert state.length == fresh.length == end  # the real length: images count in full
        assert state.cache.length == fresh.cache.length == end - dropped
        for mine, full in (
            (state.cache.keys, fresh.cache.keys),
            (state.cache.values, fresh.cache.values),
        ):
            torch.testing.assert_close(mine[:, :, : end - dropped], full[:, :, : end - dropped])
        assert grown.token_ids == whole.token_ids


def test_without_its_parts_it_is_eagle2() -> None:
    tables, taps, n = Tables(), features(OUT[:-1]), len(PROMPT)
    head = random_head(parts(False, False))
    plain = SequentialConfig(
        **{k: v for k, v in asdict(CONFIG).items() if k not in ("adaptor", "global_vector")}
    )
    eagle = Eagle2Head(plain)
    eagle.load_state_dict(head.state_dict())
    mine, theirs = ViSpecDrafter(head, tables, SMALL), Eagle2Drafter(eagle, tables, SMALL)
    states = mine.start(PROMPT), theirs.start(PROMPT)
    for begin, end in ((0, n), (n, len(OUT) - 1)):
        trees: list[CandidateTree] = [
            drafter.draft(state, OUT[: end + 1], taps[begin:end])
            for drafter, state in zip((mine, theirs), states, strict=True)
        ]
        assert trees[0] == trees[1]


def test_passes_are_counted() -> None:
    drafter = ViSpecDrafter(random_head(), Tables())
    assert (SHAPE.depth, drafter.passes, drafter.block_size) == (3, 4, 5)
    passes = []
    drafter.head.layers[0].register_forward_hook(lambda *_: passes.append(1))
    state, taps, n = drafter.start(PROMPT), features(OUT[:-1]), len(PROMPT)
    drafter.draft(state, OUT[: n + 1], taps[:n])
    assert len(passes) == drafter.passes
    tree = drafter.draft(state, OUT, taps[n:])
    assert len(passes) == 2 * drafter.passes
    assert max(tree.depths) < drafter.block_size
    assert len(tree) <= SHAPE.nodes + 1


def test_a_prompt_without_an_image() -> None:
    drafter, tables = ViSpecDrafter(random_head(), Tables(), SMALL), Tables()
    out = [3, 1, 4, 1, 5, 9]
    taps = features(out[:5])
    state = drafter.start(out[:5])
    tree = drafter.draft(state, out, taps)
    rows, _ = Plain(drafter.head, tables).stream(out, taps)
    q = tables.lm_head(Plain(drafter.head, tables).last(rows)).softmax(-1)
    assert tree.token_ids[1] == q.argmax()
    assert not state.vector.any()


def test_images_change_the_draft() -> None:
    drafter = ViSpecDrafter(random_head(), Tables(), SMALL)
    taps, n = features(PROMPT), len(PROMPT)
    before = drafter.draft(drafter.start(PROMPT), OUT[: n + 1], taps)
    taps[3:7, 0] += 1.0  # the embeddings of the first image
    after = drafter.draft(drafter.start(PROMPT), OUT[: n + 1], taps)
    assert before.p_draft != after.p_draft


@pytest.mark.parametrize("rows", [3, 5])
def test_features_that_do_not_continue_the_context_are_refused(rows: int) -> None:
    drafter = ViSpecDrafter(random_head(), Tables())
    out = [3, 1, 4, 1, 5]
    with pytest.raises(RuntimeError, match="expected 4"):
        drafter.draft(drafter.start(out[:4]), out, features([1] * rows))


@pytest.mark.parametrize("family", FAMILIES)
def test_the_answer_is_that_of_plain_decoding(family: str) -> None:
    tiny = target(family, torch.float64)
    expected = reference(family, torch.float64, "sdpa")
    ask = prompt(family, dtype=torch.float64)
    drafter = ViSpecDrafter(random_head(made_for(tiny)), tiny)
    result = check(tiny, ask, drafter, expected, LOGIT_BOUNDS[torch.float64, "sdpa"])
    assert result.stats["drafter_passes"] == 4 * result.stats["rounds"]


@pytest.mark.parametrize("family", FAMILIES)
def test_accepted_paths_leave_the_text_alone(family: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """A random head is hardly ever right: told the answer, its rounds commit many tokens."""
    tiny = target(family, torch.float64)
    expected = reference(family, torch.float64, "sdpa")
    ask = prompt(family, dtype=torch.float64)
    drafter = ViSpecDrafter(random_head(made_for(tiny)), tiny)
    rank, draft, at = drafter._rank, drafter.draft, 0

    def told(state, out, features):
        nonlocal at
        at = len(out) - ask.input_ids.shape[1]
        return draft(state, out, features)

    def favour(hidden):
        nonlocal at
        found, true = rank(hidden), expected.ids[at : at + 1]
        at += 1
        for children in found:
            others = [token_id for token_id in children.ids if token_id not in true]
            children.ids[:] = [*true, *others][: len(children.ids)]
        return found

    monkeypatch.setattr(drafter, "draft", told)
    monkeypatch.setattr(drafter, "_rank", favour)
    result = check(tiny, ask, drafter, expected, LOGIT_BOUNDS[torch.float64, "sdpa"])
    assert result.stats["tau"] > 2


# --- training ---


@pytest.mark.parametrize("which", PARTS)
def test_the_first_rollout_is_what_drafting_sees(which: tuple[bool, bool]) -> None:
    tables, taps, n = Tables(), features(OUT), len(PROMPT)
    drafter = ViSpecDrafter(random_head(parts(*which)), tables, SMALL)
    layout, first, _ = rolled(drafter.head, tables, taps)
    anchors = torch.arange(n, len(OUT) - 1)
    logits = tables.lm_head(first[trained_rows(layout, anchors)])
    state, absorbed = drafter.start(PROMPT), 0
    for row, anchor in zip(logits, anchors.tolist(), strict=True):
        with_root = taps[absorbed:anchor]
        tree = drafter.draft(state, OUT[: anchor + 1], with_root)
        absorbed = anchor
        q = row.softmax(-1)
        for node in range(1, len(tree)):
            if tree.depths[node] == 1:
                assert math.isclose(tree.p_draft[node], q[tree.token_ids[node]], rel_tol=1e-9)


def rolled(head: ViSpecHead, tables: Tables, taps: Tensor) -> tuple[Layout, Tensor, Tensor]:
    """The rollouts over all of OUT, as a record of it would give them."""
    spans = image_spans(PROMPT, IMAGE, [0] * len(PROMPT))
    layout = lay_out(len(OUT) - 1, spans, head.config.adaptor, CPU)
    return layout, *rollouts(head, taps[1:, 0], tables.norm(taps[:-1, 1]), layout)


@pytest.mark.parametrize("which", PARTS)
def test_the_second_rollout_feeds_on_the_first(which: tuple[bool, bool]) -> None:
    tables, taps = Tables(), features(OUT)
    head = random_head(parts(*which)).double()
    layout, first, second = rolled(head, tables, taps)
    plain = Plain(head, tables)
    rows, _ = plain.stream(OUT, taps[:-1])
    assert layout.places.tolist() == [place for place, _ in rows]
    torch.testing.assert_close(first[-1], plain.last(rows))
    vectors = head.see(taps[1:, 0], layout.spans).vectors
    fed = rows[:1]
    for i, (place, x) in enumerate(rows[1:], start=1):
        if layout.image[i] < 0:
            x = plain.pair(taps[place + 1, 0], first[i - 1], vectors[layout.latest[i]])
        fed.append((place, x))
    torch.testing.assert_close(second[-1], plain.last(fed))


def test_list_mle_is_the_chance_of_the_order() -> None:
    logits, wanted = torch.randn(2, 3, 12, dtype=torch.float64)
    total = 0.0
    for own, best in zip(logits.softmax(-1), wanted.argsort(-1, descending=True), strict=True):
        left = [own[i] for i in best[:4]]
        for i in range(4):
            total -= math.log(left[i] / sum(left[i:]))
    assert math.isclose(list_mle(logits, wanted, 4).item(), total / 3, rel_tol=1e-9)


def test_loss_is_twenty_total_variations_and_a_tenth_of_the_order() -> None:
    logits, wanted = torch.randn(2, 3, 12)
    apart = (logits.softmax(-1) - wanted.softmax(-1)).abs().sum(-1) / 2
    expected = 20 * apart.mean() + 0.1 * list_mle(logits, wanted)
    torch.testing.assert_close(vispec_loss(logits, wanted), expected)


@pytest.mark.parametrize("which", PARTS)
def test_a_few_steps_lower_the_loss_and_raise_the_accuracy(which: tuple[bool, bool]) -> None:
    tables = Tables(dtype=torch.float32)
    torch.manual_seed(0)
    head, taps = ViSpecHead(parts(*which)), features(OUT, torch.float32)
    wanted = 4 * tables.lm_head(tables.norm(taps[1:, 1])) / 32**0.5  # of pair t, by feature t + 1
    optimizer = torch.optim.AdamW(head.parameters(), lr=3e-3)
    losses, accuracies = [], []
    for _ in range(60):
        layout, *rollouts = rolled(head, tables, taps)
        rows = trained_rows(layout, torch.arange(len(PROMPT), len(OUT) - 1))
        right = wanted[layout.places[rows]].repeat(2, 1)
        logits = tables.lm_head(torch.cat([rollout[rows] for rollout in rollouts]))
        loss = vispec_loss(logits, right)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        losses.append(loss.item())
        accuracies.append((logits.argmax(-1) == right.argmax(-1)).float().mean().item())
    assert losses[-1] < losses[0] / 2
    assert accuracies[-1] > accuracies[0] + 0.4
    assert all(p.grad is not None and p.grad.any() for p in head.parameters())
