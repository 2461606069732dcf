"""Seeded random values for synthetic pages: names, addresses, amounts, dates, codes, items.

Every value of five or more characters belongs to exactly one split, decided by a hash of the
string itself, so the splits share no value whatever the seeds are. Values are flagged as
`composed` when no word list could predict them (codes, amounts, dates, composed names).
"""

import hashlib
import random
from collections.abc import Callable
from dataclasses import dataclass

from glance.documents import words

SPLITS = ("train", "validation", "test")

_CODE = "ABCDEFGHJKLMNPQRSTUVWXYZ0123456789"
_COUNTRY = "DE GB FR NL AT ES IT PL".split()
_ONSET = ("b br c ch cl d dr f fl g gr h j k l m n p pr qu r s sh st t tr v w y z").split()
_VOWEL = "a e i o u ai ea ee ie oa ou".split()
_CODA = ("b ck d ft g l ll m n nd ng nt p r rd rk s sk ss st t th x").split()


@dataclass(frozen=True, slots=True)
class Value:
    """A string to draw; `composed` tells that it is random rather than from a word list."""

    text: str
    composed: bool = True


def split_of(text: str) -> str:
    """The one split that may use `text` as a value (8 parts train, 1 validation, 1 test)."""
    byte = hashlib.blake2b(text.encode(), digest_size=2, person=b"glance-split").digest()
    return {0: "validation", 1: "test"}.get(int.from_bytes(byte, "big") % 10, "train")


