"""The words questions are asked in: fifteen phrasings of every question type.

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
    "What text is on this page?",
    "Write down all you can read.",
    "Please transcribe this document.",
)

_CAPTION = (
    "Describe the page.",
    "What kind of page is this?",
    "Give a caption.",
    "Caption this image.",
    "What is this document?",
    "Describe this document.",
    "What do you see?",
    "What does this page look like?",
    "Describe the image.",
    "Say what this is.",
    "Give a short description.",
    "How does the page look?",
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
