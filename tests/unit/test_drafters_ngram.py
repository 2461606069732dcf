"""Prompt lookup: what followed the last few tokens before is proposed again.

Run: python -m pytest tests/unit/test_drafters_ngram.py
"""

from itertools import islice

import pytest
import torch

from glance.drafters.load import load_drafter
from glance.drafters.ngram import DRAFTED, SIZES, NgramDrafter
from tests.contract.lossless import LOGIT_BOUNDS, check, reference
from tests.tiny_models import FAMILIES, IMAGE, prompt, target


def drafted(out: list[int]) -> list[int]:
    """What is proposed after `out`, root left out."""
    drafter = NgramDrafter(IMAGE)
    tree = drafter.draft(drafter.start(out[:1]), out, None)
    assert tree.token_ids[0] == out[-1]
    assert tree.parents == tuple(range(-1, len(tree) - 1))
    assert tree.depths == tuple(range(len(tree)))
    return list(tree.token_ids[1:])


def searched(out: list[int]) -> list[int]:
    """The rule by plain search: longest n-gram first, then the latest place."""
    for size in SIZES:
        for end in range(len(out) - 1, size - 1, -1):
            if out[end - size : end] == out[-size:]:
                copied = out[end:]
                return [copied[i % len(copied)] for i in range(DRAFTED)]
    return []


def test_proposes_what_followed() -> None:
    assert drafted([1, 2, 3, 4, 5, 6, *range(50, 70), 1, 2, 3])[:3] == [4, 5, 6]


def test_no_match_has_no_nodes() -> None:
    assert drafted([1, 2, 3, 4]) == []
    assert drafted([1]) == []


def test_the_longest_match_wins_then_the_latest() -> None:
    assert drafted([1, 2, 3, 10, 9, 2, 3, 20, 9, 1, 2, 3])[0] == 10
    assert drafted([1, 3, 10, 1, 3, 20, 7, 8, 1, 3])[0] == 20


def test_a_chain_has_at_most_so_many_tokens() -> None:
    assert len(drafted([7, *range(50), 7])) == DRAFTED == NgramDrafter(IMAGE).block_size - 1


def test_a_repetition_goes_on() -> None:
    assert drafted([8, 5, 6, 5, 6]) == [5, 6] * (DRAFTED // 2) + [5]


def test_image_placeholders_are_neither_matched_nor_proposed() -> None:
    assert drafted([1, IMAGE, IMAGE, 2, 3, 1]) == []
    assert drafted([1, 2, 3, IMAGE, IMAGE, 4, 1, 2]) == [3]


def test_reading_step_by_step_equals_a_search_of_the_whole_text() -> None:
    generator = torch.Generator().manual_seed(0)
    out = torch.randint(6, (120,), generator=generator).tolist()
    drafter = NgramDrafter(IMAGE)
    state = drafter.start(out[:5])
    end, found = 6, 0
    while end <= len(out):
        tree = drafter.draft(state, out[:end], None)
        assert list(tree.token_ids[1:]) == searched(out[:end])
        found += len(tree) > 1
        end += 1 + end % 4  # rounds that committed 1 to 4 tokens
    assert found > 20


@pytest.mark.parametrize("family", FAMILIES)
def test_the_answer_is_that_of_plain_decoding(family: str) -> None:
    tiny = target(family, torch.float64)
    expected = reference(family, torch.float64, "sdpa")
    drafter = load_drafter("ngram", tiny)
    ask = prompt(family, dtype=torch.float64)
    result = check(tiny, ask, drafter, expected, LOGIT_BOUNDS[torch.float64, "sdpa"])
    assert result.stats["drafter_passes"] == 0


def test_copied_text_is_accepted() -> None:
    """Where the answer repeats what was said, rounds commit more than one token."""
    text = list(range(20, 60))
    drafter = NgramDrafter(IMAGE)
    tree = drafter.draft(drafter.start(text), [*text, 30, 31], None)
    assert list(islice(tree.token_ids, 1, 6)) == [32, 33, 34, 35, 36]
