"""How the weights of linear layers lie in memory: it decides what a pass over few rows costs."""

from __future__ import annotations

import torch
from torch import Tensor, nn


def by_input(weight: Tensor) -> Tensor:
    """The same [out, in] matrix, but stored input by input; as it is unless float32 on a CPU.

    For products of 8 to 64 rows MKL is a third faster so, and no slower for one (docs/log.md).
    """
    if weight.device.type != "cpu" or weight.dtype != torch.float32:
        return weight
    return weight.t().contiguous().t()


def ready(head: nn.Module, device: torch.device, dtype: torch.dtype) -> None:
    """Put a head where it drafts, frozen, its weights laid for few rows."""
    head.to(device, dtype).eval().requires_grad_(False)
    lay_by_input(head)


def lay_by_input(module: nn.Module) -> None:
    """Store the weights of all linear layers in a module so."""
    for layer in module.modules():
        if isinstance(layer, nn.Linear):
            layer.weight.data = by_input(layer.weight.data)
