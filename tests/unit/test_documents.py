"""Synthetic pages: splits, grounding, determinism, phrasings."""

import json
from itertools import combinations

import pytest
from PIL import Image

from glance.documents.dataset import page
from glance.documents.kinds import KINDS
from glance.documents.page import boxes_of, save_sample
from glance.documents.phrasings import phrasings
from glance.documents.values import SPLITS, split_of

PAGES = {split: [page(split, i) for i in range(80)] for split in SPLITS}
ALL = [p for pages in PAGES.values() for p in pages]


def test_a_page_is_the_same_every_time() -> None:
    a, b = page("train", 7), page("train", 7)
    assert a.image.tobytes() == b.image.tobytes()
    assert a.questions == b.questions


def test_splits_share_no_value_of_five_or_more_characters() -> None:
    values = {s: {v for p in pages for v in p.values if len(v) >= 5} for s, pages in PAGES.items()}
    for a, b in combinations(SPLITS, 2):
        assert not values[a] & values[b]
    for split, found in values.items():
        assert len(found) > 300
        assert {split_of(v) for v in found} == {split}


def test_splits_share_no_record() -> None:
    seen = [{tuple(p.values) for p in pages} for pages in PAGES.values()]
    for a, b in combinations(seen, 2):
        assert not a & b
    with pytest.raises(ValueError, match="unknown split"):
        page("holdout", 0)


def test_every_kind_size_and_task_occurs() -> None:
    assert {p.kind for p in ALL} == set(KINDS)
    assert len({p.image.size for p in ALL}) >= 10
    assert {q.task for p in ALL for q in p.questions} == {"transcribe", "docvqa"}


def test_answers_are_page_text_and_separators() -> None:
    for p in ALL:
        assert p.questions[0].task == "transcribe"
        for q in p.questions:
            assert len(q.answer) == len(q.glyphs)
            for char, i in zip(q.answer, q.glyphs, strict=True):
                assert char == p.glyphs[i].char if i >= 0 else char in " ,\n"


def test_the_transcription_holds_every_glyph_once_in_reading_order() -> None:
    for p in ALL:
        used = [i for i in p.questions[0].glyphs if i >= 0]
        assert sorted(used) == list(range(len(p.glyphs)))
        tops = [p.glyphs[line[0].start].box[1] for line in p.lines]
        assert tops == sorted(tops)


def test_glyph_boxes_hold_the_ink() -> None:
    p = page("train", 3)
    for g in p.glyphs:
        if g.char.strip():
            darkest = p.image.crop(tuple(round(v) for v in g.box)).getextrema()[0]
            assert darkest < p.image.getpixel((0, 0)) - 60
    left, top, right, bottom = p.glyphs[0].box
    assert 14 <= bottom - top <= 34
    assert right > left


def test_copied_characters_are_mostly_random_values() -> None:
    flags = [p.glyphs[i].composed for p in ALL for q in p.questions for i in q.glyphs if i >= 0]
    assert sum(flags) / len(flags) >= 0.4


def test_short_and_long_answers_are_asked_for() -> None:
    lengths = [len(q.answer) for p in ALL for q in p.questions if q.task == "docvqa"]
    assert min(lengths) <= 8
    assert sum(n >= 25 for n in lengths) > 30


def test_twelve_phrasings_a_question_type() -> None:
    types = {q.type for p in ALL for q in p.questions}
    assert len(types) > 15
    for type_ in types:
        assert len(set(phrasings(type_, "the total"))) == 12


def test_boxes_are_one_a_visual_line() -> None:
    address = next(q for p in ALL for q in p.questions if q.type == "address")
    p = next(p for p in ALL if address in p.questions)
    boxes = boxes_of(p.glyphs, address.glyphs)
    assert len(boxes) == 2
    assert all(x1 > x0 and y1 > y0 for x0, y0, x1, y1 in boxes)


def test_a_saved_sample_reads_back(tmp_path) -> None:
    p = page("test", 5)
    save_sample(p, tmp_path, "five")
    record = json.loads((tmp_path / "five.json").read_text())
    assert Image.open(tmp_path / "five.png").tobytes() == p.image.tobytes()
    assert record["seed"] == 5
    assert [q["answer"] for q in record["questions"]] == [q.answer for q in p.questions]
    assert "".join(g["c"] for g in record["glyphs"]) == "".join(g.char for g in p.glyphs)
