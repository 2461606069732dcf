"""Medusa heads: files, drafting, training.

Run: python -m pytest tests/unit/test_drafters_medusa.py
"""

import json
from dataclasses import replace
from pathlib import Path

import pytest
import torch
from safetensors.torch import load_file, save_file
from torch import Tensor, nn
from torch.nn import functional as F

from glance.drafters.load import load_drafter
from glance.drafters.medusa import MedusaDrafter
from glance.heads.config import HeadError
from glance.heads.medusa import WEIGHTS, MedusaConfig, MedusaHead, read_medusa, write_medusa
from glance.training.blocks import Batch, anchor_rows, block_labels
from glance.training.medusa import draft_offsets, medusa_loss
from tests.contract.lossless import LOGIT_BOUNDS, check, reference
from tests.tables import Tables
from tests.tiny_models import FAMILIES, prompt, target

CONFIG = MedusaConfig(
    hidden_size=32,
    vocab_size=40,
    num_target_layers=6,
    medusa_num_heads=3,
    target_revision="abc",
)


def random_head(config: MedusaConfig = CONFIG) -> MedusaHead:
    torch.manual_seed(0)
    head = MedusaHead(config)
    for name, p in head.named_parameters():
        if name.endswith("weight"):  # zeros would hide a missing block
            nn.init.normal_(p, std=0.3)
    return head


def batch(dtype: torch.dtype = torch.float64) -> Batch:
    """Two pages: what is shared, then two questions with their answers."""
    segments = torch.tensor([[0] * 3 + [1] * 7 + [2] * 8])
    positions = torch.tensor([[0, 1, 2, *range(3, 10), *range(3, 11)]])
    answer = torch.tensor([[False] * 3 + [False] * 2 + [True] * 5 + [False] * 3 + [True] * 5])
    generator = torch.Generator().manual_seed(2)
    return Batch(
        ids=torch.randint(40, (2, 18), generator=generator),
        positions=positions.expand(2, -1),
        segments=segments.expand(2, -1),
        answer=answer.expand(2, -1),
        features=torch.randn(2, 18, 1, 32, generator=generator, dtype=dtype),
        cells=torch.full((2, 18), -1),
    )


def every_anchor(given: Batch) -> Tensor:
    pages = zip(given.answer, given.segments, strict=True)
    return torch.stack([anchor_rows(answer, segments) for answer, segments in pages])


# --- files ---


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    write_medusa(random_head(), tmp_path, dtype=torch.float32)
    return tmp_path


def test_tensor_names_and_shapes_are_the_published_ones(folder: Path) -> None:
    weights = load_file(folder / "medusa_lm_head.safetensors")
    expected = {f"{j}.0.linear.{kind}" for j in range(3) for kind in ("weight", "bias")}
    assert weights.keys() == expected
    assert weights["2.0.linear.weight"].shape == (32, 32)
    raw = json.loads((folder / "config.json").read_text())
    assert (raw["medusa_num_heads"], raw["medusa_num_layers"]) == (3, 1)


def test_round_trip(folder: Path) -> None:
    again = read_medusa(folder)
    assert again.config == CONFIG
    assert again.revision() == random_head().revision()


@pytest.mark.parametrize(
    ("change", "words"),
    [
        (lambda w: w.pop("1.0.linear.bias"), "missing \\['1.0.linear.bias'\\]"),
        (lambda w: w.update({"3.0.linear.bias": torch.ones(32)}), "unknown \\['3.0.linear.bias'"),
        (lambda w: w.update({"0.0.linear.weight": torch.ones(32, 8)}), "weight has shape"),
        (lambda w: w.update({"0.1.weight": torch.ones(40, 32)}), "output layers of their own"),
    ],
)
def test_tensors_are_checked_by_name_and_shape(folder: Path, change, words: str) -> None:
    weights = load_file(folder / WEIGHTS)
    change(weights)
    save_file(weights, folder / WEIGHTS)
    with pytest.raises(HeadError, match=words):
        read_medusa(folder)


@pytest.mark.parametrize(
    ("change", "words"),
    [
        (lambda raw: raw.pop("medusa_num_heads"), "no Medusa heads|not Medusa heads"),
        (lambda raw: raw.update(medusa_num_layers=2), "one block each"),
        (lambda raw: raw.update(medusa_num_heads=0), "medusa_num_heads must be positive"),
        (lambda raw: raw.pop("hidden_size"), "lacks hidden_size"),
    ],
)
def test_other_kinds_of_head_are_refused_by_name(folder: Path, change, words: str) -> None:
    path = folder / "config.json"
    raw = json.loads(path.read_text())
    change(raw)
    path.write_text(json.dumps(raw))
    with pytest.raises(HeadError, match=words):
        read_medusa(folder)


def test_missing_files_are_named(folder: Path) -> None:
    (folder / WEIGHTS).unlink()
    with pytest.raises(HeadError, match=WEIGHTS):
        read_medusa(folder)
    with pytest.raises(HeadError, match="no head in"):
        read_medusa(folder / "nowhere")


