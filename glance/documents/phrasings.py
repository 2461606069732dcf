"""The words questions are asked in: fifteen phrasings of every question type, or more.

The last HELD_OUT of each list are never used in training or validation, only in test.
"""

import random

HELD_OUT = 3

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
    "Could you tell me {x}?",
    "Look up {x} for me.",
    "Which text is {x}?",
)

_FOLLOW_UPS = (
    "And {x}?",
    "What about {x}?",
    "And what is {x}?",
    "Now {x}.",
    "Then {x}?",
    "Also {x}, please.",
    "Next, {x}.",
    "What is {x}?",
    "Give me {x} too.",
    "Tell me {x} as well.",
    "And please read {x}.",
    "I also need {x}.",
    "Could I have {x} as well?",
    "How about {x}?",
    "And can you find {x}?",
)

_ALL_TEXT = (
    "the text",
    "all the text",
    "the whole text",
    "the page",
    "the whole page",
    "the document",
    "this document",
    "everything",
    "every word",
    "every line",
    "the words",
    "all words here",
)

# Nobody asks for all of a page in the words of a form, so training must hear many ways to.
_TRANSCRIBE = (
    *(
        f"{verb} {text}."
        for verb in (
            "Read",
            "Transcribe",
            "Copy",
            "Write out",
            "Type out",
            "Please read",
            "Give me",
        )
        for text in _ALL_TEXT
    ),
    "What does the page say?",
    "What is written here?",
    "What is on the page?",
    "What words do you see?",
    "Which words are on the page?",
    "Read this to me.",
    "Please copy all you see.",
    "Write it all down.",
    "Type out all that is written.",
    "What text is on this page?",
    "Write down all you can read.",
    "Please transcribe this document.",
)

_CAPTION = (
    *(
        f"{verb} {page}."
        for verb in ("Describe", "Caption", "Give a caption for", "Say in short what you see on")
        for page in ("the page", "this page", "the image", "this image", "this document")
    ),
    "What kind of page is this?",
    "Give a caption.",
    "What is this document?",
    "What do you see?",
    "What does this page look like?",
    "Say what this is.",
    "Give a short description.",
    "How does the page look?",
    "What sort of page is this?",
    "Please describe what is shown.",
    "Sum up the look of this page.",
    "What sort of document is shown?",
)


def phrasings(type_: str, noun: str = "", follow_up: bool = False) -> tuple[str, ...]:
    """The fifteen ways to ask for `noun`, e.g. "the total"; two types need no noun."""
    if type_ == "transcribe":
        return _TRANSCRIBE
    if type_ == "caption":
        return _CAPTION
    frames = _FOLLOW_UPS if follow_up else _FRAMES
    return tuple(f.format(x=noun, X=noun[0].upper() + noun[1:]) for f in frames)


def ask_for(
    type_: str, noun: str, rng: random.Random, held_out: bool = False, follow_up: bool = False
) -> str:
    """One phrasing, from the held-out ones or from all others."""
    ways = phrasings(type_, noun, follow_up)
    return rng.choice(ways[-HELD_OUT:] if held_out else ways[:-HELD_OUT])
