"""Files that people really choose: each is made in a few lines, loaded, and looked at.

python -m pytest tests/unit/test_intake.py
"""

import hashlib
import io
import json
import zlib
from pathlib import Path

import numpy as np
import pytest
from PIL import Image, ImageDraw, ImageFile
from PIL.PngImagePlugin import PngInfo
from pillow_heif import register_heif_opener

from glance.documents.intake import (
    MAX_QUESTION,
    DocumentError,
    check_question,
    load_document,
)

register_heif_opener()  # so that Pillow writes HEIC files here

SIZE = (120, 80)
MARK = (10, 10, 60, 30)  # black, in the upper left quarter: says which way is up


def page(mode: str = "RGB") -> Image.Image:
    """A light page with a dark mark in the upper left."""
    image = Image.new("RGB", SIZE, (250, 250, 245))
    ImageDraw.Draw(image).rectangle(MARK, fill=(15, 15, 20))
    return image.convert(mode, dither=Image.Dither.NONE)


def encoded(image: Image.Image, kind: str, **options: object) -> bytes:
    buffer = io.BytesIO()
    image.save(buffer, kind, **options)
    return buffer.getvalue()


def assert_readable(image: Image.Image) -> None:
    """Dark text on light ground, upright, whatever the file was."""
    assert type(image) is Image.Image
    assert image.mode == "RGB"
    assert image.size == SIZE
    grey = np.asarray(image.convert("L"), dtype=int)
    x0, y0, x1, y1 = MARK
    assert grey[y0 + 4 : y1 - 4, x0 + 4 : x1 - 4].max() < 90
    outside = np.ones(grey.shape, bool)
    outside[y0 - 4 : y1 + 5, x0 - 4 : x1 + 5] = False
    assert grey[outside].min() > 180


def refusal(data: bytes | str | Path, page: int = 1) -> str:
    with pytest.raises(DocumentError) as caught:
        load_document(data, page)
    return assert_one_sentence(str(caught.value))


def assert_one_sentence(text: str) -> str:
    assert text.endswith(".")
    assert ". " not in text
    assert "\n" not in text
    assert "Error" not in text
    return text


@pytest.mark.parametrize(
    ("kind", "mode", "options"),
    [
        ("PNG", "RGB", {}),
        ("PNG", "L", {}),
        ("PNG", "P", {}),
        ("PNG", "1", {}),
        ("PNG", "LA", {}),
        ("PNG", "RGBA", {}),
        ("JPEG", "RGB", {}),
        ("JPEG", "RGB", {"progressive": True}),
        ("JPEG", "L", {}),
        ("JPEG", "CMYK", {"quality": 95}),
        ("WEBP", "RGB", {}),
        ("AVIF", "RGB", {}),
        ("HEIF", "RGB", {"quality": 90}),
        ("HEIF", "L", {"quality": 90}),
        ("GIF", "P", {}),
        ("BMP", "RGB", {}),
        ("TIFF", "RGB", {}),
        ("TIFF", "CMYK", {}),
        ("TIFF", "1", {"compression": "group4"}),
        ("TIFF", "RGB", {"compression": "tiff_lzw"}),
    ],
)
def test_ordinary_files_are_readable(kind: str, mode: str, options: dict[str, object]) -> None:
    data = encoded(page(mode), kind, **options)
    document = load_document(data)
    assert_readable(document.image)
    assert document.notices == ()
    assert (document.page, document.pages) == (1, 1)
    assert document.original_size == SIZE
    assert document.kind == {"HEIF": "HEIC"}.get(kind, kind)
    assert document.mode == mode
    assert document.sha256 == hashlib.sha256(data).hexdigest()


