"""ViSpec heads on disk, as they are published: `config.json` and `model.safetensors`.

Published configs say nothing of what makes a ViSpec head, so it is the tensors that tell.
"""

from __future__ import annotations

from pathlib import Path

import torch

from glance.heads.config import HeadError
from glance.heads.files import (
    load_strictly,
    read_config,
    read_tensors,
    rope_entries,
    write_config,
    write_tensors,
)
from glance.heads.formats_eagle import (
    EAGLE2,
    WEIGHTS,
    drop_embedding,
    sizes_from_json,
    sizes_to_json,
)
from glance.heads.vispec import ViSpecConfig, ViSpecHead


def write_vispec(head: ViSpecHead, folder: Path, dtype: torch.dtype = torch.bfloat16) -> None:
    """Write a ViSpec head into `folder`, made if missing."""
    c = head.config
    parts = {"adaptor": c.adaptor, "global_vector": c.global_vector}
    write_config(folder, {**sizes_to_json(c, EAGLE2[0], dtype), "bias": True, **parts})
    write_tensors(head, folder / WEIGHTS, dtype)


def read_vispec(folder: Path, target_layers: int) -> ViSpecHead:
    """Read a ViSpec head, float32, on the CPU; `target_layers` where the config names none.

    Raises:
        HeadError: a file is missing or broken, a tensor is missing, unknown or misshapen, or the
            config describes another kind of head.
    """
    raw = read_config(folder)
    if raw.get("draft_vocab_size") is not None:
        raise HeadError("This is not a ViSpec head: it has a draft vocabulary.")
    common = sizes_from_json(raw, EAGLE2, "a ViSpec", target_layers)
    if "mrope_section" in rope_entries(raw):
        raise HeadError("ViSpec heads with multimodal positions are not supported.")
    config = ViSpecConfig(
        **common,
        adaptor=bool(raw.get("adaptor", True)),
        global_vector=bool(raw.get("global_vector", True)),
    )
    head = ViSpecHead(config)
    path = folder / WEIGHTS
    weights = read_tensors(path)
    drop_embedding(weights, head.config, path)
    load_strictly(head, weights, path)
    return head
