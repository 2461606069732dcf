"""The words questions are asked in: thousands for most types, three of each kept for the test.

People ask in their own words, and a small model that has heard a dozen requests takes another one
for something else. So requests are made of parts that combine freely: an opening, a verb, what is
wanted, an ending. A third of all draws are plain ones, which are what most people write.
"""

import random
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from itertools import product

PLAIN = 1 / 3  # share of plain ones among those that are not held out


@dataclass(frozen=True, slots=True)
class Ways:
    """To ask for one thing; "{x}" stands for its noun, "{X}" for that with a capital."""

    plain: tuple[str, ...]
    composed: tuple[str, ...]
    held_out: tuple[str, ...]  # asked in the test only


def _requests(
    openings: Iterable[str], verbs: Iterable[str], wanted: Iterable[str], endings: Iterable[str]
) -> Iterator[str]:
    """Every combination, as a sentence."""
    for opening, verb, what, ending in product(openings, verbs, wanted, endings):
        text = f"{opening} {verb} {what}{ending}".strip()
        mark = "?" if opening.split(" ")[0] in ("can", "could", "would", "will") else "."
        yield text[0].upper() + text[1:] + mark


def _ways(plain: Iterable[str], composed: Iterable[str], held_out: Iterable[str]) -> Ways:
    kept = tuple(held_out)
    told = tuple(dict.fromkeys(plain))
    elsewhere = {*told, *kept}
    others = dict.fromkeys(way for way in composed if way not in elsewhere)
    return Ways(told, tuple(others), kept)


_OPENINGS = (
    "", "please", "can you", "could you", "would you", "will you", "could you please",
    "can you please", "just", "now", "I want you to", "I need you to", "I would like you to",
    "try to", "go and", "you should", "now please",
)  # fmt: skip
_ENDINGS = ("", " please", " for me", " here", " from the page", " from this page", " now")

_FRAMES = _ways(
    (
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
    ),
    (
        *_requests(
            _OPENINGS,
            (
                "give me", "read", "read out", "tell me", "find", "find me", "copy", "copy out",
                "write out", "write down", "state", "show me", "get", "get me", "name", "quote",
                "say", "look for", "pick out", "note down", "type", "type out", "return",
                "extract", "list", "report", "print", "fetch",
            ),
            ("{x}",),
            _ENDINGS,
        ),
        *(
            f"{start} {{x}}{end}"
            for start, end in product(
                (
                    "What's", "And what is", "So what is", "What does it say for",
                    "What is given as", "What is printed as", "What is written as",
                    "What stands there as", "What do you read as", "What do you see as",
                    "What does the page say is", "What does the document give as",
                    "What does it give for", "What does the image show as", "What would be",
                    "Which is", "May I have", "May I know", "Do you see", "Do you know",
                    "How does the page state", "How does it give", "What can you read as",
                ),
                ("?", " here?", " on the page?", " on this page?", " please?"),
            )
        ),
        *(
            f"{start} {{x}}."
            for start in (
                "I want", "I want to know", "I would like", "I'd like to know", "I am looking for",
                "I'm looking for", "I must know", "We need", "Let me know", "Let me have",
                "I need to know", "I have to find", "My question is", "Your answer should be",
            )
        ),
        "{X}.",
        "{X}, please.",
        "{X} please",
        "{x}",
        "{x}?",
        "{X}: what is it?",
        "{X}: what does the page say?",
    ),
    ("Could you tell me {x}?", "Look up {x} for me.", "Which text is {x}?"),
)  # fmt: skip

_FOLLOW_UPS = _ways(
    (
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
    ),
    (
        *_requests(
            ("", "and", "and please", "now", "then", "also", "next", "can you", "could you",
             "please", "can you also", "and can you", "and then"),
            ("give me", "read", "tell me", "show me", "copy", "write out", "state", "get me",
             "name", "say", "add", "look for"),
            ("{x}",),
            ("", " too", " as well", " also", " please", " next", " for me"),
        ),
        *(
            f"{start} {{x}}{end}"
            for start, end in product(
                ("And", "And what of", "And what about", "And which is", "Then what is",
                 "What is", "What's", "And what's", "Now what is", "But what is", "What of",
                 "Do you also see", "And do you see", "May I also have", "What, then, is"),
                ("?", " here?", " on the page?", " please?", " then?"),
            )
        ),
        *(f"{start} {{x}}." for start in
          ("I also want", "I want to know", "I would like", "And I need", "I need", "Also")),
    ),
    ("Could I have {x} as well?", "How about {x}?", "And can you find {x}?"),
)  # fmt: skip

