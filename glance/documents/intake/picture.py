"""Pages of image files, by Pillow.

The header is read before a single pixel, so a small file cannot ask for gigabytes.
"""

from __future__ import annotations

import hashlib
import io
import struct
import warnings
from collections.abc import Sequence
from contextlib import suppress

from PIL import Image, UnidentifiedImageError
from pillow_heif import HeifImageFile

from glance.documents.intake.colour import to_rgb
from glance.documents.intake.document import (
    MAX_PIXELS,
    Document,
    DocumentError,
    Notice,
    check_pages,
    check_shape,
    page_notice,
)
from glance.documents.intake.gif import DAMAGED, first_frame, is_gif

MAX_JPEG_PIXELS = 4 * MAX_PIXELS  # a JPEG can be decoded at half scale without the full pixels

# Only raster formats: Pillow also opens files that it hands to other programs (EPS). GIF is not
# among them: see `glance.documents.intake.gif`.
FORMATS = ("PNG", "JPEG", "TIFF", "WEBP", "AVIF", "BMP", "PPM")
READABLE = "PDF, PNG, JPEG, HEIC, WebP, AVIF, TIFF, GIF or BMP"
HEIC_BRANDS = (b"heic", b"heix", b"hevc", b"heim", b"heis", b"mif1", b"msf1")
# A phone's photo, with previews or other shots inside: no animation.
PHOTOS = {"MPO": "JPEG", "HEIF": "HEIC"}

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


def read_picture(data: bytes, page: int, name: str) -> Document:
    """One page of an image file.

    Args:
        data: the bytes of the file.
        page: which page of a multi-page TIFF, counted from 1.
        name: what to call the document.

    Raises:
        DocumentError: the file cannot be used.
    """
    notices: list[Notice] = []
    if is_gif(data):
        gif, stored = first_frame(data)
        _check_size(gif["size"], "GIF")
        _tell_animation(gif["frames"], notices)
    else:
        gif, stored = None, data
    with warnings.catch_warnings():
        # Sizes are checked here, against tighter limits than the one Pillow warns about.
        warnings.simplefilter("ignore", Image.DecompressionBombWarning)
        with _open(stored) as file:
            pages = _turn_to_page(file, page, notices)
            original_size, kind, mode = file.size, file.format or "", file.mode
            _check_size(file.size, kind)
            orientation = _orientation(file)
            _decode(file, notices)
            turn = _orientation(file)  # of a TIFF, Pillow has undone it while decoding
            image, remarks = to_rgb(file)
    if gif:
        kind, mode = "GIF", gif["mode"]
    if turn in UPRIGHT:
        image = image.transpose(UPRIGHT[turn])
    image.info.clear()  # a photo's place and time have no business further in
    return Document(
        image=image,
        notices=(*notices, *remarks),
        page=page if pages > 1 else 1,
        pages=pages,
        original_size=original_size,
        sha256=hashlib.sha256(data).hexdigest(),
        name=name,
        orientation=orientation,
        kind=PHOTOS.get(kind, kind),
        mode=mode,
    )


def _open(data: bytes) -> Image.Image:
    """The file with its header read and its pixels still compressed."""
    try:
        if data[4:8] == b"ftyp" and data[8:12] in HEIC_BRANDS and b"avif" not in data[8:64]:
            return HeifImageFile(io.BytesIO(data))
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
    return DocumentError(DAMAGED)


def _turn_to_page(file: Image.Image, page: int, notices: list[Notice]) -> int:
    """Seek the page of a TIFF; of anything that moves only the first frame is a page.

    Returns:
        The number of pages.
    """
    try:
        frames = _frames(file)
        if file.format != "TIFF":
            if file.format not in PHOTOS:
                _tell_animation(frames, notices)
            frames = 1
        notice = page_notice(page, frames)
        if frames > 1:
            file.seek(page - 1)
            notices.append(notice)
    except DocumentError:
        raise
    except DAMAGE as error:
        raise _damaged() from error
    return frames


def _frames(file: Image.Image) -> int:
    """The number of frames. Those of a TIFF are a chain, followed no further than is allowed."""
    if file.format != "TIFF":
        return getattr(file, "n_frames", 1)
    frames = 1
    with suppress(EOFError):
        while True:
            file.seek(frames)
            frames += 1
            check_pages(frames)
    file.seek(0)
    return frames


def _tell_animation(frames: int, notices: list[Notice]) -> None:
    if frames > 1:
        text = f"The image is animated: its first frame of {frames} is used."
        notices.append(Notice("info", "animation", text))


def _check_size(size: Sequence[int], kind: str) -> None:
    width, height = size
    check_shape((width, height))
    limit = MAX_JPEG_PIXELS if kind in ("JPEG", "MPO") else MAX_PIXELS
    if width * height > limit:
        raise DocumentError(
            f"The image is {width} x {height} pixels, more than {limit // 1_000_000} megapixels: "
            "save it at a smaller size and choose that."
        )


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
