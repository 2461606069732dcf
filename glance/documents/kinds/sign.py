"""Signs and posters: few words in large type on a plate, before a busy background."""

from collections.abc import Callable

from glance.documents.kinds.boards import arrows, floors, prices, stop
from glance.documents.kinds.mounting import EDGE, hang, lines_under, row_of, value_of
from glance.documents.kinds.parts import fitting
from glance.documents.sheet import Ask, Cell, Sheet
from glance.documents.values import Value

TASK = "textvqa"
SIZES = ((392, 280), (364, 364), (308, 392), (448, 336), (280, 364))


def _shop(s: Sheet) -> None:
    """A shop's front: name, what it offers, year, telephone or website."""
    name = value_of(s, s.v.company, "merchant")
    rows = [row_of(s, name, largest=s.rng.choice((1.5, 2.0)))]
    words = s.rng.choice(("since", "est.", "Open since"))
    year = s.cell(Value(str(s.rng.randint(1850, 2020))), "year")
    goods = value_of(s, s.v.item, "goods")
    rows += [row_of(s, goods), row_of(s, Cell(words), year)]
    reach = s.rng.choice(("phone", "website"))
    if lines_under(s, 2) > 4 and s.rng.random() < 0.7:
        rows.append(row_of(s, value_of(s, s.v.phone if reach == "phone" else s.v.website, reach)))
        s.ask(reach, reach)
        s.ask("details", "merchant", reach, nouns="the name of the shop and how to reach it")
    hang(s, rows)
    since = ("the year it opened", "the year since when it has been there")
    then = Ask(s.task, "fact", since, (("year",),))
    s.ask("merchant", "merchant", then=then)
    s.ask("goods", "goods", nouns="the goods offered|what the shop sells")
    s.ask("fact", "year", nouns="the year on the sign|the year the shop opened")


def _street(s: Sheet) -> None:
    """A street's name, house numbers and district."""
    numbers = Value(f"{s.rng.randint(1, 9)}-{s.rng.randint(10, 49)}")
    rows = [row_of(s, value_of(s, s.v.road, "street"), largest=s.rng.choice((1.4, 1.8)))]
    rows.append(row_of(s, s.cell(numbers, "numbers")))
    if s.rng.random() < 0.7:
        rows.append(row_of(s, value_of(s, s.v.city, "city")))
        s.ask("details", "street", "city", nouns="the street and the district")
        s.ask("fact", "city", nouns="the district|the district of the street")
    s.rng.shuffle(rows)
    hang(s, rows, corner=s.rng.choice((0, 6, 10)))
    houses = ("the house numbers in it", "its house numbers")
    s.ask("street", "street", then=Ask(s.task, "fact", houses, (("numbers",),)))
    s.ask("fact", "numbers", nouns="the house numbers|the range of house numbers")


def _hours(s: Sheet) -> None:
    """Opening hours by day."""
    days = s.rng.choice(
        (["Mon-Fri", "Sat", "Sun"], ["Mon-Thu", "Friday", "Sat", "Sun"], ["Weekdays", "Weekends"])
    )[: max(2, lines_under(s, 1.6) - 1)]
    rows = [row_of(s, Cell(s.rng.choice(("Opening hours", "We are open", "OPEN"))), largest=1.6)]
    for i, day in enumerate(days):
        shut = i and i == len(days) - 1 and s.rng.random() < 0.6
        room = s.width - 5 * EDGE - s.measure(day + "    ")
        cell = Cell("closed", key=day) if shut else s.cell(fitting(s, s.v.hours, room), day)
        rows.append(row_of(s, Cell(day, key=f"{day} label"), cell, align="split"))
        s.ask("hours", day, nouns=f"the opening hours on {day}|the hours for {day}")
    if lines_under(s, 1.6) > len(days) + 1 and s.rng.random() < 0.6:
        rows.insert(0, row_of(s, value_of(s, s.v.company, "merchant")))
        s.ask("merchant", "merchant")
    s.ask("hours", *((f"{d} label", d) for d in days), nouns="all days with their opening hours")
    hang(s, rows, corner=s.rng.choice((0, 8)))


def _door(s: Sheet) -> None:
    """A note at a door: when somebody is back, where to ring."""
    opening = s.rng.choice(("Back at", "Closed until", "Deliveries from", "Please wait until"))
    rows = [row_of(s, Cell(opening)), row_of(s, value_of(s, s.v.time, "time", 1.3), largest=2.0)]
    extra = [
        ("Please ring", lambda: Value(str(s.rng.randint(1, 99))), "bell", "the bell to ring"),
        ("Ask for", s.v.person, "contact", ""),
        ("Call", s.v.phone, "phone", ""),
        ("Parcels to no.", lambda: Value(str(s.rng.randint(1, 99))), "depot", ""),
    ]
    for words, make, key, nouns in s.rng.sample(extra, 2 if lines_under(s, 2) > 2 else 1):
        value = fitting(s, make, s.width - 4 * EDGE - s.measure(words + "    "))
        rows.append(row_of(s, Cell(words), s.cell(value, key)))
        s.ask("fact" if nouns else key, key, nouns=nouns)
    said = hang(s, rows)
    then = Ask(s.task, "message", ("all the words of that sign", "the whole sign"), (said,))
    s.ask("time", "time", nouns="the time|the time on the door", then=then)


def _poster(s: Sheet) -> None:
    """An event: what, when, where, for how much."""
    what = value_of(s, lambda: s.v.headline(2, 3), "title")
    facts: list[tuple[str, Callable[[], Value], str]] = [
        ("time", s.v.time, "the time|the time it begins"),
        ("date", s.v.date, "the date|the day of the event"),
        ("depot", s.v.road, "the place|where it takes place"),
        ("fee", lambda: s.v.amount(60), "the entrance fee|the price of a ticket"),
        ("name", s.v.person, "the name|the name of the performer"),
        ("website", s.v.website, ""),
    ]
    count = max(2, min(5, lines_under(s, 2) - 1, 2 + round(3 * s.room)))
    rows = [row_of(s, what, largest=2.0)]
    picked = [facts[i] for i in sorted(s.rng.sample(range(len(facts)), count))]
    for key, make, nouns in picked:
        rows.append(row_of(s, value_of(s, make, key)))
        s.ask(key, key, nouns=nouns)
    then = Ask(s.task, "fact", ("the line under it", "the line below it"), ((picked[0][0],),))
    s.ask("title", "title", nouns="the event|the title of the event", then=then)
    s.ask("details", *(p[0] for p in picked), nouns="all that the poster tells about the event")
    hang(s, rows)


LAYOUTS: dict[str, Callable[[Sheet], None]] = {
    "shop": _shop,
    "street": _street,
    "hours": _hours,
    "door": _door,
    "poster": _poster,
    "prices": prices,
    "arrows": arrows,
    "floors": floors,
    "stop": stop,
}
HELD_OUT = {"validation": "floors", "test": "stop"}
