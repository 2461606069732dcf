"""Compaction keeps exactly the accepted rows."""

import pytest
import torch
from transformers import DynamicCache

from glance.cache import compact

PAST, ROWS = 5, 6


def filled() -> tuple[DynamicCache, torch.Tensor]:
    torch.manual_seed(0)
    cache = DynamicCache()
    states = torch.randn(2, 2, 1, 3, PAST + ROWS, 4)  # layer, key or value, then [1, heads, S, e]
    for layer, (keys, values) in enumerate(states):
        cache.update(keys.clone(), values.clone(), layer)
    return cache, states


@pytest.mark.parametrize(
    "path", [(0,), (0, 1), tuple(range(ROWS)), (0, 5), (0, 1, 4), (0, 2, 3, 4), (0, 3, 4, 5)]
)
def test_rows_after_compaction(path):
    cache, states = filled()
    compact(cache, ROWS, path)
    keep = [*range(PAST), *(PAST + row for row in path)]
    assert cache.get_seq_length() == len(keep)
    for layer, (keys, values) in enumerate(states):
        assert torch.equal(cache.layers[layer].keys, keys[:, :, keep])
        assert torch.equal(cache.layers[layer].values, values[:, :, keep])


def test_the_next_pass_appends_after_the_path():
    cache, states = filled()
    compact(cache, ROWS, (0, 3))
    more = torch.ones(1, 3, 2, 4)
    for layer in range(2):
        cache.update(more, more, layer)
    keep = [*range(PAST), PAST, PAST + 3]
    for layer, (keys, _) in enumerate(states):
        assert torch.equal(cache.layers[layer].keys, torch.cat([keys[:, :, keep], more], dim=2))
