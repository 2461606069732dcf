"""EAGLE-2 and EAGLE-3 heads on disk: `config.json` and `model.safetensors`, as they are published.

EAGLE-2 heads use EAGLE's names. EAGLE-3 heads use those of SpecForge and AngelSlim, or those of
vLLM's speculators, which nest the layer's sizes and count tapped layers from one. Published configs
leave out what can be derived; what they say of the target beyond that is checked when the head
meets one. The frozen embedding that some files hold is left alone: it is a copy of the target's,
which is used in its place.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import torch
from torch import Tensor

from glance.heads.config import HeadError
from glance.heads.eagle2 import Eagle2Head
from glance.heads.eagle3 import Eagle3Config, Eagle3Head, eagle3_taps
from glance.heads.files import (
    load_strictly,
    read_config,
    read_tensors,
    rope_entries,
    write_config,
    write_tensors,
)
from glance.heads.llama_layer import SequentialConfig

EAGLE2 = ("LlamaForCausalLMEagle", "LlamaForCausalLM")  # the first is written
EAGLE3 = (
    "LlamaForCausalLMEagle3",
    "Eagle3LlamaForCausalLM",
    "Eagle3Speculator",
    "Eagle3DraftModel",
    "LlamaForCausalLM",
)
WEIGHTS = "model.safetensors"
EMBEDDING = "embed_tokens.weight"
NESTED = "transformer_layer_config"  # where speculators keep the layer's sizes
#: Entries of EAGLE-3 configs that change what a head computes, beyond what this one does.
UNSUPPORTED = ("fc_norm", "norm_before_fc", "norm_output")


def write_eagle2(head: Eagle2Head, folder: Path, dtype: torch.dtype = torch.bfloat16) -> None:
    """Write an EAGLE-2 head into `folder`, made if missing."""
    write_config(folder, {**sizes_to_json(head.config, EAGLE2[0], dtype), "bias": True})
    write_tensors(head, folder / WEIGHTS, dtype)


def read_eagle2(folder: Path, target_layers: int) -> Eagle2Head:
    """Read an EAGLE-2 head, float32, on the CPU; `target_layers` where the config names none.

    Raises:
        HeadError: a file is missing or broken, a tensor is missing, unknown or misshapen, or the
            config describes another kind of head.
    """
    sizes = feature_sizes(read_config(folder), "an EAGLE-2", target_layers)
    head = Eagle2Head(SequentialConfig(**sizes))
    load_weights(head, read_tensors(folder / WEIGHTS), folder / WEIGHTS)
    return head


def feature_sizes(raw: dict[str, Any], kind: str, target_layers: int) -> dict[str, Any]:
    """The arguments of SequentialConfig for a head that guesses the target's next feature.

    Raises:
        HeadError: an entry is missing, or describes another kind of head.
    """
    if raw.get("draft_vocab_size") is not None:
        raise HeadError(f"This is not {kind} head: it has a draft vocabulary.")
    sizes = sizes_from_json(raw, EAGLE2, kind, target_layers)
    if "mrope_section" in rope_entries(raw):
        raise HeadError(f"{kind.split()[1]} heads with multimodal positions are not supported.")
    if not raw.get("bias", True):
        raise HeadError(f"{kind.split()[1]} heads without a bias on fc are not supported.")
    return sizes


def write_eagle3(head: Eagle3Head, folder: Path, dtype: torch.dtype = torch.bfloat16) -> None:
    """Write an EAGLE-3 head into `folder`, made if missing."""
    c = head.config
    scaling = None
    if c.mrope_section:
        scaling = {
            "rope_type": "default",
            "mrope_section": list(c.mrope_section),
            "mrope_interleaved": c.mrope_interleaved,
        }
    raw = {
        **sizes_to_json(c, EAGLE3[0], dtype),
        "rope_scaling": scaling,
        "draft_vocab_size": c.draft_vocab_size,
        "aux_hidden_states_layer_ids": list(c.target_layer_ids),
        "norm_before_residual": c.norm_before_residual,
        "image_stream": c.image_stream,
    }
    write_config(folder, raw)
    write_tensors(head, folder / WEIGHTS, dtype)


def read_eagle3(folder: Path, target_layers: int) -> Eagle3Head:
    """Read an EAGLE-3 head, float32, on the CPU; `target_layers` where the config names none.

    Raises:
        HeadError: a file is missing or broken, a tensor is missing, unknown or misshapen, or the
            config describes another kind of head.
    """
    raw = read_config(folder)
    raw = {**raw, **raw.get(NESTED, {}), "architectures": raw.get("architectures")}
    common = sizes_from_json(raw, EAGLE3, "an EAGLE-3", target_layers)
    if changed := [name for name in UNSUPPORTED if raw.get(name)]:
        raise HeadError(f"EAGLE-3 heads with {' and '.join(changed)} are not supported.")
    if (raw.get("target_hidden_size") or common["hidden_size"]) != common["hidden_size"]:
        raise HeadError("EAGLE-3 heads of another width than their target are not supported.")
    rope = rope_entries(raw)
    config = Eagle3Config(
        **common,
        target_layer_ids=_taps(raw, common["num_target_layers"]),
        draft_vocab_size=int(raw.get("draft_vocab_size") or common["vocab_size"]),
        mrope_section=tuple(int(size) for size in rope.get("mrope_section", ())),
        mrope_interleaved=bool(rope.get("mrope_interleaved", False)),
        image_stream=raw.get("image_stream", "pad_embed"),
        norm_before_residual=bool(raw.get("norm_before_residual", False)),
    )
    head = Eagle3Head(config)
    path = folder / WEIGHTS
    weights = {
        name.replace("layers.0.", "midlayer.", 1) if name.startswith("layers.0.") else name: tensor
        for name, tensor in read_tensors(path).items()
    }
    if config.draft_vocab_size == config.vocab_size:  # then the maps are often left out
        weights = {"d2t": head.d2t, "t2d": head.t2d, **weights}
    load_weights(head, weights, path)
    _check_vocabulary(head, path)
    return head


def _taps(raw: dict[str, Any], target_layers: int) -> tuple[int, ...]:
    """0-based ids of the layers whose outputs are tapped; the reference's where none are named."""
    named = "eagle_aux_hidden_state_layer_ids"
    if raw.get(named):
        if NESTED not in raw:
            raise HeadError(
                f"The head's config.json has {named} outside eagle_config, which counts from one "
                "in some files and from zero in others."
            )
        return tuple(int(i) - 1 for i in raw[named])  # there 0 is the embedding
    ids = raw.get("aux_hidden_states_layer_ids") or (raw.get("eagle_config") or {}).get(named)
    return tuple(int(i) for i in ids) if ids else eagle3_taps(target_layers)


