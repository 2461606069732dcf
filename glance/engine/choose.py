"""What runs where: the one place that decides."""

from __future__ import annotations

import torch

from glance.engine.engine import Engine
from glance.targets.base import Target


def best_device() -> str:
    """Where a model goes that nobody gave a place: to the GPU, if there is one."""
    return "cuda" if torch.cuda.is_available() else "cpu"


def device_name(device: torch.device) -> str:
    """The device for the record: a card by its name, as "cuda:0" tells nothing about times."""
    return torch.cuda.get_device_name(device) if device.type == "cuda" else str(device)


def engine_for(target: Target) -> Engine | None:
    """The engine of a target on CUDA, made once; none elsewhere."""
    if target.device.type != "cuda":
        return None
    if target.engine is None:
        target.engine = Engine(target)
    return target.engine
