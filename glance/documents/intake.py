"""From any file a person may hand over to one upright RGB page, or one sentence saying why not.

Page and command line both come through `load_document`, so they see the same pixels. This module
knows image files only: what a model does with the page, and at which size, is not its concern.
The header is read before a single pixel, so a small file cannot ask for gigabytes.
"""

from __future__ import annotations

import hashlib
import io
import json
import struct
import warnings
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from PIL import Image, UnidentifiedImageError

MAX_BYTES = 100_000_000  # one file
MAX_PIXELS = 40_000_000  # one decoded page: 120 MB as RGB
MAX_JPEG_PIXELS = 4 * MAX_PIXELS  # a JPEG can be decoded at half scale without the full pixels
MIN_SIDE = 28  # pixels; the smallest cell a vision tower of this kind can take
MAX_ASPECT = 50  # longer side over shorter side; a receipt has up to 20
MAX_QUESTION = 2000  # characters

# Only raster formats: Pillow also opens files that it hands to other programs (EPS).
FORMATS = ("PNG", "JPEG", "GIF", "TIFF", "WEBP", "AVIF", "BMP", "PPM")
READABLE = "PNG, JPEG, WebP, AVIF, TIFF, GIF or BMP"

EXIF_ORIENTATION = 0x0112
UPRIGHT = {
    2: Image.Transpose.FLIP_LEFT_RIGHT,
    3: Image.Transpose.ROTATE_180,
    4: Image.Transpose.FLIP_TOP_BOTTOM,
    5: Image.Transpose.TRANSPOSE,
    6: Image.Transpose.ROTATE_270,
    7: Image.Transpose.TRANSVERSE,
    8: Image.Transpose.ROTATE_90,
}
# All that Pillow's readers were seen to raise on damaged files of these formats.
DAMAGE = (
    OSError,
    ValueError,
    SyntaxError,
    struct.error,
    EOFError,
    KeyError,
    TypeError,
    RuntimeError,
)
BOM = b"\xef\xbb\xbf"
HEIC_BRANDS = (b"heic", b"heix", b"hevc", b"heim", b"heis", b"mif1", b"msf1")


class DocumentError(ValueError):
    """What is wrong with a document or a question, in one plain sentence that says what to do."""


@dataclass(frozen=True, slots=True)
class Notice:
    """Something the reader should know about the page although it was accepted."""

    level: str  # "info" or "warning"
    code: str  # stable, for tests and traces: "page", "animation", "downscaled", "transparent"
    text: str


@dataclass(frozen=True, slots=True)
class Document:
    """One page, ready to be asked about."""

    image: Image.Image  # RGB, upright, no metadata
    notices: tuple[Notice, ...]
    page: int  # counted from 1
    pages: int
    original_size: tuple[int, int]  # (width, height) in pixels, as the file's header has it
    sha256: str  # of the file's bytes
    name: str
    orientation: int = 1  # the EXIF orientation that was undone, 1 to 8
    glyphs: list[dict[str, Any]] | None = None  # [{"char", "box": [x0, y0, x1, y1]}], pixels


def load_document(source: str | Path | bytes, page: int = 1, name: str | None = None) -> Document:
    """Read one page of an image file.

    Args:
        source: a path, or the bytes of a file.
        page: which page of a multi-page TIFF, counted from 1.
        name: what to call the document; the file's name by default.

    Raises:
        DocumentError: the file cannot be used; its text is meant for the person who chose it.
    """
    data = source if isinstance(source, bytes) else _read(Path(source))
    name = name or ("document" if isinstance(source, bytes) else Path(source).name)
    _refuse_other_kinds(data)
    notices: list[Notice] = []
    with warnings.catch_warnings():
        # Sizes are checked here, against tighter limits than the one Pillow warns about.
        warnings.simplefilter("ignore", Image.DecompressionBombWarning)
        with _open(data) as file:
            pages = _turn_to_page(file, page, notices)
            original_size = file.size
            _check_size(file)
            orientation = _orientation(file)
            _decode(file, notices)
            turn = _orientation(file)  # of a TIFF, Pillow has undone it while decoding
            image = _to_rgb(file, notices)
    if turn in UPRIGHT:
        image = image.transpose(UPRIGHT[turn])
    image.info.clear()  # a photo's place and time have no business further in
    return Document(
        image=image,
        notices=tuple(notices),
        page=page if pages > 1 else 1,
        pages=pages,
        original_size=original_size,
        sha256=hashlib.sha256(data).hexdigest(),
        name=name,
        orientation=orientation,
        glyphs=None if isinstance(source, bytes) else _glyphs_beside(Path(source), image.size),
    )


