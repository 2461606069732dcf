"""Synthetic pages: splits, grounding, determinism, the mix of questions."""

import json
from collections import Counter
from itertools import combinations

import numpy as np
import pytest
from PIL import Image

from glance.documents import mix
from glance.documents.caption import caption
from glance.documents.dataset import layouts, page, pair
from glance.documents.faces import FACES, UNSEEN
from glance.documents.fields import NOT_THERE, absent_types
from glance.documents.kinds import KINDS
from glance.documents.page import boxes_of, save_sample
from glance.documents.phrasings import ways
from glance.documents.survey import Survey
from glance.documents.values import SPLITS, split_of
from glance.targets.embedded import CHARACTERS

PAGES = {split: [page(split, i) for i in range(90)] for split in SPLITS}
ALL = [p for pages in PAGES.values() for p in pages]
ASKED = [q for p in ALL for q in p.questions if q.task in mix.EXTRACTION]


def test_a_page_is_the_same_every_time() -> None:
    a, b = page("train", 7), page("train", 7)
    assert a.image.tobytes() == b.image.tobytes()
    assert a.questions == b.questions


def test_a_table_whose_first_pair_of_columns_does_not_fit_is_drawn() -> None:
    assert page("train", 18008).kind == "table"


def test_splits_share_no_value_of_five_or_more_characters() -> None:
    values = {s: {v for p in pages for v in p.values if len(v) >= 5} for s, pages in PAGES.items()}
    for a, b in combinations(SPLITS, 2):
        assert not values[a] & values[b]
    for split, found in values.items():
        assert len(found) > 300
        assert {split_of(v) for v in found} == {split}


def test_splits_share_no_record() -> None:
    seen = [{tuple(p.values) for p in pages if p.values} for pages in PAGES.values()]
    for a, b in combinations(seen, 2):
        assert not a & b
    with pytest.raises(ValueError, match="unknown split"):
        page("holdout", 0)


@pytest.mark.parametrize("kind", KINDS)
def test_two_layouts_of_a_kind_are_never_trained_on(kind: str) -> None:
    train, validation, test = (set(layouts(kind, split)) for split in SPLITS)
    assert len(train | validation | test) >= 5
    assert len(train) >= 3
    assert len(validation - train) == len(test - train) == 1
    assert validation - train != test - train


def test_pages_keep_to_their_splits_layouts() -> None:
    for p in ALL:
        assert p.layout in layouts(p.kind, p.split)


def test_every_kind_task_size_and_face_occurs() -> None:
    assert {p.kind for p in ALL} == set(KINDS) == set(mix.KINDS)
    assert {q.task for p in ALL for q in p.questions} == set(mix.TASKS)
    assert {p.size for p in ALL} == set(range(mix.SIZES[0], mix.SIZES[1] + 1))
    assert {p.face for p in ALL} == {f.name for f in FACES}
    assert len(FACES) + len(UNSEEN) >= 10
    for p in ALL:
        width, height = p.image.size
        assert width % 28 == height % 28 == 0
        assert width * height <= 448 * 448


def test_two_faces_are_kept_for_one_test_set() -> None:
    assert len(UNSEEN) >= 2
    assert not {f.file for f in UNSEEN} & {f.file for f in FACES}
    drawn = {page("test", i, unseen_faces=True).face for i in range(12)}
    assert drawn == {f.name for f in UNSEEN}


def test_four_in_ten_pages_are_clean_and_four_have_one_fault() -> None:
    counts = Counter(min(len(p.degradations), 2) for p in ALL)
    assert counts[0] / len(ALL) == pytest.approx(0.4, abs=0.09)
    assert counts[1] / len(ALL) == pytest.approx(0.4, abs=0.09)
    assert len({d.name for p in ALL for d in p.degradations}) >= 10


def test_answers_are_page_text_and_separators() -> None:
    for p in ALL:
        assert p.questions[0].task == "transcribe"
        for q in p.questions:
            assert len(q.answer) == len(q.glyphs)
            if q.task == "caption" or q.answer == NOT_THERE:
                assert set(q.glyphs) == {-1}
                continue
            for char, i in zip(q.answer, q.glyphs, strict=True):
                assert char == p.glyphs[i].char if i >= 0 else char in " ,;:\n"


def test_the_transcription_holds_every_glyph_once() -> None:
    for p in ALL:
        used = [i for i in p.questions[0].glyphs if i >= 0]
        assert used == list(range(len(p.glyphs)))


