"""From any file a person may hand over to upright RGB pages, or one sentence saying why not.

Page and command line both come through here, so they see the same pixels. What a model does with
a page, and at which size, is not this package's concern.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from glance.documents.intake.crop import crop_document
from glance.documents.intake.document import Crop, Document, DocumentError, Notice
from glance.documents.intake.pdf import is_pdf, read_pdf
from glance.documents.intake.picture import read_picture
from glance.documents.intake.question import MAX_QUESTION, check_question

__all__ = [
    "MAX_QUESTION",
    "Crop",
    "Document",
    "DocumentError",
    "Notice",
    "check_question",
    "load_document",
    "load_pages",
]

MAX_BYTES = 100_000_000  # one file


def load_document(
    source: str | Path | bytes, page: int = 1, name: str | None = None, crop: Crop | None = None
) -> Document:
    """Read one page of an image file or a PDF.

    Args:
        source: a path, or the bytes of a file.
        page: which page of a PDF or a multi-page TIFF, counted from 1.
        name: what to call the document; the file's name by default.
        crop: the part of the upright page to keep, in 0..1 from its upper left corner.

    Raises:
        DocumentError: the file cannot be used; its text is meant for the person who chose it.
    """
    data = source if isinstance(source, bytes) else _read(Path(source))
    name = name or ("document" if isinstance(source, bytes) else Path(source).name)
    if not data:
        raise DocumentError("The file is empty (0 bytes): choose it again, or another one.")
    if len(data) > MAX_BYTES:
        raise DocumentError(
            f"The file is larger than {MAX_BYTES // 1_000_000} MB: save a smaller copy of it."
        )
    document = (read_pdf if is_pdf(data) else read_picture)(data, page, name)
    if not isinstance(source, bytes):
        glyphs = _glyphs_beside(Path(source), document.image.size)
        document = replace(document, glyphs=glyphs)
    return crop_document(document, crop) if crop else document


def load_pages(
    source: str | Path | bytes,
    pages: Sequence[int],
    name: str | None = None,
    crop: Crop | None = None,
) -> tuple[Document, ...]:
    """Read the pages of one question, one or two, each once; a crop is of a single page.

    Raises:
        DocumentError: as `load_document`, or more is asked for than a question can have.
    """
    wanted = tuple(dict.fromkeys(pages))
    if not 1 <= len(wanted) <= 2:
        raise DocumentError("A question is about one page or two: choose no more and no fewer.")
    if crop and len(wanted) > 1:
        raise DocumentError("A crop is a part of one page: choose one page, or leave out the crop.")
    return tuple(load_document(source, page, name, crop) for page in wanted)


def _read(path: Path) -> bytes:
    try:
        with path.open("rb") as file:
            return file.read(MAX_BYTES + 1)  # one more than allowed is enough to refuse it
    except IsADirectoryError as error:
        raise DocumentError(f"{path} is a folder: choose one file in it.") from error
    except FileNotFoundError as error:
        raise DocumentError(f"There is no file {path}: check the path.") from error
    except (OSError, ValueError) as error:  # ValueError: a NUL byte in the path
        raise DocumentError(f"The file {path} cannot be read: check its permissions.") from error


def _glyphs_beside(path: Path, size: tuple[int, int]) -> list[dict[str, Any]] | None:
    """Glyph boxes from the JSON beside a generated page; None for any other picture."""
    try:
        record = json.loads(path.with_suffix(".json").read_text(encoding="utf-8"))
        if tuple(record["size"]) != size:
            return None
        return [{"char": glyph["c"], "box": glyph["box"]} for glyph in record["glyphs"]]
    except (OSError, ValueError, KeyError, TypeError):
        return None