def check_question(text: str | None) -> str:
    """The question without surrounding space, or a DocumentError in plain words.

    Lone surrogates, which no tokenizer can encode, become question marks.
    """
    question = (text or "").encode("utf-8", "replace").decode("utf-8").strip()
    if not question:
        raise DocumentError("There is no question yet: type what you want to know about the page.")
    if len(question) > MAX_QUESTION:
        raise DocumentError(
            f"The question has {len(question):,} characters: shorten it to {MAX_QUESTION:,}."
        )
    return question


def _read(path: Path) -> bytes:
    try:
        with path.open("rb") as file:
            return file.read(MAX_BYTES + 1)  # one more than allowed is enough to refuse it
    except IsADirectoryError as error:
        raise DocumentError(f"{path} is a folder: choose one image file in it.") from error
    except FileNotFoundError as error:
        raise DocumentError(f"There is no file {path}: check the path.") from error
    except (OSError, ValueError) as error:  # ValueError: a NUL byte in the path
        raise DocumentError(f"The file {path} cannot be read: check its permissions.") from error


def _refuse_other_kinds(data: bytes) -> None:
    """Name the kinds of file that people try and that Pillow would only call unknown."""
    if not data:
        raise DocumentError("The file is empty (0 bytes): choose it again, or another one.")
    if len(data) > MAX_BYTES:
        raise DocumentError(
            f"The file is larger than {MAX_BYTES // 1_000_000} MB: save a smaller copy of it."
        )
    if data[:1024].removeprefix(BOM).lstrip().startswith(b"%PDF-"):
        raise DocumentError("PDF files cannot be read yet: save the page as PNG or JPEG first.")
    if data[4:8] == b"ftyp" and data[8:12] in HEIC_BRANDS and b"avif" not in data[8:64]:
        raise DocumentError("HEIC photos cannot be read yet: save the photo as JPEG first.")


def _open(data: bytes) -> Image.Image:
    """The file with its header read and its pixels still compressed."""
    try:
        return Image.open(io.BytesIO(data), formats=FORMATS)
    except Image.DecompressionBombError as error:
        raise DocumentError(
            f"The image has far more than {MAX_PIXELS // 1_000_000} megapixels: "
            "save it at a smaller size and choose that."
        ) from error
    except UnidentifiedImageError as error:
        if b"<svg" in data[:1024].lower():
            raise DocumentError(
                "SVG drawings cannot be read: export the drawing as PNG first."
            ) from error
        raise DocumentError(
            f"This file is not an image that can be read: choose a {READABLE} file."
        ) from error
    except DAMAGE as error:
        raise _damaged() from error


def _damaged() -> DocumentError:
    return DocumentError("The image file is damaged or cut off: copy or save it again.")


def _turn_to_page(file: Image.Image, page: int, notices: list[Notice]) -> int:
    """Seek the page of a TIFF; of anything that moves only the first frame is a page.

    Returns:
        The number of pages.
    """
    try:
        frames = getattr(file, "n_frames", 1)
        if file.format != "TIFF":
            # "MPO" is a phone's JPEG with a preview inside, not an animation.
            if frames > 1 and file.format != "MPO":
                text = f"The image is animated: its first frame of {frames} is used."
                notices.append(Notice("info", "animation", text))
            frames = 1
        if not 1 <= page <= frames:
            raise DocumentError(
                f"There is no page {page}: choose a page from 1 to {frames}."
                if frames > 1
                else f"There is no page {page}: the file has one page, so choose page 1."
            )
        if frames > 1:
            file.seek(page - 1)
            notices.append(Notice("info", "page", f"Page {page} of {frames}."))
    except DocumentError:
        raise
    except DAMAGE as error:
        raise _damaged() from error
    return frames


