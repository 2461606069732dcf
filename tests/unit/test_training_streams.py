"""What heads that learn one question at a time are given.

Run: python -m pytest tests/unit/test_training_streams.py
"""

from collections import Counter

import pytest
import torch

from glance.targets.base import Target
from glance.training.eagle2 import lessons, shifted
from glance.training.eagle3 import drafting_rows, eagle3_loss, unroll
from glance.training.recipe import drawn_question
from glance.training.streams import stream
from tests.eagle_heads import eagle3_head
from tests.training_records import PAGE, TAILS, make_record, tiny_target


@pytest.fixture(scope="module")
def target() -> Target:
    return tiny_target(torch.float64)


def test_a_stream_is_what_serving_sees(target: Target) -> None:
    record = make_record().tapped((-1, 3))
    rows, one = record.stream(2), stream(record, 2, target)
    assert rows.tolist() == [*range(PAGE), *range(PAGE + 11, PAGE + 17)]
    assert torch.equal(one.ids, record.ids[rows])
    assert torch.equal(one.embeds[:-1], record.features[rows[1:-1], 0])
    assert torch.equal(one.embeds[-1], target.embed(record.ids[rows[-1]]))
    assert torch.equal(one.states, target.final_norm(record.features[rows[:-1], 1]))
    assert one.moments == record.rotary[0, rows].tolist()
    n = PAGE + TAILS[1]
    assert one.roots.tolist() == [n, n + 1, n + 2]


def test_questions_are_drawn_by_the_tokens_of_their_answers() -> None:
    record, generator = make_record(), torch.Generator().manual_seed(0)
    drawn = Counter(drawn_question(record, generator) for _ in range(300))
    assert drawn[1] / 300 == pytest.approx(7 / 10, abs=0.1)  # by roots
    short = record.without_end(7)  # one token of the longest answer is left: no root
    assert {drawn_question(short, generator) for _ in range(20)} == {2}


def test_rows_that_draft_teach_what_all_rows_would(target: Target) -> None:
    """Steps of the training-time test that have no lesson can be left out."""
    head, record = eagle3_head(target).double(), make_record()
    order = record.stream(1)
    embeds = target.embed(record.ids[order])[None]
    taps, positions = record.features[order][None, :, 1:4], record.rotary[:, order][None]
    wanted = lessons(record.answer[order][None])
    says = torch.randn(1, len(order), target.vocab_size, dtype=torch.float64)
    says[..., 1::2] -= 9.0  # odd tokens are not in the draft vocabulary
    rows = drafting_rows(wanted)
    assert len(rows) < len(order)
    for step in range(7):
        taught = shifted(wanted, step + 1)[0].nonzero()[:, 0]
        assert set(taught.tolist()) <= set(rows.tolist())

    whole = unroll(head, embeds, taps, positions)
    few = unroll(head, embeds, taps, positions, rows=rows)
    loss, shares = eagle3_loss(whole, head, says, wanted)
    assert loss > 0
    less, same = eagle3_loss(few, head, says, wanted, rows)
    torch.testing.assert_close(less, loss)
    assert same == pytest.approx(shares)