_ALL_TEXT = (
    "the text", "all the text", "all text", "the whole text", "the full text", "the page",
    "this page", "the whole page", "the entire page", "the document", "this document",
    "the whole document", "the image", "everything", "everything you see", "everything you read",
    "every word", "every line", "all words", "all the words", "the words", "all lines",
    "all the lines", "all of it", "all that is there", "all that you see", "what is written",
    "what is there", "what you see", "what you read", "what the page says", "what it says",
    "the contents", "the content of the page", "all that is printed", "it all",
    "the text of this page", "the text of the document", "this", "it",
)  # fmt: skip

_TRANSCRIBE = _ways(
    (
        "Read the page.",
        "Read the text.",
        "Read everything.",
        "Transcribe the page.",
        "Transcribe the text.",
        "Transcribe all the text.",
        "Copy the text.",
        "Copy the whole page.",
        "Write out the text.",
        "Write it all down.",
        "Type out the page.",
        "Give me all the text.",
        "What does the page say?",
        "What is written here?",
        "Read this to me.",
    ),
    (
        *_requests(
            _OPENINGS,
            (
                "read", "read out", "read me", "transcribe", "copy", "copy out", "write out",
                "write down", "type out", "type", "type up", "note down", "put down", "spell out",
                "repeat", "extract", "output", "print", "give me", "show me", "get", "return",
            ),
            _ALL_TEXT,
            ("", " here", " for me", " word for word", " line by line", " in full"),
        ),
        *(
            f"{start} {end}?"
            for start, end in product(
                ("What is written", "What is printed", "What is there to read", "What stands",
                 "What can be read", "What do you read", "What can you read", "What is to be read"),
                ("here", "on this page", "on the page", "in the image", "in this document",
                 "on this sheet", "in all", "there"),
            )
        ),
        *(
            f"What {verb} {page} say?"
            for verb, page in product(
                ("does", "does all of"),
                ("the page", "this page", "the document", "this document", "it", "this",
                 "the image", "the sheet", "this text"),
            )
        ),
        *(
            f"{which} {what} {seen}?"
            for which, what, seen in product(
                ("What", "Which"),
                ("words", "lines", "letters and numbers", "words and numbers"),
                ("do you see", "can you see", "can you read", "are there", "are written here",
                 "are on the page", "are printed here", "are in the image", "does the page have"),
            )
        ),
        *(
            f"{which} text {seen}?"
            for which, seen in product(
                ("What", "Which"),
                ("do you see", "can you see", "can you read", "is there", "is written here",
                 "is in the image", "is printed here", "does the page have", "is in this document"),
            )
        ),
        *(
            f"{what}{end}"
            for what, end in product(
                ("All text", "The whole text", "Full text", "The text", "Everything",
                 "A transcription", "A full transcription", "A copy of the text", "Every word"),
                (".", "?", ", please.", " of the page.", " of this document, please."),
            )
        ),
    ),
    (
        "What text is on this page?",
        "Write down all you can read.",
        "Please transcribe this document.",
    ),
)  # fmt: skip

_CAPTION = _ways(
    (
        "Describe the page.",
        "Describe this image.",
        "Caption this page.",
        "Give a caption.",
        "What is this document?",
        "What do you see?",
        "What kind of page is this?",
        "What does this page look like?",
        "Say what this is.",
        "Give a short description.",
        "How does the page look?",
        "What sort of page is this?",
    ),
    (
        *_requests(
            _OPENINGS,
            ("describe", "caption", "sum up", "give a caption for", "give a description of",
             "say in short what you see on", "say what is shown on", "characterise", "sketch",
             "write a caption for", "tell me about", "give me a short description of"),
            ("the page", "this page", "the image", "this image", "the document", "this document",
             "the picture", "this picture"),
            ("", " in short", " briefly", " for me", " in a sentence"),
        ),
        *(
            f"{start} {page}?"
            for start, page in product(
                ("What kind of document is", "What does one see on", "What is shown on",
                 "What is", "What sort of thing is"),
                ("this page", "this", "this image", "the page", "the image", "this document"),
            )
        ),
    ),
    (
        "Please describe what is shown.",
        "Sum up the look of this page.",
        "What sort of document is shown?",
    ),
)  # fmt: skip


def ways(type_: str, follow_up: bool = False) -> Ways:
    """To ask for a type of question; two types need no noun."""
    if type_ == "transcribe":
        return _TRANSCRIBE
    if type_ == "caption":
        return _CAPTION
    return _FOLLOW_UPS if follow_up else _FRAMES


def ask_for(
    type_: str, noun: str, rng: random.Random, held_out: bool = False, follow_up: bool = False
) -> str:
    """One phrasing for `noun`, e.g. "the total": a held-out one, or any other."""
    known = ways(type_, follow_up)
    others = known.plain if rng.random() < PLAIN else known.composed
    return rng.choice(known.held_out if held_out else others).format(
        x=noun, X=noun[:1].upper() + noun[1:]
    )
