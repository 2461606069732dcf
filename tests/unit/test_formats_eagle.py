"""EAGLE heads on disk, in their published layouts.

Run: python -m pytest tests/unit/test_formats_eagle.py
"""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import torch
from safetensors.torch import load_file, save_file
from torch import Tensor

from glance.heads.config import HeadError
from glance.heads.eagle2 import Eagle2Head
from glance.heads.eagle3 import Eagle3Config, Eagle3Head, eagle3_taps
from glance.heads.formats_eagle import read_eagle2, read_eagle3, write_eagle2, write_eagle3
from glance.heads.llama_layer import SequentialConfig

D, V, DRAFT, M = 16, 40, 10, 12
SIZES = {
    "hidden_size": D,
    "intermediate_size": 24,
    "num_attention_heads": 2,
    "num_key_value_heads": 1,
    "head_dim": 8,
    "vocab_size": V,
    "num_target_layers": M,
    "max_position_embeddings": 64,
    "target_revision": "abc",
}
PLAIN = SequentialConfig(**SIZES)
THREE = Eagle3Config(
    **SIZES,
    target_layer_ids=(1, 5, 8),
    draft_vocab_size=DRAFT,
    mrope_section=(2, 1, 1),
    mrope_interleaved=True,
    image_stream="vision_embed",
)
KEPT = torch.arange(DRAFT) * 4
MLP = {"gate_proj": (24, D), "up_proj": (24, D), "down_proj": (D, 24)}


def linear(shapes: dict[str, tuple[int, ...]]) -> dict[str, Tensor]:
    return {name: torch.randn(shape) for name, shape in shapes.items()}


def published2() -> tuple[dict[str, Any], dict[str, Tensor]]:
    """A config and tensors as EAGLE's own trainer writes them: no field that can be derived."""
    raw = {
        "architectures": ["LlamaForCausalLM"],
        "hidden_act": "silu",
        "hidden_size": D,
        "intermediate_size": 24,
        "max_position_embeddings": 64,
        "model_type": "llama",
        "num_attention_heads": 2,
        "num_hidden_layers": 1,
        "rms_norm_eps": 1e-6,
        "vocab_size": V,
    }
    layer = "layers.0."
    attention = {f"{layer}self_attn.{name}_proj.weight": (D, D) for name in "qkvo"}
    mlp = {f"{layer}mlp.{name}.weight": shape for name, shape in MLP.items()}
    rest = {
        "embed_tokens.weight": (V, D),
        "fc.weight": (D, 2 * D),
        "fc.bias": (D,),
        f"{layer}post_attention_layernorm.weight": (D,),
    }
    return raw, linear({**attention, **mlp, **rest})


def published3() -> tuple[dict[str, Any], dict[str, Tensor]]:
    """A config and tensors as SpecForge writes them for Qwen-VL."""
    raw = {
        "architectures": ["LlamaForCausalLMEagle3"],
        "attention_bias": False,
        "draft_vocab_size": DRAFT,
        "head_dim": 8,
        "hidden_act": "silu",
        "hidden_size": D,
        "intermediate_size": 24,
        "max_position_embeddings": 64,
        "model_type": "llama",
        "num_attention_heads": 2,
        "num_hidden_layers": 1,
        "num_key_value_heads": 1,
        "rms_norm_eps": 1e-6,
        "rope_scaling": {"type": "mrope", "mrope_section": [2, 1, 1]},
        "rope_theta": 1000000,
        "use_sliding_window": False,
        "vocab_size": V,
    }
    layer = "midlayer."
    norms = ("input_layernorm", "hidden_norm", "post_attention_layernorm")
    weights = linear(
        {
            "fc.weight": (D, 3 * D),
            "norm.weight": (D,),
            "lm_head.weight": (DRAFT, D),
            f"{layer}self_attn.q_proj.weight": (16, 2 * D),
            f"{layer}self_attn.k_proj.weight": (8, 2 * D),
            f"{layer}self_attn.v_proj.weight": (8, 2 * D),
            f"{layer}self_attn.o_proj.weight": (D, 16),
            **{f"{layer}{name}.weight": (D,) for name in norms},
            **{f"{layer}mlp.{name}.weight": shape for name, shape in MLP.items()},
        }
    )
    kept = torch.zeros(V, dtype=torch.bool)
    kept[KEPT] = True
    return raw, {**weights, "d2t": KEPT - torch.arange(DRAFT), "t2d": kept}


