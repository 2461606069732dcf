"""The static KV cache: all layers in one tensor, handed to the model a window at a time."""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor
from transformers import Cache, DynamicCache
from transformers.cache_utils import CacheLayerMixin

from glance.targets.base import Target


class Store:
    """Keys and values of one request: [2, M, 1, g, capacity, e].

    One tensor, so that compaction takes two kernels for all layers, not two for each.
    """

    def __init__(self, target: Target, capacity: int) -> None:
        text = target.model.config.get_text_config()
        size = getattr(text, "head_dim", None) or text.hidden_size // text.num_attention_heads
        shape = (2, target.num_layers, 1, text.num_key_value_heads, capacity, size)
        # zeros: padding is masked, but 0 times what memory holds by chance may not be a number
        self._states = torch.zeros(shape, dtype=target.dtype, device=target.device)

    @property
    def capacity(self) -> int:
        """Rows that fit."""
        return self._states.shape[4]

    def load(self, cache: DynamicCache) -> None:
        """Copy what a prefill left."""
        for at, layer in enumerate(cache.layers):
            rows = layer.keys.shape[2]
            self._states[0, at, :, :, :rows] = layer.keys
            self._states[1, at, :, :, :rows] = layer.values

    def window(self, rows: int, at: Tensor) -> Cache:
        """The first `rows` rows as a model's cache; what a pass appends goes to `at` [new rows]."""
        seen = self._states[:, :, :, :, :rows]
        return Cache(layers=[_Window(keys, values, at) for keys, values in zip(*seen, strict=True)])

    def move(self, source: Tensor, destination: Tensor) -> None:
        """Copy rows [kept] to others [kept]; both may overlap, as the copy is made first."""
        self._states.index_copy_(4, destination, self._states.index_select(4, source))


class _Window(CacheLayerMixin):
    """One layer: it writes at given rows and shows all of the window, which the mask cuts down."""

    def __init__(self, keys: Tensor, values: Tensor, at: Tensor) -> None:
        super().__init__()
        self.keys, self.values = keys, values  # [1, g, window, e]
        self._at = at
        self.is_initialized = True

    def lazy_initialization(self, key_states: Tensor, value_states: Tensor) -> None:
        """Nothing: the memory is there."""

    def update(
        self, key_states: Tensor, value_states: Tensor, *_args: Any, **_others: Any
    ) -> tuple[Tensor, Tensor]:
        """Write the new rows."""
        assert self.keys is not None
        assert self.values is not None
        self.keys.index_copy_(2, self._at, key_states)
        self.values.index_copy_(2, self._at, value_states)
        return self.keys, self.values

    def get_mask_sizes(self, query_length: int) -> tuple[int, int]:
        """Rows seen, and the number of the first."""
        return self.get_max_length(), 0

    def get_seq_length(self) -> int:
        """Unknown to the host; no pass asks, since it brings its positions and its mask."""
        raise NotImplementedError

    def get_max_length(self) -> int:
        """Rows of the window."""
        assert self.keys is not None
        return self.keys.shape[2]
