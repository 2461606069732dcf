"""The HiViS-style head: which rows a prompt becomes, files, drafting, training.

Run: python -m pytest tests/unit/test_drafters_hivis.py
"""

import json
import math
from dataclasses import asdict, replace
from itertools import pairwise
from pathlib import Path

import pytest
import torch
from safetensors.torch import load_file, save_file
from torch import Tensor, nn
from torch.nn import functional as F

from glance.config import MOST_NODES
from glance.drafters.eagle2 import Eagle2Drafter
from glance.drafters.grown import Children, TreeShape
from glance.drafters.hivis import SHAPE, HiViSDrafter
from glance.drafters.load import load_drafter
from glance.heads.config import HeadError
from glance.heads.eagle2 import Eagle2Head
from glance.heads.formats_hivis import read_hivis, write_hivis
from glance.heads.hivis import HiViSConfig, HiViSHead, lay_out
from glance.heads.llama_layer import SequentialConfig, masked
from glance.targets.base import Target
from glance.training.hivis import STEPS, hivis_loss, trained_rows, unroll
from glance.tree import check_tree
from glance.types import PromptError
from tests.contract.lossless import LOGIT_BOUNDS, check, reference
from tests.tables import Tables
from tests.tiny_models import FAMILIES, prompt, target

IMAGE = 38  # of Tables
CONFIG = HiViSConfig(
    hidden_size=32,
    intermediate_size=48,
    num_attention_heads=4,
    num_key_value_heads=2,
    head_dim=8,
    vocab_size=40,
    num_target_layers=6,
    target_revision="abc",
    residual_steps=3,
)
CHANGES = {
    "usual": {},
    "no-residual": {"residual_steps": 0},
    "images": {"image_tokens": True},
    "compact": {"compact_positions": True},
}
variants = pytest.mark.parametrize("changes", CHANGES.values(), ids=CHANGES.keys())
SMALL = TreeShape(depth=2, width=3, nodes=14)
#: words, an image of four tokens, words, an image of two, words; then an answer
PROMPT = [3, 1, 4, *[IMAGE] * 4, 1, 5, *[IMAGE] * 2, 9, 2]
OUT = [*PROMPT, 6, 5, 3, 5, 8, 9, 7, 9, 3, 2]
N = len(PROMPT)
HIDDEN = 6


def random_head(config: HiViSConfig = CONFIG) -> HiViSHead:
    torch.manual_seed(0)
    head = HiViSHead(config)
    for name, p in head.named_parameters():
        if "norm" in name:  # ones would hide a norm that is skipped
            nn.init.uniform_(p, 0.5, 1.5)
        if name == "residual":  # zeros would hide the wrong step
            nn.init.normal_(p)
    return head


def made_for(tiny: Target, **changes: object) -> HiViSConfig:
    fits = {
        "hidden_size": tiny.hidden_size,
        "head_dim": 16,
        "vocab_size": tiny.vocab_size,
        "num_target_layers": tiny.num_layers,
        "target_revision": "",
    }
    return replace(CONFIG, **{**fits, **changes})


def features(ids: list[int], dtype: torch.dtype = torch.float64) -> Tensor:
    """Taps [n, 2, d]: embeddings, random where an image is, and random states."""
    generator = torch.Generator().manual_seed(2)
    taps = torch.randn(len(ids), 2, 32, generator=generator, dtype=dtype)
    text = torch.tensor(ids) != IMAGE
    taps[text, 0] = Tables(dtype=dtype).embed(torch.tensor(ids)[text])
    return taps


# --- rows ---


def is_image(ids: list[int]) -> Tensor:
    return torch.tensor(ids) == IMAGE


