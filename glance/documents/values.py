"""Seeded random values for synthetic pages: names, addresses, amounts, dates, codes, items.

Every value of five or more characters belongs to exactly one split, decided by a hash of the
string itself, so the splits share no value whatever the seeds are. Values are flagged as
`composed` when no word list could predict them (codes, amounts, dates, composed names).
"""

import hashlib
import random
from collections.abc import Callable
from dataclasses import dataclass

SPLITS = ("train", "validation", "test")

_CODE = "ABCDEFGHJKLMNPQRSTUVWXYZ0123456789"
_ONSET = ("b br c ch cl d dr f fl g gr h j k l m n p pr qu r s sh st t tr v w y z").split()
_VOWEL = "a e i o u ai ea ee ie oa ou".split()
_CODA = ("b ck d ft g l ll m n nd ng nt p r rd rk s sk ss st t th x").split()
_STREET = "Street Road Lane Avenue Way Close Court Hill Row Drive".split()
_FIRM = "Ltd Stores Market Foods Trading Supply Works Print Tools Garden Dental Motors".split()
_ADJ = (
    "Red Blue Green White Dark Small Large Soft Dry Fresh Sweet Salted Plain Smoked Fine Thin "
    "Thick Warm Cold Mini Grand Spiced Wild Round Flat Brown Raw Crisp Rich Light"
).split()
_NOUN = (
    "apple bread butter cable candle carrot cereal cheese coffee cup envelope filter flour "
    "glue hammer honey jam juice lamp lemon marker milk mug nails napkin notebook oil olive "
    "onion paint paper pasta pen pepper plate potato rice rope salt screw soap soup spoon "
    "stapler sugar tape tea tomato towel vinegar water wire yogurt"
).split()
_MONTHS = "Jan Feb Mar Apr May Jun Jul Aug Sep Oct Nov Dec".split()


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

    def _draw(self, make: Callable[[], str], composed: bool = True) -> Value:
        while True:
            text = make()
            if len(text) < 5 or split_of(text) == self.split:
                return Value(text, composed)

    # --- parts, not values of their own
    def _syllables(self, low: int, high: int) -> str:
        r = self.rng
        return "".join(
            r.choice(_ONSET) + r.choice(_VOWEL) + (r.choice(_CODA) if r.random() < 0.55 else "")
            for _ in range(r.randint(low, high))
        ).capitalize()

    # --- values
    def first_name(self) -> Value:
        return self._draw(lambda: self._syllables(1, 2))

    def person(self) -> Value:
        def make() -> str:
            middle = f"{self.rng.choice(_CODE[:24])}. " if self.rng.random() < 0.25 else ""
            return f"{self._syllables(1, 2)} {middle}{self._syllables(1, 3)}"

        return self._draw(make)

    def company(self) -> Value:
        return self._draw(lambda: f"{self._syllables(2, 3)} {self.rng.choice(_FIRM)}")

    def street(self) -> Value:
        return self._draw(
            lambda: f"{self.rng.randint(1, 299)} {self._syllables(1, 3)} {self.rng.choice(_STREET)}"
        )

    def city(self) -> Value:
        def make() -> str:
            code = "".join(self.rng.choice("0123456789") for _ in range(self.rng.choice((4, 5))))
            return f"{self._syllables(2, 3)} {code}"

        return self._draw(make)

    def phone(self) -> Value:
        r = self.rng
        return self._draw(
            lambda: f"0{r.randint(10, 99)} {r.randint(100, 999)} {r.randint(1000, 9999)}"
        )

    def email(self) -> Value:
        tail = ("com", "org", "net")
        return self._draw(
            lambda: (
                f"{self._syllables(1, 2)}.{self._syllables(1, 2)}"
                f"@{self._syllables(1, 2)}.{self.rng.choice(tail)}"
            ).lower()
        )

    def code(self, low: int = 5, high: int = 10) -> Value:
        def make() -> str:
            r = self.rng
            body = "".join(r.choice(_CODE) for _ in range(r.randint(low, high)))
            if len(body) > 6 and r.random() < 0.5:
                cut = r.randint(2, len(body) - 3)
                body = f"{body[:cut]}-{body[cut:]}"
            return body

        return self._draw(make)

    def account(self) -> Value:
        def make() -> str:
            r = self.rng
            head = r.choice(("DE", "GB", "FR", "NL", "AT", "ES")) + f"{r.randint(10, 99)}"
            return " ".join([head] + [f"{r.randint(0, 9999):04d}" for _ in range(r.randint(2, 4))])

        return self._draw(make)

    def amount(self, high: int = 400) -> Value:
        return self._draw(lambda: f"{self.rng.randint(0, high)}.{self.rng.randint(0, 99):02d}")

    def date(self) -> Value:
        def make() -> str:
            r = self.rng
            d, m, y = r.randint(1, 28), r.randint(1, 12), r.randint(1985, 2032)
            return r.choice(
                (
                    f"{d:02d}/{m:02d}/{y}",
                    f"{y}-{m:02d}-{d:02d}",
                    f"{d} {_MONTHS[m - 1]} {y}",
                    f"{d:02d}.{m:02d}.{y}",
                )
            )

        return self._draw(make)

    def time(self) -> Value:
        return self._draw(lambda: f"{self.rng.randint(6, 22):02d}:{self.rng.randint(0, 59):02d}")

    def item(self) -> Value:
        if self.rng.random() < 0.3:
            return self._draw(
                lambda: f"{self._syllables(2, 2)} {self.rng.choice(_NOUN)}", composed=True
            )
        return self._draw(
            lambda: f"{self.rng.choice(_ADJ)} {self.rng.choice(_NOUN)}", composed=False
        )

    def words(self, low: int, high: int) -> Value:
        """A few lower-case words, for prose and subjects."""
        return self._draw(
            lambda: " ".join(
                self.rng.choice(_NOUN) for _ in range(self.rng.randint(low, high))
            ).capitalize(),
            composed=False,
        )
