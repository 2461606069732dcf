"""Files and questions that nobody would make by hand: a page, or one sentence why not.

Run: python -m pytest tests/unit/test_fuzz_intake.py, and with -m slow for 2,000 cases each
"""

from __future__ import annotations

import io
from functools import cache

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from PIL import Image
from pillow_heif import register_heif_opener

from glance.documents.intake import (
    MAX_QUESTION,
    DocumentError,
    check_question,
    load_document,
    load_pages,
)
from glance.documents.intake.document import MAX_PIXELS, MIN_SIDE

register_heif_opener()  # so that Pillow writes HEIC files here

HEALTH = [HealthCheck.too_slow, HealthCheck.data_too_large]
FEW = settings(max_examples=60, deadline=None, derandomize=True, suppress_health_check=HEALTH)
MANY = settings(max_examples=2000, deadline=None, suppress_health_check=HEALTH)

pytestmark = pytest.mark.filterwarnings("ignore")  # Pillow warns of what it finds odd


def page(mode: str = "RGB") -> Image.Image:
    return Image.linear_gradient("L").resize((60, 40)).convert(mode)


EXIF = Image.Exif()
EXIF[0x0112] = 6
MORE = {"save_all": True, "append_images": [page(), page()]}
KINDS = {
    "PNG": ("RGB", {"exif": EXIF}),
    "PNG P": ("P", {"transparency": 0}),
    "PNG I;16": ("I;16", {}),
    "JPEG": ("RGB", {"exif": EXIF, "progressive": True}),
    "JPEG CMYK": ("CMYK", {}),
    "GIF": ("P", {**MORE}),
    "TIFF": ("RGB", {**MORE, "compression": "tiff_lzw"}),
    "TIFF 1": ("1", {"compression": "group4"}),
    "TIFF F": ("F", {}),
    "WEBP": ("RGBA", {"exif": EXIF}),
    "AVIF": ("RGB", {"exif": EXIF}),
    "HEIF": ("RGB", {"exif": EXIF}),
    "BMP": ("RGB", {}),
    "PPM": ("RGB", {}),
    "PDF": ("RGB", {**MORE}),
}


@cache
def sound(kind: str) -> bytes:
    """A small file of the kind, as Pillow writes it."""
    mode, options = KINDS[kind]
    buffer = io.BytesIO()
    page(mode).save(buffer, kind.split()[0], **options)
    return buffer.getvalue()


#: what a parser is likeliest to trip over in place of a length, an offset or a count
EXTREMES = st.sampled_from(
    [b"\0\0\0\0", b"\xff\xff\xff\xff", b"\x7f\xff\xff\xff", b"\xff\xff\xff\x7f", b"\0\1", b"\1\0"]
)


@st.composite
def damaged(draw: st.DrawFn) -> bytes:
    """A sound file with a few changes, most of them near its beginning; or no file at all."""
    if draw(st.integers(0, 15)) == 0:
        return draw(st.binary(max_size=200))
    data = bytearray(sound(draw(st.sampled_from(sorted(KINDS)))))
    for _ in range(draw(st.integers(1, 4))):
        end = len(data)
        at = draw(st.integers(0, min(end, 160)) | st.integers(0, end))
        size = draw(st.integers(1, 8))
        change = draw(st.sampled_from(["write", "write", "insert", "delete", "repeat", "cut"]))
        fresh = draw(EXTREMES | st.binary(min_size=1, max_size=8))
        if change == "write":
            data[at : at + len(fresh)] = fresh
        elif change == "insert":
            data[at:at] = fresh
        elif change == "delete":
            del data[at : at + size]
        elif change == "repeat":
            data[at:at] = data[at : at + 40 * size]
        elif draw(st.booleans()):
            del data[at:]
    return bytes(data)


PAGES = st.lists(st.integers(1, 3) | st.integers(), max_size=3) | st.just([1])
FRACTION = st.floats(0, 1) | st.floats()
CROP = st.none() | st.none() | st.tuples(FRACTION, FRACTION, FRACTION, FRACTION)


def check_file(data: bytes, pages: list[int], crop: tuple[float, ...] | None) -> None:
    """A file is a page of a size that can be read, or it is refused in a sentence."""
    try:
        documents = load_pages(data, pages, crop=crop)
    except DocumentError as error:
        check_words(error)
        return
    for document in documents:
        width, height = document.image.size
        assert document.image.mode == "RGB"
        assert min(width, height) >= MIN_SIDE
        assert width * height <= MAX_PIXELS


def check_asked(text: str) -> None:
    try:
        question = check_question(text)
    except DocumentError as error:
        check_words(error)
        return
    assert 0 < len(question) <= MAX_QUESTION
    assert question.encode().decode() == question.strip()


def check_words(error: DocumentError) -> None:
    text = str(error)
    assert text.endswith(".")
    assert "\n" not in text
    assert "Error" not in text


@FEW
@given(data=damaged(), pages=PAGES, crop=CROP)
def test_a_damaged_file_is_a_page_or_a_sentence(data, pages, crop):
    check_file(data, pages, crop)


@pytest.mark.slow
@MANY
@given(data=damaged(), pages=PAGES, crop=CROP)
def test_two_thousand_damaged_files(data, pages, crop):
    check_file(data, pages, crop)


QUESTIONS = st.text(st.characters(), max_size=30) | st.builds(
    lambda text, times: text * times, st.text(min_size=1, max_size=9), st.integers(0, 900)
)


@FEW
@given(text=QUESTIONS)
def test_any_question_is_asked_or_a_sentence(text):
    check_asked(text)


@pytest.mark.slow
@MANY
@given(text=QUESTIONS)
def test_two_thousand_questions(text):
    check_asked(text)


@pytest.mark.parametrize("kind", KINDS)
def test_every_kind_is_sound_before_it_is_damaged(kind):
    assert load_document(sound(kind)).image.mode == "RGB"