@pytest.mark.parametrize("kind", ["JPEG", "PNG", "WEBP", "TIFF", "HEIF"])
@pytest.mark.parametrize("orientation", range(1, 9))
def test_every_exif_orientation_comes_out_upright(kind: str, orientation: int) -> None:
    stored = {
        1: lambda image: image,
        2: lambda image: image.transpose(Image.Transpose.FLIP_LEFT_RIGHT),
        3: lambda image: image.transpose(Image.Transpose.ROTATE_180),
        4: lambda image: image.transpose(Image.Transpose.FLIP_TOP_BOTTOM),
        5: lambda image: image.transpose(Image.Transpose.TRANSPOSE),
        6: lambda image: image.transpose(Image.Transpose.ROTATE_90),
        7: lambda image: image.transpose(Image.Transpose.TRANSVERSE),
        8: lambda image: image.transpose(Image.Transpose.ROTATE_270),
    }[orientation](page())
    exif = Image.Exif()
    exif[0x0112] = orientation
    document = load_document(encoded(stored, kind, exif=exif.tobytes()))
    assert_readable(document.image)
    # a HEIC photo comes out of its decoder upright
    assert document.orientation == (1 if kind == "HEIF" else orientation)


@pytest.mark.parametrize("value", [0, 9, 77])
def test_an_impossible_orientation_is_ignored(value: int) -> None:
    exif = Image.Exif()
    exif[0x0112] = value
    assert_readable(load_document(encoded(page(), "JPEG", exif=exif)).image)


@pytest.mark.filterwarnings("ignore:Corrupt EXIF")
@pytest.mark.parametrize(
    "exif",
    [
        b"Exif\x00\x00" + b"\xff" * 40,
        b"Exif\x00\x00MM\x00*\x00\x00\x00\x08\xff\xff\x01\x12",
        b"Exif\x00\x00II*\x00\xff\xff\xff\x7f",
        b"Exif\x00\x00",
    ],
)
def test_corrupt_exif_is_tolerated(exif: bytes) -> None:
    assert_readable(load_document(encoded(page(), "JPEG", exif=exif)).image)


def test_metadata_goes_no_further() -> None:
    exif = Image.Exif()
    exif[0x010E] = "where the photo was taken"
    document = load_document(encoded(page(), "JPEG", exif=exif))
    assert document.image.info == {}
    assert b"where the photo" not in encoded(document.image, "PNG")


@pytest.mark.parametrize("hidden", [(0, 0, 0, 0), (255, 255, 255, 0), (255, 0, 0, 0)])
@pytest.mark.parametrize("kind", ["PNG", "WEBP"])
def test_black_text_on_nothing_stays_readable(kind: str, hidden: tuple[int, ...]) -> None:
    image = Image.new("RGBA", SIZE, hidden)
    ImageDraw.Draw(image).rectangle(MARK, fill=(0, 0, 0, 255))
    document = load_document(encoded(image, kind, lossless=True, exact=True))
    assert_readable(document.image)
    assert document.notices == ()


def test_white_text_on_nothing_is_shown_on_black() -> None:
    image = Image.new("RGBA", SIZE, (255, 255, 255, 0))
    ImageDraw.Draw(image).rectangle(MARK, fill=(255, 255, 255, 255))
    document = load_document(encoded(image, "PNG"))
    assert document.image.getpixel((30, 20)) == (255, 255, 255)
    assert document.image.getpixel((100, 60)) == (0, 0, 0)
    assert [notice.code for notice in document.notices] == ["transparent"]


def test_transparent_palette_and_grey_are_composited() -> None:
    palette = Image.new("P", SIZE, 0)
    palette.putpalette([0, 0, 0, 0, 0, 0])  # both black: only transparency tells them apart
    ImageDraw.Draw(palette).rectangle(MARK, fill=1)
    assert_readable(load_document(encoded(palette, "PNG", transparency=0)).image)
    grey = Image.new("LA", SIZE, (0, 0))
    ImageDraw.Draw(grey).rectangle(MARK, fill=(0, 255))
    assert_readable(load_document(encoded(grey, "PNG")).image)


def test_a_fully_transparent_image_is_blank_paper() -> None:
    document = load_document(encoded(Image.new("RGBA", SIZE, (0, 0, 0, 0)), "PNG"))
    assert document.image.getextrema() == ((255, 255),) * 3


@pytest.mark.parametrize("kind", ["PNG", "TIFF"])
def test_16_bit_grey_is_scaled(kind: str) -> None:
    grey = np.asarray(page("L"), dtype=np.uint16) * 257
    assert_readable(load_document(encoded(Image.fromarray(grey), kind)).image)


