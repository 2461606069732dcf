"""Labelled entries, such as those of forms: what they are called, hold and are asked by."""

from collections.abc import Callable
from dataclasses import dataclass
from itertools import zip_longest

from glance.documents.fields import nouns_of
from glance.documents.kinds.parts import fitting
from glance.documents.sheet import Ask, Cell, Sheet, TooFullError
from glance.documents.values import Value, Values

LONG = 40  # characters from which an answer counts as long


@dataclass(frozen=True, slots=True)
class Entry:
    type: str  # an entry of the fields table
    label: Cell
    values: tuple[Cell, ...]  # one a line

    @property
    def keys(self) -> tuple[str, ...]:
        return tuple(c.key for c in self.values)

    @property
    def text(self) -> str:
        return " ".join(c.text for c in self.values)


def _small(low: int, high: int, form: str = "{}") -> Callable[[Values], Value]:
    return lambda v: Value(form.format(v.rng.randint(low, high)))


def _blood(v: Values) -> Value:
    return Value(v.rng.choice(("A", "B", "AB", "O")) + v.rng.choice("+-"), composed=False)


def _size(v: Values) -> Value:
    return Value(v.rng.choice(("XS", "S", "M", "L", "XL", "XXL", "38", "40", "42", "44")), False)


_SHORT: dict[str, tuple[str, Callable[[Values], Value]]] = {
    "age": ("Age|Age (years)", _small(2, 99)),
    "blood": ("Blood group|Blood type", _blood),
    "size": ("Size|Shirt size", _size),
    "weight": ("Weight|Weight (kg)", _small(31, 129)),
    "room": ("Room|Room no.", _small(1, 499)),
    "seat": ("Seat|Seat no.", lambda v: Value(f"{v.rng.randint(1, 40)}{v.rng.choice('ABCDEF')}")),
    "guests": ("Guests|Persons", _small(1, 12)),
    "fee": ("Fee|Amount", lambda v: v.amount(90)),
    "time": ("Time|Hour", Values.time),
    "share": ("Percent|Share", Values.percent),
    "reference": ("Ref|Reference|Ref. no.", lambda v: v.code(4, 8)),
}
_OTHER: dict[str, tuple[str, Callable[[Values], Value]]] = {
    "name": ("Name|Full name", Values.person),
    "birth": ("Born|Date of birth", Values.date),
    "phone": ("Phone|Tel.|Telephone", Values.phone),
    "email": ("Email|E-mail", Values.email),
    "website": ("Website|Web", Values.website),
    "account": ("Account|IBAN", Values.account),
    "employer": ("Employer|Company", Values.company),
    "order": ("Order|Order no.", Values.code),
    "valid": ("Expires|Valid until", Values.date),
    "date": ("Date|Dated", Values.date),
    "contact": ("Contact|Next of kin", Values.person),
    "goods": ("Goods|Article", Values.item),
    "address": ("Address|Home address", Values.street),
}


def entry(s: Sheet, type_: str, width: float, mark: str = "") -> Entry:
    """A new entry whose value fits into `width` px; an address takes two lines.

    `mark` ends the label, such as a colon. Raises TooFullError when nothing fits.
    """
    labels, make = (_SHORT | _OTHER)[type_]
    label = Cell(s.rng.choice(labels.split("|")) + mark, key=f"{type_} label")
    values = [fitting(s, lambda: make(s.v), width)]
    if type_ == "address":
        values.append(fitting(s, s.v.city, width))
    keys = (type_, "city")
    return Entry(type_, label, tuple(s.cell(v, k) for v, k in zip(values, keys, strict=False)))


def entries(s: Sheet, lines: int, width: float, mark: str = "", skip: str = "") -> list[Entry]:
    """Entries that take `lines` lines of values at most, short and longer ones in turn.

    Types named in `skip` are left out, for a page that shows them elsewhere. Raises TooFullError
    when there is no place for two.
    """
    short, other = (
        [t for t in s.rng.sample(sorted(pool), len(pool)) if t not in skip.split()]
        for pool in (_SHORT, _OTHER)
    )
    turn = s.rng.random() < 0.5
    found: list[Entry] = []
    while lines > 0 and (short if turn else other):
        type_ = (short if turn else other).pop()
        turn = not turn
        if type_ == "address" and lines < 2:
            continue
        try:
            found.append(entry(s, type_, width, mark))
        except TooFullError:
            continue  # another type may be narrower
        lines -= len(found[-1].values)
    if len(found) < 2:
        raise TooFullError("entries")
    return found


def ask_entries(s: Sheet, found: list[Entry], whole: bool = True) -> None:
    """Ask for every entry, for some of them together and, if `whole`, for all of them."""
    for e, below in zip_longest(found, found[1:]):
        after = None
        if below and s.rng.random() < 0.3:
            nouns = ("the entry after it", "the entry that comes next")
            after = Ask(s.task, "value_of", nouns, (below.keys,))
        s.ask(e.type, e.keys, then=after)
    _ask_longest(s, found)
    if len(found) > 3:
        _ask_range(s, found)
    if whole and len(found) < 6:
        s.ask("entries", *((e.label.key, *e.keys) for e in found))


def _ask_longest(s: Sheet, found: list[Entry]) -> None:
    """Ask for two entries at once, or three, so that the answer is long."""
    picked: list[Entry] = []
    for e in sorted(found, key=lambda e: -len(e.text)):
        picked.append(e)
        if len(picked) > 2 or (len(picked) > 1 and sum(len(p.text) + 2 for p in picked) > LONG):
            break
    picked.sort(key=found.index)
    names = [s.rng.choice(nouns_of(e.type)) for e in picked]
    nouns = f"{', '.join(names[:-1])} and {names[-1]}"
    s.ask("details", *(e.keys for e in picked), nouns=nouns)


def _ask_range(s: Sheet, found: list[Entry]) -> None:
    """Ask for the entries from one to another, of which the text is long if that can be."""
    start, stop = 0, len(found)
    while stop - start > 2 and sum(len(e.text) + 2 for e in found[start:stop]) > 2 * LONG:
        start, stop = (start + 1, stop) if s.rng.random() < 0.5 else (start, stop - 1)
    ends = f"{nouns_of(found[start].type)[0]} to {nouns_of(found[stop - 1].type)[0]}"
    nouns = f"all entries from {ends}|everything from {ends}"
    s.ask("details", *(e.keys for e in found[start:stop]), nouns=nouns)
