"""Sentences with values in them, for letters and notices."""

from collections.abc import Callable, Sequence

from glance.documents.fields import nouns_of
from glance.documents.kinds.parts import lines_left
from glance.documents.sheet import Ask, Cell, Sheet, TooFullError
from glance.documents.values import Value, Values


def _number(low: int, high: int) -> Callable[[Values], Value]:
    return lambda v: Value(str(v.rng.randint(low, high)))


_Part = str | tuple[str, Callable[[Values], Value]]  # words, or a type and its value
_SENTENCES: tuple[tuple[_Part, ...], ...] = (
    ("The sum of", ("due", lambda v: v.amount(90)), "is still open."),
    ("You still owe us", ("due", lambda v: v.amount(90)), "for the last order."),
    ("Please pay before", ("due_date", Values.date), "at the latest."),
    ("Your order", ("order", Values.code), "left us today."),
    ("The parcel is at", ("depot", Values.street), "for a week."),
    ("Please call", ("phone", Values.phone), "with any questions."),
    ("You can reach us from", ("hours", Values.hours), "on most days."),
    ("Please turn to", ("contact", Values.person), "from now on."),
    ("Our new colleague", ("contact", Values.person), "will help you."),
    ("Write to", ("email", Values.email), "if it is wrong."),
    ("All of it is on", ("website", Values.website), "as well."),
    ("We meet at", ("time", Values.time), "in room", ("room", _number(1, 499)), "as planned."),
    ("We expect", ("guests", _number(2, 90)), "people this time."),
    ("Prices rise by", ("share", Values.percent), "next month."),
    ("We have sent", ("goods", Values.item), "as you asked."),
    ("Your card", ("card", lambda v: v.code(6, 9)), "is ready."),
    ("The fee is", ("fee", lambda v: v.amount(80)), "a person."),
    ("Your seat is", ("seat", _number(1, 80)), "in the first row."),
    ("Bring a bag of size", ("size", _number(2, 60)), "with you."),
    ("The load weighs", ("weight", lambda v: v.quantity(99, "kg")), "in all."),
    ("You must be over", ("age", _number(12, 80)), "to take part."),
    ("Doors open at", ("time", Values.time), "and not before."),
    ("It is valid until", ("valid", Values.date), "and not after that."),
    ("We hear that", ("fact", lambda v: v.sentence(5, 8)), "every day."),
    ("Remember that", ("fact", lambda v: v.sentence(5, 9)), "this week."),
    ("It is true that", ("fact", lambda v: v.sentence(5, 9)), "now and then."),
)
_FACT = "what the writer has heard|what is said to happen"


def prose(s: Sheet, keep: int = 0, most: int = 4, skip: str = "", gap: float = 0.3) -> None:
    """Sentences as the room allows, leaving `keep` lines; all that they tell is asked for.

    Sentences about types named in `skip` are left out. Raises TooFullError when not even one fits.
    """
    left, used = lines_left(s) - keep, set(skip.split())
    want = 1 + round(s.room * (most - 1))
    chosen: list[Sequence[tuple[str, str | Value]]] = []  # key and text of every part
    for parts in s.rng.sample(_SENTENCES, len(_SENTENCES)):
        types = {p[0] for p in parts if not isinstance(p, str)}
        if used & types or len(chosen) == want:
            continue
        made = [
            (f"words {len(chosen)} {i}", p) if isinstance(p, str) else (p[0], p[1](s.v))
            for i, p in enumerate(parts)
        ]
        text = " ".join(t if isinstance(t, str) else t.text for _, t in made)
        lines = int(1.15 * s.measure(text) / (s.right - s.left) + 0.9)  # lines break early
        if lines <= left:
            left -= lines
            used |= types
            chosen.append(made)
    if not chosen:
        raise TooFullError("prose")
    said = [[Cell(t, key=k) if isinstance(t, str) else s.cell(t, k) for k, t in m] for m in chosen]
    if s.rng.random() < 0.6:
        s.flow(*(c for cells in said for c in cells), align="wrap", gap=gap)
    else:
        for i, cells in enumerate(said):
            s.flow(*cells, align="wrap", gap=0.0 if i else gap)
    _ask(s, said)


def _ask(s: Sheet, said: list[list[Cell]]) -> None:
    """Ask for the values, for sentences by what they tell, and for the whole text."""
    for cells in said:
        keys = tuple(c.key for c in cells)
        whole = ("the sentence it stands in", "the whole sentence with it")
        types = [k for k in keys if not k.startswith("words")]
        for key in types:
            then = Ask(s.task, "statement", whole, (keys,)) if s.rng.random() < 0.4 else None
            s.ask(key, key, nouns=_FACT if key == "fact" else "", then=then)
        if len(said) > 1 and s.rng.random() < 0.4:
            continue  # enough is asked on a page of many sentences
        names = _FACT.split("|") if types == ["fact"] else nouns_of(types[0])
        s.ask("statement", keys, nouns="|".join(f"the sentence that tells {n}" for n in names))
    if len(said) > 1:
        s.ask("body", tuple(c.key for cells in said for c in cells))