def put(folder: Path, raw: dict[str, Any], weights: dict[str, Tensor]) -> Path:
    (folder / "config.json").write_text(json.dumps(raw))
    save_file(weights, folder / "model.safetensors")
    return folder


def test_a_published_eagle2_head_is_read(tmp_path: Path) -> None:
    raw, weights = published2()
    head = read_eagle2(put(tmp_path, raw, weights), M)
    c = head.config
    assert (c.num_key_value_heads, c.head_dim, c.num_target_layers) == (2, 8, M)
    assert (c.rope_theta, c.attention_bias, c.target_revision) == (10_000.0, False, "")
    for name, tensor in head.state_dict().items():
        assert torch.equal(tensor, weights[name])


def test_an_eagle2_head_with_biases_for_qwen_is_read(tmp_path: Path) -> None:
    raw, weights = published2()
    weights |= linear({f"layers.0.self_attn.{name}_proj.bias": (D,) for name in "qkv"})
    head = read_eagle2(put(tmp_path, {**raw, "qkv_bias": True}, weights), M)
    assert head.config.attention_bias
    with pytest.raises(HeadError, match=r"unknown \['layers\.0\.self_attn\.k_proj\.bias"):
        read_eagle2(put(tmp_path, raw, weights), M)


def test_a_published_eagle3_head_is_read(tmp_path: Path) -> None:
    raw, weights = published3()
    head = read_eagle3(put(tmp_path, raw, weights), M)
    c = head.config
    assert c.target_layer_ids == (1, 5, 8) == eagle3_taps(M)
    assert (c.mrope_section, c.mrope_interleaved) == ((2, 1, 1), False)
    assert (c.image_stream, c.rope_theta) == ("pad_embed", 1e6)
    assert torch.equal(head.token_ids(), KEPT)
    for name, tensor in head.state_dict().items():
        assert torch.equal(tensor, weights[name])


def published_speculators() -> tuple[dict[str, Any], dict[str, Tensor]]:
    """The same head as vLLM's speculators write it."""
    raw, weights = published3()
    outer = {
        "architectures": ["Eagle3Speculator"],
        "speculators_model_type": "eagle3",
        "draft_vocab_size": DRAFT,
        "norm_before_residual": True,
        "target_hidden_size": None,
        "eagle_aux_hidden_state_layer_ids": [2, 5, 8],
    }
    inner = {k: v for k, v in raw.items() if k not in outer} | {"architectures": None}
    renamed = {k.replace("midlayer.", "layers.0."): v for k, v in weights.items()}
    renamed["embed_tokens.weight"] = torch.randn(V, D)
    return {**outer, "transformer_layer_config": inner}, renamed


def test_the_speculators_layout_is_read(tmp_path: Path) -> None:
    raw, weights = published_speculators()
    head = read_eagle3(put(tmp_path, raw, weights), M)
    assert torch.equal(head.midlayer.hidden_norm.weight, weights["layers.0.hidden_norm.weight"])
    assert head.config.target_layer_ids == (1, 4, 7)  # theirs count from one
    raw.pop("eagle_aux_hidden_state_layer_ids")
    assert read_eagle3(put(tmp_path, raw, weights), M).config.target_layer_ids == (1, 5, 8)


def test_the_first_residual_is_the_normed_state_where_speculators_say_so(tmp_path: Path) -> None:
    raw, weights = published_speculators()
    zeroed = {k: torch.zeros_like(v) if "proj" in k else v for k, v in weights.items()}
    embeds, states = torch.randn(2, 1, 3, D)
    for normed in (True, False):
        raw["norm_before_residual"] = normed
        layer = read_eagle3(put(tmp_path, raw, zeroed), M).midlayer
        found = layer(embeds, states, (torch.ones(3, 8), torch.zeros(3, 8)), lambda q, _k, _v: q)
        assert torch.equal(found, layer.hidden_norm(states) if normed else states)