@pytest.mark.parametrize("scale", [1, 257, 100_000])
def test_32_bit_grey_is_scaled(scale: int) -> None:
    grey = np.asarray(page("L"), dtype=np.int32) * scale
    assert_readable(load_document(encoded(Image.fromarray(grey), "TIFF")).image)


@pytest.mark.parametrize("scale", [1 / 255, 1.0, 1e6])
def test_floating_point_grey_is_scaled(scale: float) -> None:
    grey = np.asarray(page("L"), dtype=np.float32) * np.float32(scale)
    assert_readable(load_document(encoded(Image.fromarray(grey), "TIFF")).image)


@pytest.mark.parametrize("shade", ["white", "black"])
@pytest.mark.parametrize("mode", ["RGB", "L", "I;16", "F"])
def test_blank_and_black_pages_pass(shade: str, mode: str) -> None:
    level = {"white": 255, "black": 0}[shade]
    if mode == "I;16":
        image = Image.fromarray(np.full(SIZE[::-1], level * 257, np.uint16))
    else:
        image = Image.new("L", SIZE, level).convert(mode)
    document = load_document(encoded(image, "TIFF"))
    assert document.image.getextrema() == ((level, level),) * 3


def test_a_multi_page_tiff_shows_the_page_asked_for_and_says_so() -> None:
    blank = Image.new("RGB", SIZE, "white")
    data = encoded(blank, "TIFF", save_all=True, append_images=[page(), blank])
    first, second = load_document(data), load_document(data, page=2)
    assert (first.page, first.pages) == (1, 3)
    assert [notice.text for notice in first.notices] == ["Page 1 of 3."]
    assert first.image.getextrema() == ((255, 255),) * 3
    assert_readable(second.image)
    assert [notice.text for notice in second.notices] == ["Page 2 of 3."]
    assert "1 to 3" in refusal(data, page=4)
    assert "1 to 3" in refusal(data, page=0)


def test_a_tiff_without_end_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("glance.documents.intake.document.MAX_PAGES", 5)
    sheets = [Image.new("1", SIZE) for _ in range(8)]
    assert "more than 5 pages" in refusal(
        encoded(sheets[0], "TIFF", save_all=True, append_images=sheets[1:])
    )


def test_of_a_burst_of_heic_photos_the_first_is_used() -> None:
    blank = Image.new("RGB", SIZE, "white")
    data = encoded(page(), "HEIF", save_all=True, append_images=[blank], quality=90)
    photo = load_document(data)
    assert_readable(photo.image)
    assert (photo.pages, photo.notices) == (1, ())


def test_page_two_of_a_plain_image_is_refused() -> None:
    assert "page 1" in refusal(encoded(page(), "PNG"), page=2)


@pytest.mark.parametrize("kind", ["GIF", "WEBP", "PNG"])
def test_of_an_animation_the_first_frame_is_used(kind: str) -> None:
    frames = [Image.new("RGB", SIZE, colour) for colour in ("red", "blue")]
    document = load_document(encoded(page(), kind, save_all=True, append_images=frames))
    assert_readable(document.image)
    assert (document.page, document.pages) == (1, 1)
    assert [notice.code for notice in document.notices] == ["animation"]
    assert "first frame" in document.notices[0].text


