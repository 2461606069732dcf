"""What the server holds of a visit: a file, and the pages of it that a question is about."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path

from app.talk import Talk
from glance.documents.intake import Crop, Document, load_pages
from glance.documents.legibility import text_length
from glance.trace import Line


@dataclass(frozen=True, slots=True)
class Held:
    """One file and one or two of its pages, as chosen."""

    source: Path | bytes  # of an upload the bytes, which are nowhere else
    documents: tuple[Document, ...]
    characters: int = 0  # of the pages' text, about
    talk: Talk = field(default_factory=Talk)  # about these pages

    @classmethod
    def first_page(cls, source: Path | bytes, name: str) -> Held:
        """The file as it is shown at first.

        Raises:
            DocumentError: it cannot be used.
        """
        return cls._counted(source, load_pages(source, [1], name))

    def turned(self, pages: Sequence[int], crop: Crop | None) -> Held:
        """The same file with other pages, or another part of a page; raises alike."""
        name = self.documents[0].name
        return self._counted(self.source, load_pages(self.source, pages, name, crop))

    def forgotten(self) -> Held:
        """What is left of it when its tab is closed.

        A tab that only lost its connection goes on with that: an example is still there, of an
        upload nothing is, which `is_forgotten` tells.
        """
        return replace(self, talk=Talk()) if isinstance(self.source, Path) else Held(b"", ())

    def is_page_of(self, header: Line) -> bool:
        """Whether these are the pages, or the part of one, that a trace's header names."""
        named = [header[key] for key in ("image", "second_image") if header.get(key)]
        return [(each.sha256, each.page, each.crop) for each in self.documents] == [
            (image["sha256"], image.get("page", 1), _sides(image.get("crop"))) for image in named
        ]

    @property
    def is_forgotten(self) -> bool:
        """Whether there is nothing left to ask about."""
        return not self.documents

    @classmethod
    def _counted(cls, source: Path | bytes, documents: tuple[Document, ...]) -> Held:
        return cls(source, documents, sum(text_length(each.image) for each in documents))


def _sides(crop: list[float] | None) -> Crop | None:
    if crop is None:
        return None
    left, top, right, bottom = crop
    return left, top, right, bottom
