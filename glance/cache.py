"""The target's KV cache: cut to the accepted path after a verify pass, or begun with known rows."""

from __future__ import annotations

from collections.abc import Sequence

import torch
from transformers import DynamicCache


def compact(
    cache: DynamicCache,
    rows: int,  # packed rows that the last pass appended
    path: Sequence[int],  # ascending row numbers to keep, 0 = root
) -> None:
    """Move the path's rows to the front of the appended tail, in place, and cut the tail there.

    Keys already carry the rotation of their depth, so moved rows stay valid. Must run in the
    inference mode of the forward that filled the cache.
    """
    kept = len(path)
    if list(path) != list(range(kept)):
        index: torch.Tensor | None = None
        for layer in cache.layers:
            keys, values = layer.keys, layer.values
            if index is None or index.device != keys.device:  # layers may lie on several
                index = torch.tensor(path, device=keys.device)
            first = keys.shape[2] - rows
            for states in (keys, values):
                tail = states[:, :, first:]  # [1, heads, rows, head_dim]
                # index_select copies before the write: source and destination overlap
                tail[:, :, :kept] = tail.index_select(2, index)
    cache.crop(-(rows - kept))


def resumed(
    layers: Sequence[tuple[torch.Tensor, torch.Tensor]],  # keys and values, [1, heads, n, e]
    rows: int,
) -> DynamicCache:
    """A cache that begins with the first `rows` rows of another, as copies."""
    cache = DynamicCache()
    for index, (keys, values) in enumerate(layers):
        cache.update(keys[:, :, :rows], values[:, :, :rows], index)
    return cache
