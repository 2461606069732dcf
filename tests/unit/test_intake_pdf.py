"""Pages of PDFs, each made in the test: drawn, counted, refused in words, and nothing left over.

python -m pytest tests/unit/test_intake_pdf.py
"""

import io
import re
import time
import zlib
from pathlib import Path

import numpy as np
import pytest
from PIL import Image

from glance.documents.intake import DocumentError, load_document, pdf
from glance.documents.intake.document import MAX_PIXELS

A4 = (595, 842)  # points
BOX = b"100 642 200 100 re f"  # black, in the upper left of an A4 page
BOX_AT = pytest.approx([100 / 595, 100 / 842, 300 / 595, 200 / 842], abs=0.001)


def pdf_of(
    *contents: bytes, size: tuple[float, float] = A4, page: bytes = b"", trailer: bytes = b""
) -> bytes:
    """A PDF with one page for each content stream."""
    kids = b" ".join(b"%d 0 R" % (3 + 2 * n) for n in range(len(contents)))
    objects = [
        b"<</Type/Catalog/Pages 2 0 R>>",
        b"<</Type/Pages/Kids[%s]/Count %d>>" % (kids, len(contents)),
    ]
    for n, content in enumerate(contents):
        objects.append(
            b"<</Type/Page/Parent 2 0 R/MediaBox[0 0 %g %g]/Contents %d 0 R%s>>"
            % (*size, 4 + 2 * n, page)
        )
        packed = zlib.compress(content)
        objects.append(
            b"<</Filter/FlateDecode/Length %d>>stream\n%s\nendstream" % (len(packed), packed)
        )
    body = b"".join(b"%d 0 obj\n%s\nendobj\n" % numbered for numbered in enumerate(objects, 1))
    return b"%PDF-1.7\n" + body + b"trailer<</Root 1 0 R%s>>\n%%%%EOF\n" % trailer


def refusal(data: bytes, page: int = 1) -> str:
    with pytest.raises(DocumentError) as caught:
        load_document(data, page)
    text = str(caught.value)
    assert re.fullmatch(r"[^.\n]+\.", text)
    return text


def black(image: Image.Image) -> list[float]:
    """Where the dark part of a page is: left, top, right, bottom in 0..1."""
    rows, columns = np.nonzero(np.asarray(image.convert("L")) < 128)
    edges = [columns.min(), rows.min(), columns.max() + 1, rows.max() + 1]
    return [float(edge / of) for edge, of in zip(edges, image.size * 2, strict=True)]


def test_a_page_is_drawn_at_144_dpi_on_white() -> None:
    drawn = load_document(pdf_of(BOX))
    assert drawn.image.mode == "RGB"
    assert drawn.image.size == drawn.original_size == (1190, 1684)
    assert (drawn.kind, drawn.page, drawn.pages, drawn.notices) == ("PDF", 1, 1, ())
    assert black(drawn.image) == pytest.approx(
        [100 / 595, 100 / 842, 300 / 595, 200 / 842], abs=0.001
    )
    assert drawn.image.getpixel((0, 0)) == (255, 255, 255)


def test_only_the_page_asked_for_is_shown() -> None:
    data = pdf_of(b"", BOX, b"1 0 0 rg 0 0 595 842 re f")
    assert load_document(data).image.getextrema() == ((255, 255),) * 3
    second, third = load_document(data, 2), load_document(data, 3)
    assert (second.page, second.pages) == (2, 3)
    assert [notice.text for notice in second.notices] == ["Page 2 of 3."]
    assert black(second.image) == BOX_AT
    assert third.image.getpixel((800, 1000)) == (255, 0, 0)
    assert "1 to 3" in refusal(data, 4)
    assert "1 to 3" in refusal(data, 0)
    assert "page 1" in refusal(pdf_of(BOX), 2)


def test_a_turned_page_comes_out_upright() -> None:
    drawn = load_document(pdf_of(BOX, page=b"/Rotate 90"))
    assert drawn.image.size == (1684, 1190)
    assert black(drawn.image)[2] > 0.8  # the upper left is turned to the upper right


def test_scans_that_pillow_wrote_are_read() -> None:
    scans = [Image.new("L", (600, 800), shade) for shade in (40, 200)]
    data = io.BytesIO()
    scans[0].save(data, "PDF", save_all=True, append_images=scans[1:], resolution=100)
    drawn = load_document(data.getvalue(), 2)
    assert drawn.pages == 2
    assert drawn.image.size == (864, 1152)
    assert drawn.image.getpixel((600, 800)) == pytest.approx((200,) * 3, abs=2)


