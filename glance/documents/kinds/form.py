"""Filled-in forms: labels beside or above their entries, boxes, columns, options to tick."""

from collections.abc import Callable
from itertools import zip_longest

from glance.documents.kinds.entries import Entry, ask_entries, entries
from glance.documents.kinds.parts import distinct, heading, lines_left, row
from glance.documents.sheet import At, Cell, Sheet, TooFullError

TASK = "docvqa"
SIZES = ((364, 280), (392, 308), (308, 308), (336, 392), (448, 364), (308, 504))

_TITLES = (
    "Registration|Application form|Patient record|Order form|Member details|Booking form|"
    "Personal data|Admission|Loan request|Visitor form|Staff record|Intake sheet|Claim form"
).split("|")
_SECTIONS = ("Applicant|Patient|Guest|Member", "Request|Details|For office use|Booking")
_HABITS = "Smoker|Insured|Allergy|Student|Retired|Member|Driver|Parking|Breakfast|Pets".split("|")


def _title(s: Sheet, gap: float = 0.3) -> None:
    if s.rng.random() < 0.3:
        return  # a part of a longer form
    title = Cell(s.rng.choice(_TITLES), key="title")
    heading(s, title, s.rng.choice(("left", "center")), s.rng.choice((1.0, 1.3, 1.6)))
    s.ask("title", "title")
    s.y += gap * s.size


def _declare(s: Sheet) -> None:
    """A statement in small print at the foot, where there is room for it."""
    said = s.v.sentence(6, 9)
    wide = 1.15 * s.measure(said.text) / (s.right - s.left)
    if wide + 1.5 > lines_left(s) or s.rng.random() > 0.4 + 0.4 * s.room:
        return
    opening = s.rng.choice(("I confirm that", "It is agreed that", "Note:", "I am aware that"))
    s.flow(opening, s.cell(said, "said"), align="wrap", gap=0.5)
    s.ask("statement", "said", nouns="what is stated at the end|the statement at the end")


def _count(s: Sheet, lines: int, most: int = 5) -> int:
    """How many lines of entries to draw where `lines` fit: two at least, more with room."""
    return max(2, min(lines, most, 2 + round(s.room * (lines - 1))))


def _split(s: Sheet) -> None:
    """Labels left, entries right, joined by dots or a rule."""
    _title(s)
    wide = (s.right - s.left) * 0.62
    dots = s.rng.random() < 0.5
    found = entries(s, _count(s, lines_left(s)), wide)
    for e in found:
        for label, value in zip_longest((e.label,), e.values, fillvalue=Cell("")):
            end = s.right - s.measure(value.text)
            start = s.left + (s.measure(label.text) if label.text else 0)
            pieces = [At(s.left, label)] if label.text else []
            base = s.y + s.size
            row(s, *pieces, At(s.right, value, "right"))
            if dots and label.text:
                for x in range(round(start + 4), round(end - 4), 5):
                    s.draw.point((x, base), fill=s.shade(0.7))
        if not dots:
            s.rule(s.y - 1)
    ask_entries(s, found)
    _declare(s)


def _beside(s: Sheet) -> None:
    """Labels in a narrow column, entries on lines to write on."""
    _title(s)
    edge = s.left + max(s.measure(t) for t in ("Date of birth:", "Home address:"))
    right_hand = s.rng.random() < 0.4
    found = entries(s, _count(s, lines_left(s)), s.right - edge - s.size, ":")
    for e in found:
        label = At(edge, e.label, "right") if right_hand else At(s.left, e.label)
        for i, value in enumerate(e.values):
            row(s, *([label] if i == 0 else []), At(edge + 0.6 * s.size, value))
            s.rule(s.y - 1, edge + 0.4 * s.size)
    ask_entries(s, found)
    _declare(s)


