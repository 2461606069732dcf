"""The words questions are asked in: twelve phrasings for every question type."""

import random

_FRAMES = (
    "What is {x}?",
    "What does the page give as {x}?",
    "Give me {x}.",
    "Read {x}.",
    "Tell me {x}.",
    "Find {x}.",
    "Copy {x}.",
    "Write out {x}.",
    "Please state {x}.",
    "Can you read {x}?",
    "I need {x}.",
    "{X}?",
)

_TRANSCRIBE = (
    "Read the text.",
    "Transcribe the page.",
    "What does the page say?",
    "Copy all the text.",
    "Read everything on the page.",
    "Write out the whole page.",
    "Give me the full text.",
    "What is written here?",
    "Type out this document.",
    "Please read the document.",
    "Transcribe everything.",
    "Read this to me.",
)


def phrasings(type_: str, noun: str) -> tuple[str, ...]:
    """The twelve ways to ask for `noun`, e.g. "the total"; `transcribe` has its own twelve."""
    if type_ == "transcribe":
        return _TRANSCRIBE
    return tuple(f.format(x=noun, X=noun[0].upper() + noun[1:]) for f in _FRAMES)


def ask_for(type_: str, noun: str, rng: random.Random) -> str:
    return rng.choice(phrasings(type_, noun))
