"""Uploaded files: read where Gradio put them, and gone after that."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from gradio.utils import get_upload_folder


@contextmanager
def uploaded(file: dict[str, Any] | None) -> Iterator[str | None]:
    """The path of an uploaded file, which is gone from the server's disk at the end.

    Taken before Gradio's preprocessing, which would make an empty file beside it and leave it. By
    then Gradio has refused every path outside of its upload folder but those of files that it
    serves to everyone, such as the page's own scripts: these are no uploads, and must not go.
    """
    path = Path(file["path"]).resolve() if file else None
    if path is None or not path.is_relative_to(Path(get_upload_folder()).resolve()):
        yield None
        return
    try:
        yield str(path)
    finally:
        path.unlink(missing_ok=True)
