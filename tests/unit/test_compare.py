"""Equal, near tie or mismatch."""

import pytest

from glance.compare import compare


def tokens(*ids: int, margin: float = 1.0, second: int = 3) -> list[dict]:
    """Token records; each choice was followed by `second`."""
    return [
        {"id": i, "margin": margin, "top": [[i, "", 0.5], [second, "", 0.4], [9, "", 0.1]]}
        for i in ids
    ]


def test_equal():
    found = compare(tokens(1, 2, 3), tokens(1, 2, 3), "float32")
    assert found == {
        "state": "equal",
        "equal": 3,
        "of": 3,
        "at": None,
        "ids": None,
        "gap": None,
        "dtype": "float32",
    }


def test_first_difference_with_its_gap():
    found = compare(tokens(1, 2, 3, 4), tokens(1, 2, 5, 4), "float32")
    assert (found["state"], found["equal"], found["of"]) == ("mismatch", 2, 4)
    assert (found["at"], found["ids"], found["gap"]) == (2, [3, 5], 1.0)


@pytest.mark.parametrize(
    ("margin", "dtype", "state"),
    [
        (0.0, "float32", "near_tie"),
        (1e-4, "float32", "near_tie"),
        (0.1, "float32", "mismatch"),
        (0.1, "bfloat16", "near_tie"),
        (1e-4, "float64", "mismatch"),
        (3e-5, "float64", "mismatch"),
        (3e-5, "float32", "near_tie"),
    ],
)
def test_what_counts_as_a_near_tie_depends_on_the_dtype(margin, dtype, state):
    found = compare(tokens(1, 2, margin=margin), tokens(1, 3, margin=margin), dtype)
    assert found["state"] == state


@pytest.mark.parametrize(("bound", "state"), [(0.3, "near_tie"), (0.1, "mismatch")])
def test_a_measured_bound_goes_before_that_of_the_dtype(bound, state):
    left, right = tokens(1, 2, margin=0.4), tokens(1, 3, margin=0.4)
    assert compare(left, right, "bfloat16")["state"] == "near_tie"
    assert compare(left, right, "bfloat16", bound)["state"] == state


def test_a_token_that_was_no_second_choice_is_a_mismatch():
    left = tokens(1, 2, margin=1e-5, second=3)
    assert compare(left, tokens(1, 3), "float32")["state"] == "near_tie"
    assert compare(left, tokens(1, 9), "float32")["state"] == "mismatch"


@pytest.mark.parametrize(
    ("left", "right", "ids"), [((1, 2, 3), (1, 2), [3, None]), ((1,), (1, 9), [None, 9])]
)
def test_a_lane_that_ends_early_is_a_mismatch(left, right, ids):
    found = compare(tokens(*left, margin=0.0), tokens(*right, margin=0.0), "float32")
    assert (found["state"], found["ids"]) == ("mismatch", ids)