def _check_size(file: Image.Image) -> None:
    width, height = file.size
    if min(width, height) < MIN_SIDE:
        raise DocumentError(
            f"The image is {width} x {height} pixels, too small to read: choose one of at least "
            f"{MIN_SIDE} pixels a side."
        )
    if max(width, height) > MAX_ASPECT * min(width, height):
        raise DocumentError(
            f"The image is {width} x {height} pixels, a strip too thin to read: crop it to the "
            "part you ask about."
        )
    limit = MAX_JPEG_PIXELS if _is_jpeg(file) else MAX_PIXELS
    if width * height > limit:
        raise DocumentError(
            f"The image is {width} x {height} pixels, more than {limit // 1_000_000} megapixels: "
            "save it at a smaller size and choose that."
        )


def _is_jpeg(file: Image.Image) -> bool:
    return file.format in ("JPEG", "MPO")


def _decode(file: Image.Image, notices: list[Notice]) -> None:
    """Decompress the pixels; a JPEG above the limit straight at half scale."""
    width, height = file.size
    try:
        if width * height > MAX_PIXELS:
            file.draft(file.mode, (width // 2, height // 2))
            text = (
                f"The photo has {width} x {height} pixels: "
                f"it was reduced to {file.width} x {file.height}."
            )
            notices.append(Notice("warning", "downscaled", text))
        file.load()
    except MemoryError as error:
        raise DocumentError(
            "The image does not fit into memory: save it at a smaller size and choose that."
        ) from error
    except DAMAGE as error:
        raise _damaged() from error


def _orientation(file: Image.Image) -> int:
    """The EXIF orientation, 1 to 8; 1 where the tag is absent, nonsense or unreadable."""
    try:
        value = file.getexif().get(EXIF_ORIENTATION, 1)
    except DAMAGE:
        return 1  # a broken tag says nothing about the pixels
    return value if value in UPRIGHT else 1


def _to_rgb(image: Image.Image, notices: list[Notice]) -> Image.Image:
    """Any mode to RGB, so that what a person would read stays readable."""
    if image.mode.startswith("I") or image.mode == "F":
        return _deep_grey_to_rgb(image)
    if image.has_transparency_data:
        return _on_paper(image.convert("RGBA"), notices)
    try:
        return image.convert("RGB")
    except ValueError as error:  # LAB has no direct conversion
        raise DocumentError(
            f"The image's colour mode {image.mode} cannot be read: save it as RGB first."
        ) from error


def _deep_grey_to_rgb(image: Image.Image) -> Image.Image:
    """16-bit, 32-bit and floating-point grey to 8 bits, by scaling where Pillow would clip."""
    grey = np.nan_to_num(np.asarray(image, dtype=np.float32))
    low, high = float(grey.min()), float(grey.max())
    if image.mode.startswith("I;16") or (low >= 0 and 255 < high <= 65535):
        low, high = 0.0, 65535.0
    elif image.mode == "F" and low >= 0 and high <= 1:
        low, high = 0.0, 1.0
    elif low >= 0 and high <= 255:
        low, high = 0.0, 255.0
    scaled = (grey - low) * (255.0 / (high - low)) + 0.5
    return Image.fromarray(scaled.clip(0, 255).astype(np.uint8)).convert("RGB")


def _on_paper(image: Image.Image, notices: list[Notice]) -> Image.Image:
    """A transparent image on white; on black where nothing in it is dark enough for white."""
    visible = image.getchannel("A").point(lambda alpha: 255 * (alpha > 127))
    shades = image.convert("RGB").convert("L").histogram(visible)
    seen, dark = sum(shades), sum(shades[:160])
    light_only = 0 < seen < image.width * image.height and dark < seen / 200
    if light_only:
        text = "The image is light on a transparent ground: it is shown on black."
        notices.append(Notice("info", "transparent", text))
    paper = Image.new("RGBA", image.size, "black" if light_only else "white")
    return Image.alpha_composite(paper, image).convert("RGB")


def _glyphs_beside(path: Path, size: tuple[int, int]) -> list[dict[str, Any]] | None:
    """Glyph boxes from the JSON beside a generated page; None for any other picture."""
    try:
        record = json.loads(path.with_suffix(".json").read_text(encoding="utf-8"))
        if tuple(record["size"]) != size:
            return None
        return [{"char": glyph["c"], "box": glyph["box"]} for glyph in record["glyphs"]]
    except (OSError, ValueError, KeyError, TypeError):
        return None
