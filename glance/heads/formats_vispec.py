"""ViSpec heads on disk, as they are published: `config.json` and `model.safetensors`.

Published configs say nothing of what makes a ViSpec head, so it is the tensors that tell.
"""

from __future__ import annotations

from pathlib import Path

import torch

from glance.heads.files import read_config, read_tensors, write_config, write_tensors
from glance.heads.formats_eagle import (
    EAGLE2,
    WEIGHTS,
    feature_sizes,
    load_weights,
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
    config = ViSpecConfig(
        **feature_sizes(raw, "a ViSpec", target_layers),
        adaptor=bool(raw.get("adaptor", True)),
        global_vector=bool(raw.get("global_vector", True)),
    )
    head = ViSpecHead(config)
    load_weights(head, read_tensors(folder / WEIGHTS), folder / WEIGHTS)
    return head
