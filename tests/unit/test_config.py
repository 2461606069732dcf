"""Settings are checked when they are made."""

import pytest

from glance.config import DecodeConfig


def test_defaults():
    config = DecodeConfig()
    assert (config.node_budget, config.max_new_tokens, config.temperature) == (15, 256, 0.0)


@pytest.mark.parametrize(
    ("field", "value"),
    [
        ("node_budget", 0),
        ("node_budget", 1025),
        ("max_new_tokens", 0),
        ("temperature", -0.1),
        ("temperature", float("nan")),
        ("seed", -1),
        ("seed", 2**32),
        ("stop_ids", (3, -1)),
    ],
)
def test_values_out_of_range_are_refused_by_name(field, value):
    with pytest.raises(ValueError, match=field):
        DecodeConfig(**{field: value})


def test_unknown_settings_are_refused():
    with pytest.raises(TypeError):
        DecodeConfig(block_size=16)