def test_a_gif_that_would_take_hours_is_given_up(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("glance.documents.intake.gif.SECONDS", 3)
    data = encoded(page("P"), "GIF")
    at = data.index(b"\x2c")  # of the first frame: before it stands a comment of a byte a block
    endless = data[:at] + b"\x21\xfe" + b"\x01a" * 4_000_000 + b"\x00" + data[at:]
    assert "too long" in refusal(endless)


def test_the_extension_does_not_matter(tmp_path: Path) -> None:
    file = tmp_path / "really-a-gif.png"
    file.write_bytes(encoded(page("P"), "GIF"))
    document = load_document(file)
    assert_readable(document.image)
    assert document.name == "really-a-gif.png"
    assert_readable(load_document(str(file)).image)


@pytest.mark.parametrize("kind", ["JPEG", "PNG", "WEBP", "TIFF", "GIF", "AVIF", "BMP", "HEIF"])
@pytest.mark.parametrize("share", [0.2, 0.6, 0.9])
def test_a_file_cut_off_is_a_sentence_or_a_page(kind: str, share: float) -> None:
    noise = np.random.default_rng(0).integers(0, 256, (80, 120, 3), dtype=np.uint8)
    data = encoded(Image.fromarray(noise), kind)
    assert refusal(data[: int(len(data) * share)])


@pytest.mark.filterwarnings("ignore")  # Pillow warns of what it finds odd
@pytest.mark.parametrize("kind", ["JPEG", "PNG", "WEBP", "TIFF", "GIF", "AVIF", "BMP", "HEIF"])
def test_damaged_bytes_never_escape_as_another_error(kind: str) -> None:
    random = np.random.default_rng(1)
    exif = Image.Exif()
    exif[0x0112] = 6
    data = encoded(page(), kind, exif=exif)
    refused = 0
    for _ in range(60 if kind == "GIF" else 300):  # a GIF is read in a process of its own
        broken = bytearray(data)
        for place in random.integers(0, min(len(data), random.choice([64, 4000])), 5):
            broken[place] = random.integers(0, 256)
        try:
            assert load_document(bytes(broken)).image.mode == "RGB"
        except DocumentError as error:
            assert_one_sentence(str(error))
            refused += 1
    assert refused > 0


def test_a_truncated_jpeg_says_so() -> None:
    data = encoded(page().resize((600, 400)), "JPEG")
    assert "cut off" in refusal(data[: len(data) // 2])


@pytest.mark.parametrize(
    ("data", "word"),
    [
        (b"", "empty"),
        (b"Hello, this is a text file.\n" * 20, "not an image"),
        (b"<!doctype html><html><body>not found</body></html>", "not an image"),
        (b"\x00" * 5000, "not an image"),
        (b"\x00\x00\x00\x18ftypheic\x00\x00\x00\x00mif1heic" + b"\x00" * 99, "damaged"),
        (b'<?xml version="1.0"?>\n<svg xmlns="http://www.w3.org/2000/svg"/>', "SVG"),
        (b"%!PS-Adobe-3.0 EPSF-3.0\n%%BoundingBox: 0 0 100 100\n", "not an image"),
        (b"\x89PNG\r\n\x1a\n", "not an image"),
        (b"\xff\xd8\xff\xe0", "not an image"),
    ],
)
def test_what_is_no_picture_is_named(tmp_path: Path, data: bytes, word: str) -> None:
    assert word in refusal(data)
    file = tmp_path / "picture.png"
    file.write_bytes(data)
    assert word in refusal(file)


@pytest.mark.parametrize("text", ["%PDF-1.7", "<svg xmlns='x'/>"])
def test_a_picture_that_mentions_another_kind_is_still_a_picture(text: str) -> None:
    notes = PngInfo()
    notes.add_text("Comment", text)
    data = io.BytesIO()
    page().save(data, "PNG", pnginfo=notes)
    assert text.encode() in data.getvalue()[:1024]
    assert load_document(data.getvalue()).image.size == page().size


def test_paths_that_lead_nowhere(tmp_path: Path) -> None:
    assert "no file" in refusal(tmp_path / "missing.png")
    assert "folder" in refusal(tmp_path)
    assert "cannot be read" in refusal("bad\0name.png")


@pytest.mark.parametrize(
    ("size", "word"),
    [
        ((1, 1), "too small"),
        ((20, 20), "too small"),
        ((3000, 8), "too small"),
        ((5, 2000), "too small"),
        ((3000, 30), "strip"),
        ((30, 3000), "strip"),
    ],
)
def test_tiny_and_thin_images_are_refused(size: tuple[int, int], word: str) -> None:
    text = refusal(encoded(Image.new("RGB", size), "PNG"))
    assert word in text
    assert f"{size[0]} x {size[1]}" in text


def test_a_long_receipt_is_welcome() -> None:
    assert load_document(encoded(Image.new("L", (300, 6000)), "PNG")).image.size == (300, 6000)


def png_header(width: int, height: int) -> bytes:
    """A PNG that claims a size and holds next to nothing."""

    def chunk(kind: bytes, body: bytes) -> bytes:
        checksum = zlib.crc32(kind + body).to_bytes(4, "big")
        return len(body).to_bytes(4, "big") + kind + body + checksum

    header = width.to_bytes(4, "big") + height.to_bytes(4, "big") + bytes([8, 2, 0, 0, 0])
    body = chunk(b"IHDR", header) + chunk(b"IDAT", zlib.compress(b"\0" * 99)) + chunk(b"IEND", b"")
    return b"\x89PNG\r\n\x1a\n" + body


@pytest.mark.parametrize("size", [(20_000, 18_000), (12_000, 9_000), (35_000, 35_000)])
def test_huge_images_are_refused_from_their_header(
    size: tuple[int, int], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(ImageFile.ImageFile, "load", lambda _: pytest.fail("pixels were read"))
    assert "megapixels" in refusal(png_header(*size))


def test_a_huge_heic_is_refused_from_its_header() -> None:
    data = encoded(page(), "HEIF")
    size = data.index(b"ispe") + 8  # width and height of the image
    large = (8064).to_bytes(4, "big") + (6048).to_bytes(4, "big")
    assert "megapixels" in refusal(data[:size] + large + data[size + 8 :])


def test_a_huge_jpeg_is_refused_too() -> None:
    data = bytearray(encoded(page(), "JPEG"))
    frame = data.index(b"\xff\xc0") + 5  # height and width in the frame header
    data[frame : frame + 4] = (18_000).to_bytes(2, "big") + (20_000).to_bytes(2, "big")
    assert "megapixels" in refusal(bytes(data))


def test_a_photo_above_the_limit_is_reduced_and_says_so() -> None:
    big = page("L").resize((9000, 6000), Image.Resampling.NEAREST)  # 54 megapixels
    exif = Image.Exif()
    exif[0x0112] = 3
    data = encoded(big.transpose(Image.Transpose.ROTATE_180), "JPEG", exif=exif)
    document = load_document(data)
    assert document.image.size == (4500, 3000)
    assert_readable(document.image.resize(SIZE))
    assert document.original_size == (9000, 6000)
    assert [notice.code for notice in document.notices] == ["downscaled"]
    assert "4500 x 3000" in document.notices[0].text


def test_glyphs_come_from_the_record_beside_a_generated_page(tmp_path: Path) -> None:
    record = {"size": list(SIZE), "glyphs": [{"c": "A", "box": [1, 2, 3, 4]}]}
    (tmp_path / "page.png").write_bytes(encoded(page(), "PNG"))
    assert load_document(tmp_path / "page.png").glyphs is None
    (tmp_path / "page.json").write_text(json.dumps(record))
    assert load_document(tmp_path / "page.png").glyphs == [{"char": "A", "box": [1, 2, 3, 4]}]


@pytest.mark.parametrize(
    "beside", ["", "[1, 2]", "null", '{"size": [1, 1], "glyphs": []}', '{"size": 3, "glyphs": 3}']
)
def test_an_unrelated_json_file_is_no_record(tmp_path: Path, beside: str) -> None:
    (tmp_path / "photo.png").write_bytes(encoded(page(), "PNG"))
    (tmp_path / "photo.json").write_text(beside)
    assert load_document(tmp_path / "photo.png").glyphs is None


def test_questions() -> None:
    assert check_question("  What is the total?\n") == "What is the total?"
    assert check_question("x" * MAX_QUESTION) == "x" * MAX_QUESTION
    assert check_question("\u0645\u0627 \u0647\u0648\u061f \U0001f600") != ""
    assert check_question("cut \ud83d off") == "cut ? off"
    assert check_question("read <|image_pad|> literally") == "read <|image_pad|> literally"


@pytest.mark.parametrize("text", [None, "", " \n\t ", "x" * (MAX_QUESTION + 1)])
def test_questions_refused(text: str | None) -> None:
    with pytest.raises(DocumentError) as caught:
        check_question(text)
    assert_one_sentence(str(caught.value))
