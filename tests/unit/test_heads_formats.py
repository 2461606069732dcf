"""Block heads on disk in the z-lab layout.

Run: python -m pytest tests/unit/test_heads_formats.py
"""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import torch
from safetensors.torch import load_file, save_file

from glance.heads.block import BlockHead
from glance.heads.config import HeadConfig, HeadError
from glance.heads.formats import read_head, write_head

CONFIG = HeadConfig(
    hidden_size=16,
    intermediate_size=24,
    num_hidden_layers=2,
    num_attention_heads=2,
    num_key_value_heads=1,
    head_dim=8,
    vocab_size=40,
    num_target_layers=6,
    mask_token_id=39,
    target_layer_ids=(1, 3, 5),
    target_revision="abc",
)
LAYER = (
    "input_layernorm",
    "post_attention_layernorm",
    "self_attn.q_proj",
    "self_attn.k_proj",
    "self_attn.v_proj",
    "self_attn.o_proj",
    "self_attn.q_norm",
    "self_attn.k_norm",
    "mlp.gate_proj",
    "mlp.up_proj",
    "mlp.down_proj",
)


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    torch.manual_seed(0)
    write_head(BlockHead(CONFIG), tmp_path, dtype=torch.float32)
    return tmp_path


def edit_config(folder: Path, change: Callable[[dict[str, Any]], Any]) -> None:
    path = folder / "config.json"
    raw = json.loads(path.read_text())
    change(raw)
    path.write_text(json.dumps(raw))


def test_tensor_names_and_shapes_are_the_published_ones(folder: Path) -> None:
    weights = load_file(folder / "model.safetensors")
    layers = {f"layers.{i}.{name}.weight" for i in (0, 1) for name in LAYER}
    assert weights.keys() == {"fc.weight", "hidden_norm.weight", "norm.weight"} | layers
    assert weights["fc.weight"].shape == (16, 3 * 16)
    assert weights["layers.0.self_attn.q_norm.weight"].shape == (8,)
    assert weights["layers.1.self_attn.k_proj.weight"].shape == (8, 16)
    assert weights["layers.1.mlp.down_proj.weight"].shape == (16, 24)


def test_config_is_spelled_as_published(folder: Path) -> None:
    raw = json.loads((folder / "config.json").read_text())
    assert raw["architectures"] == ["DFlashDraftModel"]
    assert raw["model_type"] == "qwen3"
    assert raw["block_size"] == 16
    assert raw["num_target_layers"] == 6
    assert raw["rope_scaling"] is None
    assert raw["dflash_config"] == {"mask_token_id": 39, "target_layer_ids": [1, 3, 5]}
    assert raw["target_revision"] == "abc"


def test_round_trip(folder: Path) -> None:
    torch.manual_seed(0)
    head, again = BlockHead(CONFIG), read_head(folder)
    assert again.config == CONFIG
    assert again.revision() == head.revision()


def test_round_trip_in_bfloat16_rounds_once(tmp_path: Path) -> None:
    head = BlockHead(CONFIG)
    write_head(head, tmp_path)
    again = read_head(tmp_path)
    for name, tensor in again.state_dict().items():
        assert tensor.dtype == torch.float32
        assert torch.equal(tensor, head.state_dict()[name].bfloat16().float())


@pytest.mark.parametrize(
    "rope",
    [
        {"rope_theta": 1e6, "rope_scaling": None},
        {"rope_parameters": {"rope_type": "default", "rope_theta": 1e6}},
    ],
)
def test_rotary_entries_are_found_under_both_names(folder: Path, rope: dict[str, Any]) -> None:
    def change(raw: dict[str, Any]) -> None:
        raw.pop("rope_theta")
        raw.update(rope)

    edit_config(folder, change)
    assert read_head(folder).config.rope_theta == 1e6


def test_a_published_config_without_a_target_hash_is_read(folder: Path) -> None:
    edit_config(folder, lambda raw: raw.pop("target_revision"))
    assert read_head(folder).config.target_revision == ""


@pytest.mark.parametrize(
    ("change", "words"),
    [
        (lambda w: w.pop("norm.weight"), "missing \\['norm.weight'\\]"),
        (lambda w: w.update({"lm_head.weight": torch.ones(2)}), "unknown \\['lm_head.weight'\\]"),
        (lambda w: w.update({"fc.weight": torch.ones(16, 16)}), "fc.weight has shape"),
    ],
)
def test_tensors_are_checked_by_name_and_shape(
    folder: Path, change: Callable[[dict[str, torch.Tensor]], Any], words: str
) -> None:
    weights = load_file(folder / "model.safetensors")
    change(weights)
    save_file(weights, folder / "model.safetensors")
    with pytest.raises(HeadError, match=words):
        read_head(folder)


@pytest.mark.parametrize(
    ("change", "words"),
    [
        (lambda raw: raw.update(architectures=["LlamaForCausalLM"]), "not a DFlash head"),
        (lambda raw: raw["dflash_config"].update(projector_type="domino"), "projector_type"),
        (lambda raw: raw.update(layer_types=["sliding_attention"] * 2), "sliding-window"),
        (lambda raw: raw.update(rope_scaling={"mrope_section": [1, 1, 2]}), "rotary"),
        (lambda raw: raw["dflash_config"].update(target_layer_ids=[1, 1, 3]), "increasing"),
        (lambda raw: raw["dflash_config"].update(mask_token_id=40), "mask_token_id"),
        (lambda raw: raw.pop("head_dim"), "lacks head_dim"),
    ],
)
def test_other_kinds_of_head_are_refused_by_name(
    folder: Path, change: Callable[[dict[str, Any]], Any], words: str
) -> None:
    edit_config(folder, change)
    with pytest.raises(HeadError, match=words):
        read_head(folder)


def test_broken_files_are_named(folder: Path) -> None:
    (folder / "model.safetensors").write_bytes(b"not weights")
    with pytest.raises(HeadError, match=r"model\.safetensors"):
        read_head(folder)
    (folder / "config.json").write_text("[]")
    with pytest.raises(HeadError, match=r"config\.json"):
        read_head(folder)