class Values:
    """Draws values for one page from `rng`; `split` limits the strings it may return."""

    def __init__(self, rng: random.Random, split: str) -> None:
        if split not in SPLITS:
            raise ValueError(f"unknown split {split!r}; choose one of {', '.join(SPLITS)}")
        self.rng = rng
        self.split = split
        # One page writes its money in one way.
        self._money = rng.choice(("{}", "{}", "{}", "${}", "£{}", "€{}", "EUR {}", "{} €"))

    def _draw(self, make: Callable[[], str], composed: bool = True) -> Value:
        return self._either(lambda: (make(), composed))

    def _either(self, make: Callable[[], tuple[str, bool]]) -> Value:
        """The first text of the page's split; each one says whether it is composed."""
        while True:
            text, composed = make()
            if len(text) < 5 or split_of(text) == self.split:
                return Value(text, composed)

    # --- parts, not values of their own
    def _syllables(self, low: int, high: int) -> str:
        r = self.rng
        return "".join(
            r.choice(_ONSET) + r.choice(_VOWEL) + (r.choice(_CODA) if r.random() < 0.55 else "")
            for _ in range(r.randint(low, high))
        ).capitalize()

    def _name(self, share: float = 0.3) -> tuple[str, str, bool]:
        """First name, surname and whether they are made up; `share` of them are real names."""
        r = self.rng
        if r.random() < share:
            return r.choice(words.FIRST_NAMES), r.choice(words.SURNAMES), False
        return self._syllables(1, 2), self._syllables(1, 3), True

    def _distinct(self, count: int, make: Callable[[], Value]) -> list[Value]:
        found: dict[str, Value] = {}
        while len(found) < count:
            value = make()
            found.setdefault(value.text.lower(), value)
        return list(found.values())

    # --- people, companies, places
    def first_name(self) -> Value:
        def make() -> tuple[str, bool]:
            first, _, composed = self._name()
            return first, composed

        return self._either(make)

    def person(self) -> Value:
        def make() -> tuple[str, bool]:
            first, last, composed = self._name()
            middle = f"{self.rng.choice(_CODE[:24])}. " if self.rng.random() < 0.25 else ""
            return f"{first} {middle}{last}", composed or bool(middle)

        return self._either(make)

    def company(self) -> Value:
        def make() -> str:
            name = self._syllables(2, 3)
            if self.rng.random() < 0.2:
                return f"{name} & {self._syllables(1, 2)}"
            return f"{name} {self.rng.choice(words.FIRMS)}"

        return self._draw(make)

    def street(self) -> Value:
        def make() -> str:
            r = self.rng
            name = self._syllables(1, 3)
            if r.random() < 0.12:
                return f"{name}weg {r.randint(1, 299)}"
            return f"{r.randint(1, 299)} {name} {r.choice(words.STREETS)}"

        return self._draw(make)

    def road(self) -> Value:
        """A street's name, without a house number."""
        return self._draw(lambda: f"{self._syllables(1, 3)} {self.rng.choice(words.STREETS)}")

    def city(self) -> Value:
        def make() -> str:
            r = self.rng
            name = self._syllables(2, 3)
            code = "".join(r.choice("0123456789") for _ in range(r.choice((4, 5))))
            if r.random() < 0.2:
                code = f"{r.choice(_CODE[:24])}{r.choice(_CODE[:24])}{r.randint(1, 29)} {code[0]}"
                code += f"{r.choice(_CODE[:24])}{r.choice(_CODE[:24])}"
            return f"{code} {name}" if r.random() < 0.3 else f"{name} {code}"

        return self._draw(make)

    def phone(self) -> Value:
        def make() -> str:
            r = self.rng
            area, mid, tail = r.randint(10, 99), r.randint(100, 999), r.randint(1000, 9999)
            form = r.choice(("0{} {} {}", "0{} {} {}", "0{}-{}-{}", "(0{}) {} {}", "+{} {} {}"))
            return form.format(area, mid, tail)

        return self._draw(make)

    def email(self) -> Value:
        tail = ("com", "org", "net", "eu", "co.uk")

        def make() -> str:
            r = self.rng
            name = self._syllables(1, 2)
            if r.random() < 0.7:
                name += r.choice((".", ".", "_", "-")) + self._syllables(1, 2)
            return f"{name}@{self._syllables(1, 2)}.{r.choice(tail)}".lower()

        return self._draw(make)

    def website(self) -> Value:
        def make() -> str:
            r = self.rng
            head = r.choice(("www.", "www.", "", "https://"))
            end = r.choice(("com", "org", "net", "eu", "shop", "info"))
            path = f"/{self._syllables(1, 2)}" if r.random() < 0.25 else ""
            return f"{head}{self._syllables(2, 3)}.{end}{path}".lower()

        return self._draw(make)

    # --- codes and numbers
    def code(self, low: int = 5, high: int = 10) -> Value:
        def make() -> str:
            r = self.rng
            body = "".join(r.choice(_CODE) for _ in range(r.randint(low, high)))
            if len(body) > 6 and r.random() < 0.5:
                cut = r.randint(2, len(body) - 3)
                body = f"{body[:cut]}{r.choice('--/')}{body[cut:]}"
            return body

        return self._draw(make)

    def account(self) -> Value:
        def make() -> str:
            r = self.rng
            head = (
                r.choice(("DE", "GB", "FR", "NL", "AT", "ES", "IT", "PL")) + f"{r.randint(10, 99)}"
            )
            return " ".join([head] + [f"{r.randint(0, 9999):04d}" for _ in range(r.randint(2, 4))])

        return self._draw(make)

    def amount(self, high: int = 400) -> Value:
        """Money up to `high`, written as this page writes money; `number_in` reads it."""
        r = self.rng
        return self._draw(
            lambda: self._money.format(f"{r.randint(0, high):,}.{r.randint(0, 99):02d}")
        )

    def percent(self) -> Value:
        def make() -> str:
            r = self.rng
            return f"{r.randint(1, 99)}%" if r.random() < 0.5 else f"{r.randint(1, 999) / 10}%"

        return self._draw(make)

    def count(self) -> Value:
        """A whole number of one to six digits."""
        r = self.rng
        return self._draw(lambda: f"{r.randint(1, 10 ** r.choice((1, 2, 2, 3, 3, 4, 5, 6))):,}")

    def quantity(self, high: int, unit: str) -> Value:
        """A whole number from 1 to `high` with its unit."""
        return self._draw(lambda: f"{self.rng.randint(1, high)} {unit}")

    # --- dates and times
    def date(self) -> Value:
        def make() -> str:
            r = self.rng
            d, m, y = r.randint(1, 28), r.randint(1, 12), r.randint(1985, 2032)
            return r.choice(
                (
                    f"{d:02d}/{m:02d}/{y}",
                    f"{y}-{m:02d}-{d:02d}",
                    f"{d} {words.MONTHS[m - 1]} {y}",
                    f"{d:02d}.{m:02d}.{y}",
                    f"{words.MONTHS[m - 1]} {d}, {y}",
                    f"{d} {words.LONG_MONTHS[m - 1]} {y}",
                    f"{d:02d}-{words.MONTHS[m - 1]}-{y % 100:02d}",
                )
            )

        return self._draw(make)

    def time(self) -> Value:
        def make() -> str:
            r = self.rng
            hour, minute = r.randint(6, 22), r.randint(0, 59)
            if r.random() < 0.25:
                return f"{(hour - 1) % 12 + 1}:{minute:02d} {'pm' if hour > 11 else 'am'}"
            return f"{hour:02d}:{minute:02d}"

        return self._draw(make)

    def hours(self) -> Value:
        """A stretch of the day, such as opening hours."""

        def make() -> str:
            r = self.rng
            start, stop = r.randint(5, 11), r.randint(12, 23)
            m, n = r.choice(("00", "15", "30", "45")), r.choice(("00", "15", "30", "45"))
            return r.choice(
                (
                    f"{start:02d}:{m} - {stop:02d}:{n}",
                    f"{start:02d}:{m}-{stop:02d}:{n}",
                    f"{start}.{m} to {stop}.{n}",
                    f"{start}:{m} am - {stop - 12 or 12}:{n} pm",
                )
            )

        return self._draw(make)

    def month_labels(self, n: int) -> list[Value]:
        """`n` months in order, at most twelve."""
        start = self.rng.randrange(12)
        return [Value(words.MONTHS[(start + i) % 12], composed=False) for i in range(min(n, 12))]

    # --- things and words
    def item(self) -> Value:
        def make() -> tuple[str, bool]:
            r = self.rng
            if r.random() < 0.3:
                return f"{self._syllables(2, 2)} {r.choice(words.GOODS)}", True
            return f"{r.choice(words.ADJECTIVES)} {r.choice(words.GOODS)}".capitalize(), False

        return self._either(make)

    def words(self, low: int, high: int) -> Value:
        """A few words, the first with a capital, for prose and subjects."""
        return self._draw(
            lambda: " ".join(
                self.rng.choice(words.GOODS) for _ in range(self.rng.randint(low, high))
            ).capitalize(),
            composed=False,
        )

    def headline(self, low: int, high: int) -> Value:
        """A heading of `low` to `high` words, each with a capital."""

        def make() -> tuple[str, bool]:
            r = self.rng
            pools = (words.ADJECTIVES, words.GOODS, words.PLACES, words.TOPICS, words.TOPICS)
            said = [r.choice(r.choice(pools)) for _ in range(r.randint(low, high) - 1)]
            named = r.random() < 0.4
            said.insert(0, self._syllables(2, 3) if named else r.choice(words.ADJECTIVES))
            return " ".join(said).title(), named

        return self._either(make)

    def sentence(self, low: int, high: int) -> Value:
        """A plain statement of about `low` to `high` lower-case words, without a full stop."""

        def thing(pool: list[str], long: bool) -> list[str]:
            return [*([self.rng.choice(words.ADJECTIVES)] if long else []), self.rng.choice(pool)]

        def make() -> str:
            r = self.rng
            said = ["the", *thing(words.PEOPLE, r.random() < 0.4), r.choice(words.ACTIONS), "the"]
            said += thing(words.GOODS, r.random() < 0.6)
            while len(said) < low or r.random() < 0.5:
                where = [r.choice(words.WHERE), "the", *thing(words.PLACES, r.random() < 0.4)]
                if len(said) + len(where) > high:
                    break
                said += where
            return " ".join(said[-high:])

        return self._draw(make, composed=False)

    def labels(self, n: int) -> list[Value]:
        """`n` different short labels of one sort, for charts and tables."""
        r = self.rng
        sort = r.choice(("made", "made", "goods", "topics", "people", "code"))
        pools = {"goods": words.GOODS, "topics": words.TOPICS + words.PLACES, "people": None}

        def make() -> tuple[str, bool]:
            pool = pools.get(sort)
            if pool:
                return r.choice(pool).capitalize(), False
            if sort == "people":
                first, last, composed = self._name(0.5)
                return r.choice((first, last)), composed
            if sort == "code":
                return f"{r.choice(_CODE[:24])}{r.randint(1, 99)}", True
            return self._syllables(2, 2), True

        return self._distinct(n, lambda: self._either(make))


def number_in(text: str) -> float:
    """The number that an amount, a percentage, a count or a quantity stands for.

    Raises ValueError for a text without one.
    """
    return float("".join(c for c in text if c.isdigit() or c == "."))