def test_what_was_filled_into_a_form_is_drawn() -> None:
    drawn = pdf_of(b"")
    field = (
        b"<</Type/Annot/Subtype/Widget/FT/Tx/T(a)/F 4/Rect[100 642 300 742]/AP<</N 6 0 R>>>>",
        b"<</Type/XObject/Subtype/Form/BBox[0 0 200 100]/Length 18>>stream\n"
        b"0 0 200 100 re f  \nendstream",
    )
    data = drawn.replace(b"/Pages 2 0 R", b"/Pages 2 0 R/AcroForm<</Fields[5 0 R]>>")
    data = data.replace(b"/Contents 4 0 R", b"/Contents 4 0 R/Annots[5 0 R]")
    body, end = data.split(b"trailer")
    body += b"".join(b"%d 0 obj\n%s\nendobj\n" % each for each in enumerate(field, 5))
    image = load_document(body + b"trailer" + end).image
    assert black(image) == BOX_AT


@pytest.mark.parametrize("before", [b"", b"\n\n ", b"\xef\xbb\xbf\r\n"])
def test_a_pdf_is_known_by_its_start(before: bytes) -> None:
    assert load_document(before + pdf_of(BOX), name="a.png").kind == "PDF"


def test_a_locked_pdf_says_so() -> None:
    lock = b"/Encrypt<</Filter/Standard/V 1/R 2/P -4/O<%s>/U<%s>>>/ID[<00><00>]"
    data = pdf_of(BOX, trailer=lock % (b"41" * 32, b"42" * 32))
    assert "password" in refusal(data)


@pytest.mark.parametrize(
    "data", [b"%PDF-1.7\n1 0 obj\n", b"%PDF-", pdf_of(BOX)[:60], pdf_of()], ids=range(4)
)
def test_a_damaged_pdf_says_so(data: bytes) -> None:
    assert "PDF is damaged" in refusal(data)


def test_a_small_or_thin_page_is_refused() -> None:
    assert "too small" in refusal(pdf_of(b"", size=(9, 9)))
    assert "strip" in refusal(pdf_of(b"", size=(3000, 20)))


def test_a_poster_is_drawn_within_the_limit() -> None:
    drawn = load_document(pdf_of(BOX, size=(4000, 8000)))
    width, height = drawn.image.size
    assert 0.98 * MAX_PIXELS < width * height < 1.01 * MAX_PIXELS
    assert height / width == pytest.approx(2, abs=0.01)


def test_too_many_pages_are_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("glance.documents.intake.document.MAX_PAGES", 3)
    assert "more than 3 pages" in refusal(pdf_of(*[BOX] * 4))


def forms_in_forms(depth: int) -> bytes:
    """A page that draws a form ten times, which draws a form ten times, and so on."""
    forms = [
        b"<</Type/XObject/Subtype/Form/BBox[0 0 9 9]/Resources<</XObject<</F %d 0 R>>>>"
        b"/Length 50>>stream\n%s\nendstream" % (6 + n, b"/F Do " * 8 + b"  ")
        for n in range(depth)
    ]
    data = pdf_of(b"/F Do", page=b"/Resources<</XObject<</F 5 0 R>>>>")
    body, end = data.split(b"trailer")
    body += b"".join(b"%d 0 obj\n%s\nendobj\n" % each for each in enumerate(forms, 5))
    return body + b"trailer" + end


def test_a_page_that_would_take_for_ever_is_given_up(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(pdf, "SECONDS", 3)
    start = time.monotonic()
    assert "too long" in refusal(forms_in_forms(12))
    assert time.monotonic() - start < 120  # left alone it takes days


def test_a_drawing_process_that_dies_is_one_sentence(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    broken = tmp_path / "draw.py"
    broken.write_text("import os; os.abort()")
    monkeypatch.setattr(pdf, "DRAW", broken)
    assert "cannot be drawn" in refusal(pdf_of(BOX))


def test_no_file_is_left_over(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    for name in ("TMPDIR", "TEMP", "TMP"):
        monkeypatch.setenv(name, str(tmp_path))
    monkeypatch.chdir(tmp_path)
    load_document(pdf_of(BOX))
    assert list(tmp_path.iterdir()) == []