def _boxed(s: Sheet) -> None:
    """A grid of boxes with the label in the corner of each."""
    _title(s)
    across = 2 if s.right - s.left > 17 * s.size else 1
    tall = 2 * s.pitch() + 4
    rows = int((s.bottom - s.y) / tall)
    if rows < 1 or rows * across < 2:
        raise TooFullError("boxes")
    wide = (s.right - s.left) / across
    count = max(2, min(rows * across, 5, 2 + round(s.room * rows * across)))
    found = entries(s, count, wide - 10, skip="address")
    fill = s.shade(0.06) if s.rng.random() < 0.3 else None
    for i, e in enumerate(found):
        x, y = s.left + i % across * wide, s.y
        s.frame((x, y, x + wide, y + tall), fill)
        with s.column(x + 5, x + wide - 4):
            s.flow(e.label)
            s.flow(*e.values)
        if i % across < across - 1 and i < len(found) - 1:
            s.y = y
        else:
            s.y = y + tall
    ask_entries(s, found)
    _declare(s)


def _columns(s: Sheet) -> None:
    """Two columns, each with a heading and labels above their entries."""
    _title(s)
    middle = (s.left + s.right) / 2
    most = (lines_left(s) - 1) // 2
    if most < 1:
        raise TooFullError("columns")
    wide = middle - s.left - s.size
    found = entries(s, 2 * _count(s, most, 3) if most > 1 else 2, wide, skip="address")
    half = (len(found) + 1) // 2
    top, rest = s.y, [found[:half], found[half:]]
    for i, part in enumerate(rest):
        with s.column(*((s.left, middle - 4) if i == 0 else (middle + 6, s.right)), y=top):
            heading(s, s.rng.choice(_SECTIONS[i].split("|")), largest=1.0)
            for e in part:
                s.flow(e.label, ink=s.shade(0.75))
                s.flow(*e.values)
    if s.rng.random() < 0.6:
        s.draw.line((middle, top, middle, s.y), fill=s.shade(0.5))
    ask_entries(s, found)
    _declare(s)


