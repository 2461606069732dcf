"""A packed record teaches what its questions would one by one.

Run: python -m pytest tests/unit/test_training_packed.py
"""

from collections import Counter

import pytest
import torch
from torch import Tensor

from glance.targets.base import Target
from glance.training.capture import Record
from glance.training.eagle2 import guess, lessons, shifted
from glance.training.eagle3 import STEPS, drafting_rows, unroll
from glance.training.packed import pack
from glance.training.recipe import some_questions
from glance.training.streams import streams
from tests.eagle_heads import eagle2_head, eagle3_head
from tests.training_records import PAGE, TAILS, make_record, tiny_target


@pytest.fixture(scope="module")
def target() -> Target:
    return tiny_target(torch.float64)


def found(record: Record, gap: int) -> list[tuple[int, int, list[int]]]:
    """Of every packed row behind the page: its place, its place in a stream, the stream's rows."""
    rows = pack(record, gap).rows.tolist()
    at, places = PAGE - 1, []
    for segment in (1, 2):
        stream = record.stream(segment).tolist()
        for row in stream[PAGE - 1 :]:
            while rows[at] != row or (row == PAGE - 1 and rows[at + 1] == PAGE - 1):
                at += 1  # the gap
            places.append((at, stream.index(row), stream))
            at += 1
    return places


def test_every_question_sees_the_page_and_itself() -> None:
    record = make_record()
    for gap in (0, 3):
        packed = pack(record, gap)
        assert packed.rows[: PAGE - 1].tolist() == list(range(PAGE - 1))
        for at, place, stream in found(record, gap):
            seen = packed.rows[packed.seen[0, 0, at]].tolist()
            assert seen == stream[: place + 1]


def test_a_guess_on_a_packed_record_is_that_of_its_stream(target: Target) -> None:
    head, record = eagle2_head(target, head_dim=16).double(), make_record()
    packed = pack(record)
    features = record.features[packed.rows][None]
    places = record.positions[packed.rows]
    guessed = guess(head, features[:, :, 0], features[:, :, -1], places, packed.seen)
    wanted = lessons(record.answer[packed.rows][None])
    taught = 0
    for at, place, stream in found(record, 0):
        alone = record.features[stream][None]
        if place + 1 < len(stream):
            single = guess(head, alone[:, :, 0], alone[:, :, -1])
            torch.testing.assert_close(guessed[0, at], single[0, place])
        lesson = shifted(lessons(record.answer[stream][None]), 1)[0, place]
        assert shifted(wanted, 1)[0, at] == lesson
        taught += int(lesson)
    assert taught == int(shifted(wanted, 1).sum()) == 7 + 3


def test_a_packed_training_time_test_is_that_of_its_streams(target: Target) -> None:
    """Logits and lessons of all steps, on the drafting rows alone."""
    head, record = eagle3_head(target).double(), make_record()
    packed = pack(record, gap=STEPS - 1)
    wanted = lessons(record.answer[packed.rows][None])
    rows = drafting_rows(wanted, packed.real)

    def steps(order: Tensor, **how: Tensor) -> list[Tensor]:
        embeds = target.embed(record.ids[order])[None]
        taps, positions = record.features[order][None, :, 1:4], record.rotary[:, order][None]
        return list(unroll(head, embeds, taps, positions, **how))

    together = steps(packed.rows, seen=packed.seen, rows=rows)
    where, taught = {at: i for i, at in enumerate(rows.tolist())}, 0
    for at, place, stream in found(record, STEPS - 1):
        alone, own = steps(torch.tensor(stream)), lessons(record.answer[stream][None])
        for step in range(STEPS):
            lesson = bool(shifted(own, step + 1)[0, place])
            assert bool(shifted(wanted, step + 1)[0, at]) == lesson
            if lesson:
                taught += 1
                torch.testing.assert_close(together[step][0, where[at]], alone[step][0, place])
    assert taught > 40
    # no other row has a lesson: not those of the page, as what follows them depends on the question
    assert taught == sum(int(shifted(wanted, step + 1)[0, rows].sum()) for step in range(STEPS))


def test_streams_are_what_serving_sees(target: Target) -> None:
    record = make_record().tapped((-1, 3))
    first, second = streams(record, target)
    rows = record.stream(2)
    assert torch.equal(second.ids, record.ids[rows])
    assert torch.equal(second.embeds[:-1], record.features[rows[1:-1], 0])
    assert torch.equal(second.embeds[-1], target.embed(record.ids[rows[-1]]))
    assert torch.equal(second.states, target.final_norm(record.features[rows[:-1], 1]))
    assert second.moments == record.rotary[0, rows].tolist()
    n = PAGE + TAILS[1]
    assert second.roots.tolist() == [n, n + 1, n + 2]
    assert len(first.roots) == 7


def test_some_questions_are_those_that_teach(monkeypatch: pytest.MonkeyPatch) -> None:
    record, generator = make_record(), torch.Generator().manual_seed(0)
    assert some_questions(record, generator).tasks == record.tasks
    left = some_questions(record.without_end(7), generator)  # one token of the longest: no root
    assert left.tasks == record.tasks[1:]
    rows = record.stream(2)
    assert torch.equal(left.segments, (record.segments[rows] > 0).long())
    for name in ("ids", "positions", "answer", "features"):
        assert torch.equal(getattr(left, name), getattr(record, name)[rows])
    assert torch.equal(left.rotary, record.rotary[:, rows])

    monkeypatch.setattr("glance.training.recipe.QUESTIONS_A_PAGE", 1)
    drawn = Counter(some_questions(record, generator).tasks[0] for _ in range(300))
    assert drawn["transcribe"] / 300 == pytest.approx(7 / 10, abs=0.1)  # by roots
