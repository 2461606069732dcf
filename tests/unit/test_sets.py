"""Exam sets: what is asked of which pages, and what is said when the pages are not there.

python -m pytest tests/unit/test_sets.py
"""

from pathlib import Path

import pytest

from glance.cli.main import SETS as NAMED
from glance.documents import sets
from glance.documents.dataset import page
from glance.documents.faces import UNSEEN
from glance.documents.fields import NOT_THERE
from glance.documents.mix import EXTRACTION
from glance.documents.page import save_sample
from glance.documents.sets import SETS, SetError, count, exam


def test_the_command_line_names_them_all() -> None:
    assert tuple(SETS) == NAMED
    with pytest.raises(ValueError, match="unseen-faces"):
        exam("easy", 1)


@pytest.mark.parametrize("split", ["test", "validation"])
def test_the_test_set_is_the_splits_first_pages(split: str) -> None:
    items = list(exam("test", 3, split))
    drawn = [page(split, i) for i in range(3)]
    assert [i.questions for i in items] == [p.questions for p in drawn]
    assert [i.images[0].tobytes() for i in items] == [p.image.tobytes() for p in drawn]
    assert [(i.kind, i.layout, i.size) for i in items] == [
        (p.kind, p.layout, p.size) for p in drawn
    ]
    assert [len(i.degradations) for i in items] == [len(p.degradations) for p in drawn]


def test_unseen_faces_are_unseen() -> None:
    drawn = page("test", 1, unseen_faces=True)
    assert drawn.face in {face.name for face in UNSEEN}
    [_, item] = exam("unseen-faces", 2)
    assert item.images[0].tobytes() == drawn.image.tobytes()


def test_blank_pages_keep_the_questions_that_a_page_answers() -> None:
    for item, drawn in zip(exam("blank", 12), exam("test", 12), strict=True):
        width, height = item.images[0].size
        assert (width, height) == drawn.images[0].size
        assert item.images[0].getcolors() == [(width * height, (255, 255, 255))]
        assert set(item.questions) <= set(drawn.questions)
        assert all(q.task in EXTRACTION and q.answer != NOT_THERE for q in item.questions)


def test_a_pair_has_two_images_and_questions_about_both() -> None:
    items = list(exam("pairs", 4))
    assert {len(item.images) for item in items} == {2}
    assert {q.page for item in items for q in item.questions} == {0, 1}


def test_saved_pages_read_back(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sets.FOLDERS, "scans", (tmp_path, "run it first"))
    with pytest.raises(SetError, match=r"no pages in .*: run it first"):
        exam("scans", 5)
    pages = (page("test", i) for i in range(50))
    drawn = next(p for p in pages if any(q.history for q in p.questions))
    save_sample(drawn, tmp_path, "one")
    (tmp_path / "manifest.json").write_text("{}")  # no picture beside it: not a page
    assert count("scans", 5) == 1
    with pytest.raises(SetError, match="no validation split"):
        exam("scans", 5, "validation")
    [item] = exam("scans", 5)
    wanted = [(q.task, q.question, q.answer, q.history) for q in drawn.questions]
    assert [(q.task, q.question, q.answer, q.history) for q in item.questions] == wanted
    assert item.images[0].tobytes() == drawn.image.tobytes()
    assert (item.kind, item.layout, item.size) == (drawn.kind, "", drawn.size)
    assert item.degradations == tuple(d.name for d in drawn.degradations)