def _tick(s: Sheet, x: float, y: float, ticked: bool) -> None:
    """A box to tick, one letter high."""
    d, wide = s.size * 0.75, max(1, s.size // 9)
    top = y + s.size * 0.3
    s.draw.rectangle((x, top, x + d, top + d), outline=s.ink, width=wide)
    if ticked:
        s.draw.line((x + 0.2 * d, top + 0.5 * d, x + 0.45 * d, top + 0.8 * d), s.ink, wide + 1)
        s.draw.line((x + 0.45 * d, top + 0.8 * d, x + 0.95 * d, top + 0.05 * d), s.ink, wide + 1)


def _options(s: Sheet) -> None:
    """A list of boxes of which one is ticked, after a few entries."""
    _title(s)
    left = lines_left(s)
    found = entries(s, max(2, min(4, round(s.room * (left - 4)))), (s.right - s.left) * 0.6, ":")
    for e in found:
        s.flow(e.label, e.values[0])
        for value in e.values[1:]:
            s.flow(value)
    s.flow(s.rng.choice(("Choose one", "Course", "Please tick", "Your group")) + ":", gap=0.3)
    indent = 1.3 * s.size
    count = max(2, min(5, lines_left(s), 2 + round(3 * s.room)))
    make = s.rng.choice((s.v.item, lambda: s.v.headline(1, 2), lambda: s.v.headline(2, 3)))
    made = distinct(s, make, count, s.right - s.left - indent)
    chosen = s.rng.randrange(count)
    for i, option in enumerate(made):
        _tick(s, s.left, s.y, i == chosen)
        row(s, At(s.left + indent, s.cell(option, f"option {i}")))
    ask_entries(s, found, whole=False)
    s.ask("ticked", f"option {chosen}")
    s.ask("options", *(f"option {i}" for i in range(count)))


def _answers(s: Sheet) -> None:
    """A list of questions with a yes and a no box each."""
    _title(s)
    names = [("yes", "no"), ("Yes", "No"), ("Y", "N")][s.rng.randrange(3)]
    found = entries(s, 2, (s.right - s.left) * 0.6, skip="address guests")
    for e in found:
        s.flow(e.label, *e.values, align=s.rng.choice(("left", "split")))
    s.y += 0.4 * s.size
    count = max(2, min(5, lines_left(s), 2 + round(s.room * 4)))
    columns = [s.right - 6.2 * s.size, s.right - 2.6 * s.size]
    for label in s.rng.sample(_HABITS, count):
        said = s.rng.randrange(2)
        for i, x in enumerate(columns):
            _tick(s, x, s.y, i == said)
        cells = [Cell(n, key=label if i == said else "") for i, n in enumerate(names)]
        boxes = [At(x + s.size, c) for x, c in zip(columns, cells, strict=True)]
        row(s, At(s.left, Cell(label, key=f"{label} label")), *boxes)
        of = f"the ticked box for {label.lower()}|the answer for {label.lower()}"
        if len(s.asks) < 5:
            s.ask("ticked", label, nouns=of)
    ask_entries(s, found)
    _declare(s)


def _ruled(s: Sheet) -> None:
    """A table of two columns, the label column shaded."""
    _title(s)
    edge = s.left + max(s.measure(t) for t in ("Date of birth", "Home address")) + 10
    tall = s.pitch() + 4
    lines = int((s.bottom - s.y) / tall)
    found = entries(s, _count(s, lines), s.right - edge - 10)
    for e in found:
        y = s.y
        low = y + s.pitch() * len(e.values) + 4
        s.frame((s.left, y, edge, low), s.shade(0.12))
        s.frame((edge, y, s.right, low))
        s.y += 2
        for i, value in enumerate(e.values):
            row(s, *([At(s.left + 4, e.label)] if i == 0 else []), At(edge + 5, value))
        s.y = low
    ask_entries(s, found)
    _declare(s)


def _card(s: Sheet) -> None:
    """A membership card: a picture, a name and a few numbers in a rounded frame."""
    r = s.rng
    s.left, s.right = s.left + 4, s.right - 4
    s.y = 12
    heading(s, Cell(r.choice(("MEMBER CARD", "VISITOR", "STAFF", "LIBRARY CARD")), key="title"))
    s.ask("title", "title")
    side = min(4.0 * s.size, (s.right - s.left) * 0.24)
    box = (s.left, s.y + 4, s.left + side, s.y + 4 + 1.25 * side)
    s.frame(box, s.shade(0.15))
    x, y = (box[0] + box[2]) / 2, box[1] + side * 0.5
    s.draw.ellipse((x - side / 5, y - side / 5, x + side / 5, y + side / 5), fill=s.shade(0.45))
    s.draw.pieslice((x - side / 2.8, y + side / 4, x + side / 2.8, box[3] + side / 3), 180, 360,
                    fill=s.shade(0.45))  # fmt: skip
    with s.column(s.left + side + 0.7 * s.size, s.right):
        found: list[Entry] = entries(s, _count(s, lines_left(s) - 1, 5), (s.right - s.left) * 0.6)
        for e in found:
            s.flow(e.label, e.values[0])
            for value in e.values[1:]:
                s.flow(value)
    s.lowest = min(s.height - 3.0, max(s.y, box[3]) + 6)
    s.draw.rounded_rectangle(
        (5, 5, s.width - 6, s.lowest), 12, outline=s.shade(0.6), width=s.rng.choice((1, 2))
    )
    ask_entries(s, found)


LAYOUTS: dict[str, Callable[[Sheet], None]] = {
    "split": _split,
    "beside": _beside,
    "boxed": _boxed,
    "columns": _columns,
    "options": _options,
    "answers": _answers,
    "ruled": _ruled,
    "card": _card,
}
HELD_OUT = {"validation": "ruled", "test": "card"}