def sizes_from_json(
    raw: dict[str, Any], architectures: tuple[str, ...], kind: str, target_layers: int
) -> dict[str, Any]:
    """The arguments of SequentialConfig."""
    if not set(raw.get("architectures") or ()) & set(architectures):
        raise HeadError(f"This is not {kind} head: architectures is {raw.get('architectures')}.")
    layers = raw.get("num_hidden_layers", 1)
    if layers != 1:
        raise HeadError(f"This is not {kind} head: it has {layers} layers, not one.")
    if raw.get("hidden_act", "silu") != "silu":
        raise HeadError(f"Only {kind.split()[1]} heads with SwiGLU are supported.")
    if raw.get("use_sliding_window"):
        raise HeadError(f"{kind.split()[1]} heads with a sliding window are not supported.")
    rope = rope_entries(raw)
    if rope.get("rope_type", rope.get("type", "default")) not in ("default", "mrope"):
        raise HeadError(f"{kind.split()[1]} heads with scaled positions are not supported.")
    try:
        width, heads = int(raw["hidden_size"]), int(raw["num_attention_heads"])
        return {
            "hidden_size": width,
            "intermediate_size": int(raw["intermediate_size"]),
            "num_attention_heads": heads,
            "num_key_value_heads": int(raw.get("num_key_value_heads") or heads),
            "head_dim": int(raw.get("head_dim") or width // heads),
            "vocab_size": int(raw["vocab_size"]),
            "num_target_layers": int(raw.get("num_target_layers", target_layers)),
            "max_position_embeddings": int(raw["max_position_embeddings"]),
            "rope_theta": float(raw.get("rope_theta") or rope.get("rope_theta", 10_000.0)),
            "rms_norm_eps": float(raw["rms_norm_eps"]),
            "attention_bias": bool(raw.get("attention_bias", False) or raw.get("qkv_bias", False)),
            "target_revision": str(raw.get("target_revision", "")),
        }
    except KeyError as error:
        raise HeadError(f"The head's config.json lacks {error.args[0]}.") from error


def sizes_to_json(config: SequentialConfig, name: str, dtype: torch.dtype) -> dict[str, Any]:
    """What the config of every head of one Llama layer says."""
    return {
        "architectures": [name],
        "model_type": "llama",
        "num_hidden_layers": 1,
        "hidden_size": config.hidden_size,
        "intermediate_size": config.intermediate_size,
        "num_attention_heads": config.num_attention_heads,
        "num_key_value_heads": config.num_key_value_heads,
        "head_dim": config.head_dim,
        "hidden_act": "silu",
        "attention_bias": config.attention_bias,
        "rms_norm_eps": config.rms_norm_eps,
        "rope_theta": config.rope_theta,
        "rope_scaling": None,
        "max_position_embeddings": config.max_position_embeddings,
        "tie_word_embeddings": False,
        "vocab_size": config.vocab_size,
        "num_target_layers": config.num_target_layers,
        "target_revision": config.target_revision,
        "dtype": str(dtype).removeprefix("torch."),
    }


def load_weights(head: Any, weights: dict[str, Tensor], path: Path) -> None:
    """`load_strictly` for all but the copy of the target's embedding, if there is one.

    Raises:
        HeadError: a tensor is missing, unknown or misshapen, or the embedding is another target's.
    """
    config: SequentialConfig = head.config
    weights = dict(weights)
    table = weights.pop(EMBEDDING, None)
    wanted = [config.vocab_size, config.hidden_size]
    if table is not None and list(table.shape) != wanted:
        found = list(table.shape)
        raise HeadError(f"In {path}, {EMBEDDING} has shape {found}, expected {wanted}.")
    load_strictly(head, weights, path)


def _check_vocabulary(head: Eagle3Head, path: Path) -> None:
    ids = head.token_ids()
    inside = bool(ids[0] >= 0) and bool(ids[-1] < head.config.vocab_size)
    if not inside or not bool((ids.diff() > 0).all()):
        raise HeadError(f"In {path}, d2t does not lead to ascending tokens of the target.")
    kept = torch.zeros_like(head.t2d)
    kept[ids] = True
    if not torch.equal(kept, head.t2d):
        raise HeadError(f"In {path}, d2t and t2d do not name the same tokens.")
