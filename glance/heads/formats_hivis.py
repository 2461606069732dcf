"""HiViS-style heads on disk: `config.json`, all fields of the config, and `model.safetensors`.

There is no public layout: this one is the project's own, and published HiViS heads are refused.
"""

from __future__ import annotations

from dataclasses import asdict, fields
from pathlib import Path

import torch

from glance.heads.config import HeadError
from glance.heads.files import load_strictly, read_config, read_tensors, write_config, write_tensors
from glance.heads.hivis import HiViSConfig, HiViSHead

ARCHITECTURE = "HiViSStyleDraftModel"
WEIGHTS = "model.safetensors"


def write_hivis(head: HiViSHead, folder: Path, dtype: torch.dtype = torch.bfloat16) -> None:
    """Write a HiViS-style head into `folder`, made if missing."""
    write_config(folder, {"architectures": [ARCHITECTURE], **asdict(head.config)})
    write_tensors(head, folder / WEIGHTS, dtype)


def read_hivis(folder: Path) -> HiViSHead:
    """Read a HiViS-style head, float32, on the CPU.

    Raises:
        HeadError: a file is missing or broken, a tensor is missing, unknown or misshapen, or the
            config describes another kind of head.
    """
    raw = read_config(folder)
    found = raw.get("architectures")
    if found != [ARCHITECTURE]:
        raise HeadError(f"This is no HiViS-style head of this project: architectures is {found}.")
    try:
        config = HiViSConfig(**{field.name: raw[field.name] for field in fields(HiViSConfig)})
    except KeyError as error:
        raise HeadError(f"The head's config.json lacks {error.args[0]}.") from error
    head = HiViSHead(config)
    load_strictly(head, read_tensors(folder / WEIGHTS), folder / WEIGHTS)
    return head
