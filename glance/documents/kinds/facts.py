"""What infographics share: title band, source line, and blocks of a big number and a caption."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Literal

from glance.documents.canvas import Colour
from glance.documents.kinds.colours import grounds, ink_on
from glance.documents.kinds.parts import LARGEST, wrapped
from glance.documents.sheet import Align, Ask, At, Cell, Sheet, TooFullError
from glance.documents.values import Value


@dataclass(frozen=True, slots=True)
class Fact:
    """A number and what it stands for; fact i is keyed "n<i>" and "c<i>"."""

    number: Value
    caption: Value


@dataclass(frozen=True, slots=True)
class Block:
    """A fact set in a width: its caption's lines and its height in px."""

    fact: Fact
    scale: float  # of the number
    lines: tuple[str, ...]
    high: float


def head(s: Sheet) -> None:
    """The title, on a coloured band across the page or on the paper, with or without a rule."""
    title, r = s.v.headline(2, 4), s.rng
    width = s.right - s.left
    scale = min(r.choice((1.2, 1.6)), LARGEST / s.size)
    if s.measure(title.text, scale, bold=True) > width:
        scale = 1.0
    lines = len(wrapped(s, title.text, width, scale, bold=True))
    ink = s.ink
    if r.random() < 0.5:
        fill = grounds(s, 1)[0]
        ink = ink_on(fill)
        low = s.y + lines * s.pitch(scale) + 0.2 * s.size
        s.draw.rectangle((0, 0, s.width, low), fill=fill)
    aligns: tuple[Align, ...] = ("wrap",) if lines > 1 else ("left", "center")
    s.flow(s.cell(title, "title"), align=r.choice(aligns), scale=scale, bold=True, ink=ink)
    if r.random() < 0.4:
        s.ask("title", "title")
    s.y += 0.6 * s.size


def foot(s: Sheet) -> tuple[float, Callable[[Sheet], None]]:
    """Where the page's middle has to end, px, and what draws the source line under it."""
    if s.rng.random() > 0.2 + 0.6 * s.room:
        return s.bottom, lambda _: None

    def draw(s: Sheet) -> None:
        s.y = s.bottom - s.pitch()
        s.flow("Source:", s.cell(s.rng.choice((s.v.company, s.v.website))(), "source"))
        s.ask("source", "source")

    return s.bottom - s.pitch() - 0.3 * s.size, draw


def how_many(s: Sheet, low: int, high: int) -> int:
    """How many things to put on the page: more of them where there is room and text is small."""
    return low + round((high - low) * min(1.0, 18 * s.room / s.size))


def facts(s: Sheet, n: int) -> list[Fact]:
    """`n` facts whose numbers and captions all differ; captions are longer where text is small."""
    r = s.rng
    long = r.random() < (s.room + 0.5) * 14 / s.size
    captions: dict[str, Value] = {}
    while len(captions) < n:
        caption = s.v.sentence(6, 9) if long else r.choice((s.v.item, lambda: s.v.sentence(3, 5)))()
        captions[caption.text.lower()] = caption
    numbers: dict[str, Value] = {}
    while len(numbers) < n:
        number = r.choice((s.v.percent, s.v.count, s.v.count, s.v.amount))()
        numbers[number.text] = number
    return [Fact(a, b) for a, b in zip(numbers.values(), captions.values(), strict=True)]


def block(s: Sheet, fact: Fact, width: float, scale: float = 2.0, beside: float = 0.0) -> Block:
    """Set a fact in `width` px, its number above the caption, or `beside` it at that scale.

    Raises TooFullError when a word is wider than that.
    """
    scale = beside or min(scale, LARGEST / s.size)
    lines = wrapped(s, fact.caption.text, width)
    widest = max(s.measure(line) for line in lines)
    if widest > width or (not beside and s.measure(fact.number.text, scale, bold=True) > width):
        raise TooFullError("block")
    text = len(lines) * s.pitch()
    number = sum(s.font(scale, bold=True).getmetrics())
    return Block(fact, scale, tuple(lines), max(text, number) if beside else text + number)


def draw_block(
    s: Sheet,
    b: Block,
    i: int,
    x: float,
    y: float,
    anchor: Literal["left", "center"] = "left",
    ink: Colour | None = None,
    beside: float = 0.0,
) -> None:
    """Draw fact `i` with its top at `y`; the caption stands `beside` px to the right, or below."""
    number = sum(s.font(b.scale, bold=True).getmetrics())
    top = y + (b.high - number) / 2 if beside else y
    s.line(top, At(x, s.cell(b.fact.number, f"n{i}"), anchor), scale=b.scale, bold=True, ink=ink)
    y += (b.high - len(b.lines) * s.pitch()) / 2 if beside else number
    s.values.append(b.fact.caption.text)
    for text in b.lines:
        cell = Cell(text, b.fact.caption.composed, f"c{i}")
        s.line(y, At(x + beside, cell, anchor), ink=ink)
        y += s.pitch()


def fit(heights: list[float], gap: float, room: float, least: int = 2) -> tuple[int, float]:
    """How many of the heights fit into `room` px, at least `gap` apart, and the gap they then have.

    Raises TooFullError when fewer than `least` fit.
    """
    n = len(heights)
    while n and sum(heights[:n]) + gap * (n - 1) > room:
        n -= 1
    if n < least:
        raise TooFullError("facts")
    spare = room - sum(heights[:n])
    return n, min(spare / max(n - 1, 1), gap + 0.12 * room)


def ask_facts(s: Sheet, found: list[Fact]) -> None:
    """Questions about numbers and their captions."""
    r, n = s.rng, len(found)
    i, j = r.sample(range(n), 2)
    caption, number = found[i].caption.text, found[j].number.text
    s.ask("value_of", f"n{i}", nouns=f"the number for {caption}|the figure for {caption}")
    if r.random() < 0.7:
        s.ask(
            "caption_of", f"c{j}", nouns=f"the caption of {number}|the text that goes with {number}"
        )
    place, k = r.choice((("first", 0), ("last", n - 1)))
    if r.random() < 0.5:
        s.ask(
            "fact",
            (f"n{k}", f"c{k}"),
            nouns=f"the {place} fact|the {place} number with its caption",
        )
    else:
        after = Ask(
            s.task, "value_of", ("its number", "the number that goes with it"), ((f"n{k}",),)
        )
        s.ask("caption_of", f"c{k}", nouns=f"the {place} caption|the {place} text", then=after)
    s.ask(
        "all_values",
        *((f"n{m}", f"c{m}") for m in range(n)),
        nouns="all numbers with their captions|every fact",
    )
    if r.random() < 0.6:
        s.ask("column", *(f"n{m}" for m in range(n)), nouns="all numbers|every number")
