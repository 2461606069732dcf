"""What the generator mixes, and how much of each: the one place that fixes it."""

#: kinds and how often each is drawn
KINDS = {
    "receipt": 3,
    "invoice": 3,
    "form": 3,
    "table": 3,
    "chart": 3,
    "infographic": 3,
    "letter": 3,
    "sign": 2,
}
SIZES = (10, 24)  # body text, px, uniform
DEGRADATIONS = {0: 0.4, 1: 0.4, 2: 0.14, 3: 0.06}  # how many a page has
ASKS = 4  # most extraction questions a page
SHORT, LONG = 8, 40  # tokens: an answer of at most, of at least so many
#: how answers are drawn where a page has all three; over all pages a third each is short and long
LENGTHS = {"short": 0.42, "middle": 0.18, "long": 0.4}
UNANSWERABLE = 0.3  # chance a page has a question it does not answer: 5% of all questions
FOLLOW_UP = 0.5  # chance of a follow-up question
CAPTION = 0.5  # chance of a caption
HELD_OUT_PHRASING = 0.5  # chance in the test split

EXTRACTION = ("docvqa", "infovqa", "chartqa", "textvqa")
TASKS = ("transcribe", *EXTRACTION, "caption")


def length_class(answer: str) -> str:
    """ "short", "middle" or "long"; the embedded tokenizer has one token a character."""
    if len(answer) <= SHORT:
        return "short"
    return "long" if len(answer) >= LONG else "middle"