def test_loading_by_name(folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    assert load_drafter("medusa", Tables(), folder).name == "medusa"
    monkeypatch.setattr("glance.drafters.load.MODELS", tmp_path / "none")
    with pytest.raises(HeadError, match="No head for medusa"):
        load_drafter("medusa", Tables())


# --- drafting ---


def test_heads_start_out_as_the_state_plus_a_constant() -> None:
    state = torch.randn(4, 32)
    moved = MedusaHead(CONFIG)(state) - state[:, None]
    torch.testing.assert_close(moved, moved[:1].expand_as(moved))


def test_a_draft_is_the_method_written_out() -> None:
    tables = Tables()
    drafter = MedusaDrafter(random_head(), tables)
    features = torch.randn(4, 1, 32, dtype=torch.float64)
    block = drafter.draft(drafter.start([1, 2, 3, 4]), [1, 2, 3, 4, 5], features)
    hidden = tables.norm(features[3, 0])
    for j, row in enumerate(block.logits):
        weight, bias = (getattr(drafter.head[j][0].linear, name) for name in ("weight", "bias"))
        torch.testing.assert_close(
            row, (hidden + F.silu(weight @ hidden + bias)) @ tables.table.weight.T
        )
    assert block.chain is False
    assert drafter.taps == (5,)
    assert (drafter.passes, drafter.block_size) == (0, 4)


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({"vocab_size": 41}, "vocabulary"),
        ({"hidden_size": 64}, "hidden size"),
        ({"num_layers": 7}, "number of layers"),
        ({"revision": "other"}, "trained on target weights abc"),
    ],
)
def test_heads_of_another_target_are_refused(change: dict, words: str) -> None:
    with pytest.raises(HeadError, match=words):
        MedusaDrafter(random_head(), Tables(**change))


@pytest.mark.parametrize("family", FAMILIES)
def test_the_answer_is_that_of_plain_decoding(family: str) -> None:
    tiny = target(family, torch.float64)
    config = replace(
        CONFIG,
        hidden_size=tiny.hidden_size,
        vocab_size=tiny.vocab_size,
        num_target_layers=tiny.num_layers,
        target_revision="",
    )
    drafter = MedusaDrafter(random_head(config), tiny)
    expected = reference(family, torch.float64, "sdpa")
    ask = prompt(family, dtype=torch.float64)
    result = check(tiny, ask, drafter, expected, LOGIT_BOUNDS[torch.float64, "sdpa"])
    assert result.stats["drafter_passes"] == 0


def test_the_state_is_what_the_target_feeds_its_lm_head() -> None:
    """The tapped layer's last row, normed, gives the logits that chose the root token."""
    for family in FAMILIES:
        tiny = target(family, torch.float64)
        with torch.inference_mode():
            taps = (tiny.num_layers - 1,)
            _, logits, features = tiny.prefill(prompt(family, dtype=torch.float64), taps)
            torch.testing.assert_close(tiny.lm_head(tiny.final_norm(features[-1, 0])), logits)


# --- training ---


def test_training_and_drafting_see_the_same() -> None:
    tables, given = Tables(), batch()
    drafter = MedusaDrafter(random_head(), tables)
    anchors = every_anchor(given)
    logits = draft_offsets(drafter.head, tables, given, anchors)
    assert anchors[0].tolist() == [5, 6, 7, 8, 13, 14, 15, 16]  # the prefill token's row is one
    for page in range(2):
        for i, row in enumerate(anchors[page].tolist()):
            out = given.ids[page, : row + 1].tolist()
            block = drafter.draft(None, out, given.features[page, :row])
            torch.testing.assert_close(logits[page, i], block.logits)


def test_head_j_is_shifted_by_two_and_j() -> None:
    """From the position before the root, head j (0-based) learns the token 2 + j further on."""
    given = batch()
    anchors = every_anchor(given)
    labels, exists = block_labels(given, anchors, 3)
    for page in range(2):
        for i, row in enumerate((anchors[page] - 1).tolist()):
            for j in range(3):
                if exists[page, i, j]:
                    assert labels[page, i, j] == given.ids[page, row + 2 + j]
    assert exists[0].sum(0).tolist() == [8, 6, 4]


def test_loss_is_a_plain_sum_of_means() -> None:
    logits, labels = torch.randn(1, 4, 3, 40), torch.randint(40, (1, 4, 3))
    exists = torch.tensor([[[True, True, False], [True, False, False]] * 2])
    expected = F.cross_entropy(logits[0, :, 0], labels[0, :, 0])
    expected += F.cross_entropy(logits[0, ::2, 1], labels[0, ::2, 1])
    torch.testing.assert_close(medusa_loss(logits, labels, exists), expected)


def test_a_few_steps_lower_the_loss_and_raise_the_accuracy() -> None:
    tables, given = Tables(dtype=torch.float32), batch(torch.float32)
    torch.manual_seed(0)
    head = MedusaHead(CONFIG)
    anchors = every_anchor(given)
    labels, exists = block_labels(given, anchors, 3)
    optimizer = torch.optim.AdamW(head.parameters(), lr=1e-2)
    losses, accuracies = [], []
    for _ in range(40):
        logits = draft_offsets(head, tables, given, anchors)
        loss = medusa_loss(logits, labels, exists)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        losses.append(loss.item())
        accuracies.append(((logits.argmax(-1) == labels) & exists).sum().item())
    assert losses[-1] < losses[0] / 2
    assert accuracies[-1] > 2 * accuracies[0] + 5