def test_the_angelslim_layout_is_read(tmp_path: Path) -> None:
    raw, weights = published3()
    raw |= {
        "architectures": ["Eagle3LlamaForCausalLM"],
        "modal_type": "VLM",
        "image_token_id": 7,
        "tie_word_embeddings": True,
        "rope_scaling": {
            "type": "default",
            "rope_type": "default",
            "mrope_interleaved": True,
            "mrope_section": [2, 1, 1],
        },
    }
    weights["embed_tokens.weight"] = torch.randn(V, D)
    c = read_eagle3(put(tmp_path, raw, weights), M).config
    assert (c.mrope_section, c.mrope_interleaved) == ((2, 1, 1), True)


def test_layers_named_in_eagle_config_count_from_zero(tmp_path: Path) -> None:
    raw, weights = published3()
    raw["eagle_config"] = {"eagle_aux_hidden_state_layer_ids": [3, 6, 9]}
    assert read_eagle3(put(tmp_path, raw, weights), M).config.target_layer_ids == (3, 6, 9)


@pytest.mark.parametrize("given", [True, False])
def test_a_full_draft_vocabulary_needs_no_maps(tmp_path: Path, given: bool) -> None:
    raw, weights = published3()
    raw |= {"draft_vocab_size": V}
    maps = {"d2t": torch.zeros(V, dtype=torch.long), "t2d": torch.ones(V, dtype=torch.bool)}
    weights = {k: v for k, v in weights.items() if k not in maps} | (maps if given else {})
    weights["lm_head.weight"] = torch.randn(V, D)
    head = read_eagle3(put(tmp_path, raw, weights), M)
    assert torch.equal(head.token_ids(), torch.arange(V))


@pytest.mark.parametrize("spelling", ["rope_scaling", "rope_parameters"])
def test_rotary_fields_are_found_under_both_names(tmp_path: Path, spelling: str) -> None:
    raw, weights = published3()
    raw.pop("rope_scaling")
    theta = raw.pop("rope_theta")
    raw[spelling] = {
        "rope_type": "default",
        "mrope_section": [2, 1, 1],
        "mrope_interleaved": True,
        "rope_theta": theta,
    }
    c = read_eagle3(put(tmp_path, raw, weights), M).config
    assert (c.mrope_section, c.mrope_interleaved, c.rope_theta) == ((2, 1, 1), True, 1e6)


@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16])
def test_round_trip(tmp_path: Path, dtype: torch.dtype) -> None:
    torch.manual_seed(0)
    two, three = Eagle2Head(PLAIN), Eagle3Head(THREE)
    three.speak(KEPT)
    write_eagle2(two, tmp_path / "two", dtype)
    write_eagle3(three, tmp_path / "three", dtype)
    again2, again3 = read_eagle2(tmp_path / "two", 99), read_eagle3(tmp_path / "three", 99)
    assert (again2.config, again3.config) == (PLAIN, THREE)
    for head, again in ((two, again2), (three, again3)):
        for name, tensor in again.state_dict().items():
            kept = head.state_dict()[name]
            assert tensor.dtype == kept.dtype
            assert torch.equal(
                tensor, kept.to(dtype).to(kept.dtype) if kept.is_floating_point() else kept
            )
    stored = load_file(tmp_path / "three" / "model.safetensors")
    assert (stored["d2t"].dtype, stored["t2d"].dtype) == (torch.int64, torch.bool)


def without(name: str) -> Callable[[dict[str, Any]], Any]:
    return lambda entries: entries.pop(name)


def having(**entries: Any) -> Callable[[dict[str, Any]], Any]:
    return lambda raw: raw.update(entries)


