"""Block heads on disk, in the z-lab DFlash layout: `config.json` and `model.safetensors`.

z-lab/dflash, SGLang and vLLM load this layout. Reading is strict: every tensor by name and shape,
no pickles, no remote code; kinds of head that draft differently are refused by name.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import torch

from glance.heads.block import BlockHead
from glance.heads.config import SIZES, HeadConfig, HeadError
from glance.heads.files import (
    load_strictly,
    read_config,
    read_tensors,
    rope_entries,
    write_config,
    write_tensors,
)

ARCHITECTURE = "DFlashDraftModel"
#: Entries of `dflash_config` that mark other heads (Domino, DSpark).
FOREIGN = ("projector_type", "pure_draft_prefix_len", "shift_label")


def write_head(
    head: BlockHead,
    folder: Path,
    *,
    dtype: torch.dtype = torch.bfloat16,
) -> None:
    """Write `config.json` and `model.safetensors` into `folder`, made if missing."""
    write_config(folder, to_json(head.config, dtype))
    write_tensors(head, folder / "model.safetensors", dtype)


def read_head(folder: Path) -> BlockHead:
    """Read a head, float32, on the CPU.

    Raises:
        HeadError: a file is missing or broken, a tensor is missing, unknown or misshapen, or the
            config describes another kind of head.
    """
    head = BlockHead(from_json(read_config(folder)))
    path = folder / "model.safetensors"
    load_strictly(head, read_tensors(path), path)
    return head


def to_json(config: HeadConfig, dtype: torch.dtype) -> dict[str, Any]:
    """The config as the z-lab layout spells it."""
    return {
        "architectures": [ARCHITECTURE],
        "model_type": "qwen3",
        "auto_map": {"AutoModel": f"dflash.{ARCHITECTURE}"},
        **{name: getattr(config, name) for name in SIZES},
        "block_size": config.block_size,
        "rope_theta": config.rope_theta,
        "rope_scaling": None,
        "rms_norm_eps": config.rms_norm_eps,
        "hidden_act": "silu",
        "attention_bias": False,
        "layer_types": ["full_attention"] * config.num_hidden_layers,
        "sliding_window": None,
        "use_sliding_window": False,
        "tie_word_embeddings": False,
        "dtype": str(dtype).removeprefix("torch."),
        "dflash_config": {
            "mask_token_id": config.mask_token_id,
            "target_layer_ids": list(config.target_layer_ids),
        },
        "target_revision": config.target_revision,
    }


def from_json(raw: dict[str, Any]) -> HeadConfig:
    """Read the z-lab config; what it says beyond the sizes must be what this head does.

    Raises:
        HeadError: an entry is missing, or describes another kind of head.
    """
    if ARCHITECTURE not in raw.get("architectures", []):
        raise HeadError(f"This is not a DFlash head: architectures is {raw.get('architectures')}.")
    dflash = raw.get("dflash_config") or {}
    if foreign := [name for name in FOREIGN if name in dflash]:
        raise HeadError(f"This is not a plain DFlash head: it has {', '.join(foreign)}.")
    if raw.get("use_sliding_window") or set(raw.get("layer_types") or ()) - {"full_attention"}:
        raise HeadError("Heads with sliding-window layers are not supported.")
    rope = rope_entries(raw)
    kind = rope.get("rope_type", rope.get("type", "default"))
    if kind != "default" or "mrope_section" in rope:
        raise HeadError("Heads with scaled or multimodal rotary positions are not supported.")
    if raw.get("hidden_act", "silu") != "silu" or raw.get("attention_bias", False):
        raise HeadError("Only heads with SwiGLU and attention without bias are supported.")
    try:
        return HeadConfig(
            **{name: int(raw[name]) for name in SIZES},
            block_size=int(raw["block_size"]),
            rope_theta=float(rope["rope_theta"] if "rope_theta" in rope else raw["rope_theta"]),
            rms_norm_eps=float(raw["rms_norm_eps"]),
            mask_token_id=int(dflash["mask_token_id"]),
            target_layer_ids=tuple(int(i) for i in dflash["target_layer_ids"]),
            target_revision=str(raw.get("target_revision", "")),
        )
    except KeyError as error:
        raise HeadError(f"The head's config.json lacks {error.args[0]}.") from error
