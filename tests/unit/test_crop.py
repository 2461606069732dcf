"""Parts of a page: cut from all its pixels, with the glyphs that lie in them.

python -m pytest tests/unit/test_crop.py
"""

import json
from pathlib import Path

import pytest
from PIL import Image

from glance.documents.intake import DocumentError, load_document, load_pages


@pytest.fixture
def page(tmp_path: Path) -> Path:
    """A large page, red where x > 2000 and y < 1000, with three glyphs on record."""
    image = Image.new("RGB", (4000, 3000), "white")
    image.paste("red", (2000, 0, 4000, 1000))
    image.save(tmp_path / "page.png")
    boxes = {"A": [1950, 10, 2090, 60], "B": [1900, 10, 2010, 60], "C": [2500, 980, 2600, 1010]}
    glyphs = [{"c": char, "box": box} for char, box in boxes.items()]
    record = {"size": [4000, 3000], "glyphs": glyphs}
    (tmp_path / "page.json").write_text(json.dumps(record))
    return tmp_path / "page.png"


def test_a_crop_has_every_pixel_of_its_part(page: Path) -> None:
    part = load_document(page, crop=(0.5, 0, 1, 1 / 3))
    assert part.image.size == (2000, 1000)
    assert part.image.getextrema() == ((255, 255), (0, 0), (0, 0))
    assert part.crop == (0.5, 0, 1, 1 / 3)
    assert part.original_size == (4000, 3000)
    assert [notice.text for notice in part.notices] == [
        "A part of the page is read: 2000 x 1000 of 4000 x 3000 pixels."
    ]


def test_glyphs_move_with_the_crop_and_end_at_its_edge(page: Path) -> None:
    assert load_document(page, crop=(0.5, 0, 1, 1 / 3)).glyphs == [
        {"char": "A", "box": [0, 10, 90, 60]},
        {"char": "C", "box": [500, 980, 600, 1000]},
    ]


def test_a_crop_is_of_the_upright_page(tmp_path: Path) -> None:
    exif = Image.Exif()
    exif[0x0112] = 6  # stored lying on its left side
    image = Image.new("RGB", (400, 200), "white")
    image.paste("black", (0, 100, 200, 200))  # upright: the upper left quarter
    image.save(tmp_path / "photo.png", exif=exif)
    part = load_document(tmp_path / "photo.png", crop=(0, 0, 0.5, 0.5))
    assert part.image.size == (100, 200)
    assert part.image.getextrema() == ((0, 0),) * 3


@pytest.mark.parametrize(
    ("crop", "word"),
    [
        ((0.5, 0, 0.5, 1), "left to right"),
        ((0, 0.9, 1, 0.1), "top to bottom"),
        ((-0.1, 0, 1, 1), "within the page"),
        ((0, 0, 1, float("nan")), "within the page"),
        ((0, 0, 0.005, 1), "too small"),
        ((0, 0, 1, 0.01), "strip"),
    ],
)
def test_crops_that_hold_nothing_are_refused(
    page: Path, crop: tuple[float, float, float, float], word: str
) -> None:
    with pytest.raises(DocumentError, match=word):
        load_document(page, crop=crop)


def test_a_question_has_a_page_or_two_and_a_crop_one(page: Path) -> None:
    assert len(load_pages(page, [1, 1])) == 1
    for pages in ([], [1, 2, 3]):
        with pytest.raises(DocumentError, match="one page or two"):
            load_pages(page, pages)
    with pytest.raises(DocumentError, match="one page"):
        load_pages(page, [1, 2], crop=(0, 0, 1, 1))