def test_glyph_boxes_hold_the_ink_also_on_turned_pages() -> None:
    turned = [p for p in ALL if {d.name for d in p.degradations} & {"rotation", "perspective"}]
    assert turned
    for p in [*turned, *ALL[:20]]:
        grey = np.asarray(p.image.convert("L")).astype(int)
        inked = 0
        letters = [g for g in p.glyphs if g.char.isalnum()]
        for g in letters:
            x0, y0, x1, y1 = (round(v) for v in g.box)
            assert 0 <= x0 < x1 <= p.image.width
            assert 0 <= y0 < y1 <= p.image.height
            inked += int(np.ptp(grey[y0:y1, x0:x1])) > 40
        assert inked >= 0.97 * len(letters), (p.split, p.index)


def test_the_answer_mix() -> None:
    survey = Survey()
    for p in ALL:
        survey.add(p)
    for tasks in (("docvqa",), ("chartqa", "infovqa")):
        counts = {length: sum(survey.lengths[t, length] for t in tasks) for length in mix.LENGTHS}
        total = sum(counts.values())
        assert total == sum(q.task in tasks for q in ASKED)
        assert counts["short"] / total > 0.24
        assert counts["long"] / total > 0.24
    template, unanswerable = survey.shares()
    assert template <= 12
    assert 3 < unanswerable < 8


def test_copied_characters_are_mostly_random_values() -> None:
    flags = [p.glyphs[i].composed for p in ALL for q in p.questions for i in q.glyphs if i >= 0]
    assert sum(flags) / len(flags) >= 0.4


def test_what_is_not_on_the_page_is_not() -> None:
    assert "total" not in absent_types({"fee"})
    for p in ALL:
        facts = {f.type for f in p.facts}
        for q in p.questions:
            if q.answer == NOT_THERE and q.type != "price":
                assert q.type in absent_types(facts)


def test_follow_ups_come_after_a_question_of_the_page() -> None:
    later = [(p, q) for p in ALL for q in p.questions if q.history]
    assert len(later) > 50
    for p, q in later:
        asked = {(one.question, one.answer) for one in p.questions}
        assert set(q.history) <= asked


def test_every_type_is_asked_for_in_many_ways_and_in_three_only_in_the_test() -> None:
    types = {q.type for q in ASKED}
    assert len(types) > 30
    for type_ in (*types, "transcribe", "caption"):
        for follow_up in (False, True):
            known = ways(type_, follow_up)
            every = [*known.plain, *known.composed, *known.held_out]
            assert len(set(every)) == len(every) > 500
            assert len(known.held_out) == 3
            assert set("".join(every)) <= set(CHARACTERS)
    for split, pages in PAGES.items():
        held_out = [q.held_out for p in pages for q in p.questions]
        assert any(held_out) == (split == "test")
    transcriptions = {p.questions[0].question for s in SPLITS[:2] for p in PAGES[s]}
    assert not transcriptions & set(ways("transcribe").held_out)


def test_a_pair_asks_about_both_pages() -> None:
    pages, questions = pair("test", 0)
    assert {q.page for q in questions} == {0, 1}
    for q in questions:
        assert ("page 1" in q.question or "first page" in q.question) == (q.page == 0)
        text = "".join(pages[q.page].glyphs[i].char for i in q.glyphs if i >= 0)
        assert text in q.answer.replace(", ", "") or set(text) <= set(q.answer)


def test_captions_follow_what_is_on_the_page() -> None:
    light, dark = (Image.new("RGB", (60, 60), c) for c in ("white", "black"))
    assert caption("form", 12, 3, 0, light) == (
        "A form in small print with a few lines on white paper."
    )
    assert caption("sign", 20, 14, -2, dark) == (
        "A sign in large print with many lines on dark paper, tilted left."
    )


def test_boxes_are_one_a_run_of_glyphs() -> None:
    q, p = next((q, p) for p in ALL for q in p.questions
                if q.type == "address" and q.glyphs[0] >= 0)  # fmt: skip
    boxes = boxes_of(p.glyphs, q.glyphs)
    assert 1 <= len(boxes) <= 4
    assert all(x1 > x0 and y1 > y0 for x0, y0, x1, y1 in boxes)


def test_a_saved_sample_reads_back(tmp_path) -> None:
    p = page("test", 5)
    save_sample(p, tmp_path, "five")
    record = json.loads((tmp_path / "five.json").read_text())
    assert Image.open(tmp_path / "five.png").tobytes() == p.image.tobytes()
    assert record["seed"] == 5
    assert [q["answer"] for q in record["questions"]] == [q.answer for q in p.questions]
    assert "".join(g["c"] for g in record["glyphs"]) == "".join(g.char for g in p.glyphs)