@pytest.mark.parametrize(
    ("change", "words"),
    [
        (having(architectures=["DFlashDraftModel"]), "not an EAGLE-2 head: architectures"),
        (having(draft_vocab_size=DRAFT), "has a draft vocabulary"),
        (having(num_hidden_layers=2), "2 layers"),
        (having(bias=False), "without a bias"),
        (having(rope_scaling={"mrope_section": [2, 1, 1]}), "multimodal"),
        (having(rope_scaling={"type": "yarn"}), "EAGLE-2 heads with scaled"),
        (having(hidden_act="gelu"), "SwiGLU"),
        (having(use_sliding_window=True), "sliding window"),
        (without("intermediate_size"), "lacks intermediate_size"),
    ],
)
def test_other_heads_are_not_taken_for_eagle2(tmp_path: Path, change, words: str) -> None:
    raw, weights = published2()
    change(raw)
    with pytest.raises(HeadError, match=words):
        read_eagle2(put(tmp_path, raw, weights), M)


@pytest.mark.parametrize(
    ("change", "words"),
    [
        (having(architectures=["MedusaModel"]), "not an EAGLE-3 head: architectures"),
        (having(fc_norm=True, norm_output=True), "fc_norm and norm_output"),
        (having(norm_before_fc=True), "norm_before_fc"),
        (having(eagle_aux_hidden_state_layer_ids=[2, 6, 9]), "from zero in others"),
        (having(target_hidden_size=32), "another width"),
        (having(rope_scaling={"rope_type": "llama3"}), "EAGLE-3 heads with scaled"),
        (having(rope_scaling={"mrope_section": [4, 4, 4]}), "mrope_section"),
        (having(aux_hidden_states_layer_ids=[1, 1, 3]), "strictly increasing"),
        (having(aux_hidden_states_layer_ids=[1, 5, 12]), "fit 12 target layers"),
        (having(draft_vocab_size=V + 1), "draft_vocab_size"),
        (having(image_stream="pixels"), "image_stream"),
        (having(num_attention_heads=3, num_key_value_heads=2), "multiple"),
        (without("rms_norm_eps"), "lacks rms_norm_eps"),
    ],
)
def test_other_heads_are_not_taken_for_eagle3(tmp_path: Path, change, words: str) -> None:
    raw, weights = published3()
    change(raw)
    with pytest.raises(HeadError, match=words):
        read_eagle3(put(tmp_path, raw, weights), M)


@pytest.mark.parametrize(
    ("change", "words"),
    [
        (without("norm.weight"), r"missing \['norm.weight'\]"),
        (without("d2t"), r"missing \['d2t'\]"),
        (having(extra=torch.ones(2)), r"unknown \['extra'\]"),
        (having(**{"fc.weight": torch.ones(D, 2 * D)}), "fc.weight has shape"),
        (having(**{"embed_tokens.weight": torch.ones(V, 8)}), "embed_tokens.weight has shape"),
        (having(d2t=torch.zeros(DRAFT, dtype=torch.long)), "same tokens"),
        (having(d2t=-torch.arange(DRAFT)), "ascending"),
        (having(d2t=KEPT * 9), "ascending"),
    ],
)
def test_tensors_are_checked(tmp_path: Path, change, words: str) -> None:
    raw, weights = published3()
    change(weights)
    with pytest.raises(HeadError, match=words):
        read_eagle3(put(tmp_path, raw, weights), M)


def test_weights_in_a_pickle_are_not_read(tmp_path: Path) -> None:
    raw, weights = published2()
    put(tmp_path, raw, weights)
    (tmp_path / "model.safetensors").rename(tmp_path / "pytorch_model.bin")
    with pytest.raises(HeadError, match=r"are a pickle \(pytorch_model\.bin\).*safetensors first"):
        read_eagle2(tmp_path, M)
    (tmp_path / "pytorch_model.bin").unlink()
    with pytest.raises(HeadError, match=r"no model\.safetensors, and pickles are never read"):
        read_eagle2(tmp_path, M)


def test_tapped_layers_of_the_reference() -> None:
    assert eagle3_taps(28) == (1, 13, 24)
    assert eagle3_taps(8) == (1, 3, 4)
    assert eagle3_taps(6) == (0, 2, 4)