@pytest.mark.parametrize(
    ("ids", "places"),
    [
        ([1, 2, 3], [0, 1, 2]),
        ([1, IMAGE, IMAGE, IMAGE, 2], [0, 4]),
        ([IMAGE, IMAGE, 2, 3], [2, 3]),
        ([1, *[IMAGE] * 2, *[IMAGE] * 3, 2], [0, 6]),  # side by side
        ([1, IMAGE, IMAGE, 2, 3, IMAGE, IMAGE, IMAGE, 4], [0, 3, 4, 8]),
    ],
)
def test_only_text_has_rows(ids: list[int], places: list[int]) -> None:
    layout = lay_out(is_image(ids), CONFIG)
    assert layout.places.tolist() == places
    assert layout.positions.tolist() == places
    # row by row the token after it is the next one of text, and the root token in the end
    following = [*ids[1:], "root"]
    expected = [*[ids[place] for place in places[1:]], "root"]
    assert [following[i] for i in layout.reads.tolist()] == expected
    compact = lay_out(is_image(ids), replace(CONFIG, compact_positions=True))
    assert compact.places.tolist() == places
    assert compact.positions.tolist() == list(range(len(places)))
    whole = lay_out(is_image(ids), replace(CONFIG, image_tokens=True))
    for field in (whole.places, whole.reads, whole.positions):
        assert field.tolist() == list(range(len(ids)))


# --- files ---


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    write_hivis(random_head(), tmp_path, dtype=torch.float32)
    return tmp_path


def test_tensor_names_and_shapes(folder: Path) -> None:
    shapes = {name: tuple(t.shape) for name, t in load_file(folder / "model.safetensors").items()}
    assert shapes == {
        "fc.weight": (32, 64),
        "fc.bias": (32,),
        "layers.0.self_attn.q_proj.weight": (32, 32),
        "layers.0.self_attn.k_proj.weight": (16, 32),
        "layers.0.self_attn.v_proj.weight": (16, 32),
        "layers.0.self_attn.o_proj.weight": (32, 32),
        "layers.0.mlp.gate_proj.weight": (48, 32),
        "layers.0.mlp.up_proj.weight": (48, 32),
        "layers.0.mlp.down_proj.weight": (32, 48),
        "layers.0.post_attention_layernorm.weight": (32,),
        "residual": (3, 32),
    }


@variants
def test_round_trip(tmp_path: Path, changes: dict) -> None:
    head = random_head(replace(CONFIG, attention_bias=True, **changes))
    write_hivis(head, tmp_path, dtype=torch.float32)
    again = read_hivis(tmp_path)
    assert again.config == head.config
    assert again.revision() == head.revision()


@pytest.mark.parametrize(
    ("change", "words"),
    [
        (lambda w: w.pop("residual"), "missing \\['residual'\\]"),
        (lambda w: w.update({"norm.weight": torch.ones(32)}), "unknown \\['norm.weight'\\]"),
        (lambda w: w.update({"residual": torch.ones(4, 32)}), "residual has shape"),
        (lambda w: w.update({"fc.weight": torch.ones(32, 96)}), "fc.weight has shape"),
    ],
)
def test_tensors_are_checked_by_name_and_shape(folder: Path, change, words: str) -> None:
    weights = load_file(folder / "model.safetensors")
    change(weights)
    save_file(weights, folder / "model.safetensors")
    with pytest.raises(HeadError, match=words):
        read_hivis(folder)


@pytest.mark.parametrize(
    ("change", "words"),
    [
        (lambda raw: raw.update(architectures=["LlamaForCausalLM"]), "no HiViS-style head"),
        (lambda raw: raw.pop("architectures"), "no HiViS-style head"),
        (lambda raw: raw.pop("residual_steps"), "lacks residual_steps"),
        (lambda raw: raw.pop("image_tokens"), "lacks image_tokens"),
        (lambda raw: raw.update(residual_steps=-1), "residual_steps must not be negative"),
        (lambda raw: raw.update(head_dim=0), "head_dim must be positive"),
    ],
)
def test_other_configs_are_refused(folder: Path, change, words: str) -> None:
    path = folder / "config.json"
    raw = json.loads(path.read_text())
    change(raw)
    path.write_text(json.dumps(raw))
    with pytest.raises(HeadError, match=words):
        read_hivis(folder)


