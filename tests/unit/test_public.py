"""The public nouns, loaded on first use."""

import pytest

import glance
from glance.decode import Decoder


def test_public_nouns_load_by_name():
    assert glance.Decoder is Decoder
    for name in glance.__all__:
        assert getattr(glance, name).__name__ == name


def test_other_names_are_refused():
    with pytest.raises(AttributeError, match="nothing_here"):
        _ = glance.nothing_here
