"""What may be asked."""

from __future__ import annotations

from glance.documents.intake.document import DocumentError

MAX_QUESTION = 2000  # characters


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