def test_loading_by_name(folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    assert load_drafter("hivis", Tables(), folder).name == "hivis"
    with pytest.raises(HeadError, match="number of layers"):
        load_drafter("hivis", Tables(num_layers=7), folder)
    with pytest.raises(HeadError, match="trained on target weights abc"):
        load_drafter("hivis", Tables(revision="other"), folder)
    monkeypatch.setattr("glance.drafters.load.MODELS", tmp_path / "none")
    with pytest.raises(HeadError, match="No head for hivis"):
        load_drafter("hivis", Tables())


# --- drafting ---


class Plain:
    """The method with loops over places and paths: no layout, and no cache."""

    def __init__(self, head: HiViSHead, tables: Tables) -> None:
        self.c, self.head, self.tables = head.config, head, tables

    def row(self, embed: Tensor, feature: Tensor, step: int) -> Tensor:
        if step and self.c.residual_steps:
            feature = feature + self.head.residual[min(step, self.c.residual_steps) - 1]
        return self.head.fc(torch.cat((embed, feature)))

    def stream(self, out: list[int], taps: Tensor) -> list[tuple[int, Tensor]]:
        """Rows of all of `out`, its root token included, with their positions."""
        shown = [
            place for place, token_id in enumerate(out) if self.c.image_tokens or token_id != IMAGE
        ]
        embeds = [*taps[:, 0], self.tables.embed(torch.tensor(out[-1]))]
        rows = []
        for place, after in pairwise(shown):
            position = len(rows) if self.c.compact_positions else place
            feature = self.tables.norm(taps[place, 1])
            rows.append((position, self.row(embeds[after], feature, 0)))
        return rows

    def last(self, rows: list[tuple[int, Tensor]]) -> Tensor:
        """Output of the last row, which sees all before it."""
        at, x = zip(*rows, strict=True)
        rope = self.c.rope(torch.tensor([at]), torch.float64)
        seen = torch.ones(1, 1, len(at), len(at), dtype=torch.bool).tril()
        return self.head.layers[0](torch.stack(x)[None], rope, masked(seen))[0, -1]


@variants
def test_a_draft_is_the_method_written_out(changes: dict) -> None:
    """A tree one level deeper than there are residuals: its last two levels share the last."""
    config = replace(CONFIG, **changes)
    tables = Tables()
    shape = TreeShape(depth=config.residual_steps + 1, width=2, nodes=16)
    drafter = HiViSDrafter(random_head(config), tables, shape)
    taps = features(OUT[:-1])
    state = drafter.start(PROMPT)
    drafter.draft(state, OUT[: N + 1], taps[:N])
    tree = drafter.draft(state, OUT, taps[N:])
    check_tree(tree, OUT[-1], shape.nodes)
    plain = Plain(drafter.head, tables)
    rows = plain.stream(OUT, taps)
    assert state.cache.length == len(rows)
    assert len(rows) == len(OUT) - 1 - (0 if config.image_tokens else HIDDEN)
    outputs, paths = {0: plain.last(rows)}, {0: rows}
    for node in range(1, len(tree)):
        parent, token_id = tree.parents[node], tree.token_ids[node]
        q = tables.lm_head(outputs[parent]).softmax(-1)
        assert math.isclose(tree.p_draft[node], q[token_id].item(), rel_tol=1e-9)
        assert (q > q[token_id]).sum() == tree.ranks[node]
        embed, depth = tables.embed(torch.tensor(token_id)), tree.depths[node]
        row = plain.row(embed, outputs[parent], depth)
        paths[node] = [*paths[parent], (paths[parent][-1][0] + 1, row)]
        outputs[node] = plain.last(paths[node])
    assert max(tree.depths) == shape.depth + 1


@variants
def test_the_cache_after_commits_is_that_of_a_full_recompute(changes: dict) -> None:
    drafter = HiViSDrafter(random_head(replace(CONFIG, **changes)), Tables(), SMALL)
    taps, state = features(OUT[:-1]), drafter.start(PROMPT)
    hidden = 0 if drafter.head.config.image_tokens else HIDDEN
    for begin, end in ((0, N), (N, N + 1), (N + 1, N + 4), (N + 4, len(OUT) - 1)):
        grown = drafter.draft(state, OUT[: end + 1], taps[begin:end])
        fresh = drafter.start(PROMPT)
        whole = drafter.draft(fresh, OUT[: end + 1], taps[:end])
        assert state.length == fresh.length == end  # the real length: images count in full
        rows = end - hidden
        assert state.cache.length == fresh.cache.length == rows
        for mine, full in (
            (state.cache.keys, fresh.cache.keys),
            (state.cache.values, fresh.cache.values),
        ):
            torch.testing.assert_close(mine[:, :, :rows], full[:, :, :rows])
        assert grown.token_ids == whole.token_ids


def test_with_image_tokens_and_no_residuals_it_is_eagle2() -> None:
    tables, taps = Tables(), features(OUT[:-1])
    head = random_head(replace(CONFIG, image_tokens=True, residual_steps=0))
    own = ("image_tokens", "residual_steps", "compact_positions")
    sizes = {name: size for name, size in asdict(CONFIG).items() if name not in own}
    eagle = Eagle2Head(SequentialConfig(**sizes))
    eagle.load_state_dict(head.state_dict())
    mine, theirs = HiViSDrafter(head, tables, SMALL), Eagle2Drafter(eagle, tables, SMALL)
    states = mine.start(PROMPT), theirs.start(PROMPT)
    for begin, end in ((0, N), (N, len(OUT) - 1)):
        trees = [
            drafter.draft(state, OUT[: end + 1], taps[begin:end])
            for drafter, state in zip((mine, theirs), states, strict=True)
        ]
        assert trees[0] == trees[1]


def test_the_residuals_of_a_new_head_change_nothing() -> None:
    new = HiViSHead(CONFIG)
    without = HiViSHead(replace(CONFIG, residual_steps=0))
    without.load_state_dict({k: v for k, v in new.state_dict().items() if k != "residual"})
    trees = [
        drafter.draft(drafter.start(PROMPT), OUT[: N + 1], features(PROMPT))
        for drafter in (HiViSDrafter(head, Tables(), SMALL) for head in (new, without))
    ]
    assert trees[0] == trees[1]


@pytest.mark.parametrize("image_tokens", [False, True])
def test_the_images_are_hidden_unless_kept(image_tokens: bool) -> None:
    head = random_head(replace(CONFIG, image_tokens=image_tokens))
    drafter, taps = HiViSDrafter(head, Tables(), SMALL), features(PROMPT)
    before = drafter.draft(drafter.start(PROMPT), OUT[: N + 1], taps)
    taps[is_image(PROMPT)] += 1.0  # embeddings and states
    after = drafter.draft(drafter.start(PROMPT), OUT[: N + 1], taps)
    assert (before == after) is not image_tokens


def test_passes_are_counted() -> None:
    drafter = HiViSDrafter(random_head(), Tables())
    assert (drafter.shape, drafter.passes, drafter.block_size) == (
        TreeShape(5, 10, MOST_NODES),
        6,
        7,
    )
    rows: list[int] = []
    drafter.head.register_forward_hook(lambda _m, args, _o: rows.append(args[0].shape[1]))
    state, taps = drafter.start(PROMPT), features(OUT[:-1])
    drafter.draft(state, OUT[: N + 1], taps[:N])
    assert rows == [N - HIDDEN, *[SHAPE.width] * SHAPE.depth]
    assert len(rows) == drafter.passes
    tree = drafter.draft(state, OUT, taps[N:])
    assert len(rows) == 2 * drafter.passes
    assert max(tree.depths) < drafter.block_size
    assert len(tree) == SHAPE.nodes + 1


@pytest.mark.parametrize("rows", [0, 3, 5])
def test_features_that_do_not_continue_the_context_are_refused(rows: int) -> None:
    drafter, out = HiViSDrafter(random_head(), Tables()), [3, 1, 4, 1, 5]
    given = features([1] * rows) if rows else None
    with pytest.raises(RuntimeError, match="expected 4"):
        drafter.draft(drafter.start(out[:4]), out, given)


def test_a_prompt_without_text_is_refused() -> None:
    with pytest.raises(PromptError, match="reads text alone"):
        HiViSDrafter(random_head(), Tables()).start([IMAGE] * 3)
    kept = HiViSDrafter(random_head(replace(CONFIG, image_tokens=True)), Tables())
    kept.start([IMAGE] * 3)


@pytest.mark.parametrize(
    ("family", "name"),
    [*((each, "usual") for each in FAMILIES[1:]), *((FAMILIES[0], name) for name in CHANGES)],
)
def test_the_answer_is_that_of_plain_decoding(family: str, name: str) -> None:
    tiny = target(family, torch.float64)
    expected = reference(family, torch.float64, "sdpa")
    ask = prompt(family, dtype=torch.float64)
    drafter = HiViSDrafter(random_head(made_for(tiny, **CHANGES[name])), tiny, SMALL)
    result = check(tiny, ask, drafter, expected, LOGIT_BOUNDS[torch.float64, "sdpa"])
    assert result.stats["drafter_passes"] == 3 * result.stats["rounds"]


@pytest.mark.parametrize("family", FAMILIES)
def test_accepted_paths_leave_the_text_alone(family: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """A random head is hardly ever right: told the answer, its rounds commit many tokens."""
    tiny = target(family, torch.float64)
    expected = reference(family, torch.float64, "sdpa")
    ask = prompt(family, dtype=torch.float64)
    drafter = HiViSDrafter(random_head(made_for(tiny)), tiny, SMALL)
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

ROOTS = torch.arange(N, len(OUT) - 1)  # the answer's tokens, all but its last


def unrolled(
    head: HiViSHead, tables: Tables, taps: Tensor, steps: int = STEPS
) -> tuple[list[Tensor], Tensor]:  # guesses of the trained rows [A, d] by step, true states [A, d]
    """As a record of OUT would give it: there are no features of its last token."""
    layout = lay_out(is_image(OUT[:-1]), head.config)
    states = tables.norm(taps[:-1, 1])
    rows = trained_rows(layout, ROOTS)
    return unroll(head, taps[1:, 0], states, layout, rows, steps), states[ROOTS]


@variants
@pytest.mark.parametrize("rounds", [[N], [N, N + 2], [N + 3]])
def test_a_step_of_training_is_a_step_of_drafting(changes: dict, rounds: list[int]) -> None:
    """Row of root a, step i: the same guess as at depth i of the chain drafted from it."""
    tables, taps = Tables(), features(OUT)
    depth = 5  # beyond the last residual
    head = random_head(replace(CONFIG, **changes))
    drafter = HiViSDrafter(head, tables, TreeShape(depth, 1, depth + 1))
    heard: list[Tensor] = []
    told: list[int] = []

    def rank(hidden: Tensor) -> list[Children]:
        heard.append(hidden[0, -1])
        return [Children([told.pop(0)], [-0.1])]

    drafter._rank = rank
    state, absorbed = drafter.start(PROMPT), 0
    for root in rounds:
        heard.clear()
        told[:] = OUT[root + 1 : root + 2 + depth]
        drafter.draft(state, OUT[: root + 1], taps[absorbed:root])
        absorbed = root
    steps, _ = unrolled(drafter.head, tables, taps, depth + 1)
    assert len(heard) == len(steps) == STEPS == SHAPE.depth + 1
    for own, drafted in zip(steps, heard, strict=True):
        torch.testing.assert_close(own[rounds[-1] - N], drafted)


@variants
def test_the_loss_written_out(changes: dict) -> None:
    tables, taps = Tables(), features(OUT)
    head = random_head(replace(CONFIG, **changes)).double()
    steps, states = unrolled(head, tables, taps)
    loss, shares = hivis_loss(head, steps, states, tables)
    total = 0.0
    for i, guesses in enumerate(steps):
        lessons, right = [], 0
        for root in range(N, len(OUT) - 1):
            at = root + i  # the token that the draft has read last
            if at >= len(OUT) - 1:
                continue
            true, guess = tables.norm(taps[at, 1]), guesses[root - N]
            p, log_q = (tables.lm_head(x).float() for x in (true, guess))
            p, log_q = p.softmax(-1), log_q.log_softmax(-1)
            lesson = -(p * log_q).sum()
            if i < 5:
                read = guess
                if head.config.residual_steps:
                    read = guess + head.residual[min(i, 2)]
                lesson = lesson + 0.5 * F.smooth_l1_loss(read, true)
            lessons.append(lesson)
            right += int(p.argmax() == log_q.argmax())
        assert len(lessons) == 9 - i
        total += 0.8**i * sum(lessons) / len(lessons)
        assert shares[i] == pytest.approx(right / len(lessons))
    torch.testing.assert_close(loss, total, atol=1e-6, rtol=1e-6)


@pytest.mark.parametrize("roots", [0, 2])
def test_short_answers_have_lessons_for_few_steps(roots: int) -> None:
    tables, taps = Tables(), features(OUT)
    head = random_head().double()
    steps, states = unrolled(head, tables, taps)
    loss, shares = hivis_loss(head, [own[:roots] for own in steps], states[:roots], tables)
    loss.backward()
    assert len(shares) == STEPS
    assert not any(shares[roots:])
    taught = [bool(vector.any()) for vector in head.residual.grad]
    assert taught == ([True, True, False] if roots else [False] * 3)
    few, _ = hivis_loss(head, [own[:roots] for own in steps[: roots + 1]], states[:roots], tables)
    assert loss.item() == few.item()


@variants
def test_a_few_steps_lower_the_loss_and_raise_the_accuracy(changes: dict) -> None:
    tables, taps = Tables(dtype=torch.float32), features(OUT, torch.float32)
    torch.manual_seed(0)
    head = HiViSHead(replace(CONFIG, **{"residual_steps": 5, **changes}))
    optimizer = torch.optim.AdamW(head.parameters(), lr=3e-3, betas=(0.9, 0.95))
    losses, accuracies = [], []
    for _ in range(60):
        loss, shares = hivis_loss(head, *unrolled(head, tables, taps), tables)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        losses.append(loss.item())
        accuracies.append(shares)
    assert losses[-1] < losses[0] / 2
    for first, last in zip(accuracies[0], accuracies[-1], strict=True):
        assert first < 0.5
        assert last > 0.8
    for p in head.parameters():
        rows = p.grad.flatten(1) if p.dim() > 1 else p.grad[None]
        assert rows.any(dim=1).all()


def test_a_residual_learns_the_mean_error_of_its_step() -> None:
    """Guesses held still, each residual goes to what the target's features exceed them by."""
    tables, taps = Tables(), features(OUT)
    head = random_head(replace(CONFIG, residual_steps=2)).double()
    steps, states = unrolled(head, tables, taps, 3)
    steps = [own.detach() for own in steps]
    optimizer = torch.optim.Adam([head.residual], lr=0.05)
    for _ in range(300):
        loss, _ = hivis_loss(head, steps, states, tables)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    for step in (0, 1):
        own, true = steps[step][: len(states) - step], states[step:]
        best = head.residual[step].detach()
        error = F.smooth_l1_loss(own + best, true)
        for other in (0.0, (true - own).mean(0), (true - own).median(0).values):
            assert error <= F.smooth_l1_loss(own + other, true) + 1e-6
