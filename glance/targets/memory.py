"""How much memory a target takes, told from its config before any weight is read."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any

import torch
from accelerate import init_empty_weights
from accelerate.utils import get_max_memory
from transformers import AutoConfig, AutoModelForImageTextToText

from glance.cgroup import memory_left
from glance.targets.families import TargetError

GIB = 1 << 30
CONTEXT = 1000  # tokens, for which there must be room beside the weights


@dataclass(frozen=True, slots=True)
class MemoryNeed:
    """Bytes, for one number format."""

    parameters: int
    weights: int
    per_token: int  # keys and values of one token of context
    dtype: torch.dtype

    @property
    def total(self) -> int:
        """Of the weights and of CONTEXT tokens."""
        return self.weights + CONTEXT * self.per_token

    def __str__(self) -> str:
        """One clause."""
        return (
            f"{self.parameters / 1e9:.2g} billion parameters take {gib(self.weights)} in "
            f"{str(self.dtype).removeprefix('torch.')}, and {CONTEXT:,} tokens of context "
            f"{gib(CONTEXT * self.per_token)} more"
        )


def gib(size: int) -> str:
    """Bytes in words."""
    return f"{size / GIB:.2g} GiB" if size < 10 * GIB else f"{size / GIB:.0f} GiB"


def memory_need(folder: Path, dtype: torch.dtype) -> MemoryNeed:
    """Count the parameters of a model that is built without weights; tied ones count once."""
    config = AutoConfig.from_pretrained(folder, local_files_only=True)
    with init_empty_weights():
        model = AutoModelForImageTextToText.from_config(config)
    model.tie_weights()
    parameters = sum(parameter.numel() for parameter in model.parameters())
    return MemoryNeed(
        parameters=parameters,
        weights=parameters * dtype.itemsize,
        per_token=_cached_numbers(config.get_text_config()) * dtype.itemsize,
        dtype=dtype,
    )


def _cached_numbers(text: Any) -> int:
    head = getattr(text, "head_dim", None) or text.hidden_size // text.num_attention_heads
    return 2 * text.num_hidden_layers * text.num_key_value_heads * head


def free_memory(device: str | None) -> int:
    """Bytes free on a device; on all graphics cards and in main memory together for None.

    Of main memory, what a container leaves where this runs in one.

    Raises:
        TargetError: there is no such device.
    """
    free = get_max_memory()
    if (left := memory_left()) is not None:
        free["cpu"] = min(free["cpu"], left)
    if device is None:
        return sum(free.values())
    where = torch.device(device)
    key = where.type if where.type in ("cpu", "mps") else where.index or 0
    if key not in free:
        raise TargetError(f"There is no device {device} on this machine.")
    return free[key]
