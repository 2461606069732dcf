"""HTML signs, posters and infographics."""

from collections.abc import Callable

from tests.foreign import html_sheet
from tests.foreign.html_sheet import e, sides


class Sheet(html_sheet.Sheet):
    sizes = ((392, 392), (420, 308), (336, 448), (308, 420), (448, 364), (364, 476))
    whole = True

    def document(self, body: str) -> str:
        self.style("body { min-height: 100vh; display: flex; flex-direction: column; }")
        self.style(".all { flex: 1; display: flex; flex-direction: column;")
        self.style("justify-content: space-evenly; }")
        return super().document(body)


def _colours(s: Sheet) -> None:
    """A gradient behind light text, or a plain bright ground with dark text."""
    s.style(
        s.rng.choice(
            (
                "body { background: linear-gradient(160deg, @, #1b1b1b); color: #fff; }",
                "body { background: repeating-linear-gradient(45deg, #f3e9d2, #f3e9d2 12px,"
                " #efe2c4 12px, #efe2c4 24px); }",
                "body { background: #ffd84d; } h1 { color: #000; }",
                "body { background: #e6f0ea; } h1 { color: @; }",
                "body { background: @; color: #fff; } h1 { color: #ffe9a8; }",
            )
        )
    )


def poster(s: Sheet) -> str:
    """An event: title, place, date and price, centred."""
    _colours(s)
    s.style(".all { text-align: center; } .b { border: 2px solid currentColor; padding: 4px; }")
    title, place = s.v.headline(2, 4).text, s.v.street().text
    date, time, price = s.v.date().text, s.v.time().text, s.v.amount(60).text
    site = s.v.website().text
    s.ask("title", title)
    s.ask("date", date)
    s.ask("time", time)
    s.ask("fee", price, nouns="the price of a ticket|the entry fee")
    s.ask("website", site)
    return (
        f"<div class=all><h1 style='font-size:22px'>{e(title)}</h1><div>{e(place)}</div>"
        f"<div class=b>{e(date)}<br>{e(time)}</div><div>Tickets {e(price)}</div>"
        f"<div>{e(site)}</div></div>"
    )


def notice(s: Sheet) -> str:
    """A warning board with a framed message and whom to call."""
    s.style("body { background: #c9ccd1; } .all { background: #fff; border: 8px solid @;")
    s.style("border-radius: 12px; padding: 12px; text-align: center; }")
    word = s.rng.choice(("NOTICE", "CAUTION", "PLEASE NOTE", "ATTENTION"))
    message, phone, code = s.v.sentence(6, 11).text, s.v.phone().text, s.v.code(5, 7).text
    hours = s.v.hours().text
    message = message[0].upper() + message[1:]
    s.ask("message", message)
    s.ask("phone", phone)
    s.ask("hours", hours)
    s.ask("fact", code, nouns="the number of the site|the site's code")
    return (
        f"<div class=all><h1 class=accent style='font-size:22px'>{word}</h1>"
        f"<div style='font-size:18px'>{e(message)}</div><div>Open {e(hours)}</div>"
        f"<div>Call {e(phone)}</div><div>Site {e(code)}</div></div>"
    )


def shop_front(s: Sheet) -> str:
    """A shop's name over its opening hours."""
    _colours(s)
    s.style(".name { font-size: 22px; letter-spacing: 1px; text-shadow: 1px 1px 2px #0006; }")
    name, phone = s.v.company().text, s.v.phone().text
    days = s.rng.choice((("Mon-Fri", "Sat", "Sun"), ("Weekdays", "Weekends"), ("Mon-Thu", "Fri")))
    hours = [s.v.hours().text for _ in days]
    s.ask("merchant", name)
    s.ask("phone", phone)
    i = s.rng.randrange(len(days))
    s.ask("hours", hours[i], nouns=f"the opening hours on {days[i]}|the hours for {days[i]}")
    pairs = [f"{d} {h}" for d, h in zip(days, hours, strict=True)]
    s.ask("hours", *pairs, nouns="all days with their opening hours")
    rows = "".join(sides(d, h) for d, h in zip(days, hours, strict=True))
    city = s.v.city().text
    s.ask("fact", city, nouns="the town|the town of the shop")
    return (
        f"<div class=all><div class=name><b>{e(name)}</b></div><div>{e(city)}</div>"
        f"<div>{rows}</div><div>Tel {e(phone)}</div></div>"
    )


def cards(s: Sheet) -> str:
    """Cards in a row or a column, each a number over what it counts."""
    s.style(".card { background: #fff; border-radius: 10px; box-shadow: 0 2px 5px #0004;")
    s.style("padding: 8px 12px; } .card b { font-size: 22px; color: @; line-height: 1.3; }")
    s.style("body { background: #e9edf4; }")
    title = s.v.headline(2, 3).text
    facts = [(s.v.count().text, s.v.words(2, 3).text) for _ in range(s.rng.randint(3, 4))]
    s.ask("title", title)
    return (
        f"<div class=all><h1>{e(title)}</h1>"
        + "".join(
            f"<div class=card><b>{e(n)}</b><div>{e(text)}</div></div>"
            for n, text in _asked(s, facts)
        )
        + "</div>"
    )


def _asked(s: Sheet, facts: list[tuple[str, str]]) -> list[tuple[str, str]]:
    """The facts, with questions about two of them."""
    (n, text), (m, other) = s.rng.sample(facts, 2)
    s.ask("value_of", n, nouns=f"the number for {text}|the number above {text}")
    s.ask("caption_of", other, nouns=f"what {m} stands for|the words that go with {m}")
    s.ask("fact", *(n for n, _ in facts), nouns="all numbers|the list of numbers")
    return facts


def stages(s: Sheet) -> str:
    """Numbered steps in coloured discs."""
    s.style(".step { display: flex; align-items: center; gap: 12px; } .disc { flex: none;")
    s.style("width: 32px; height: 32px; border-radius: 50%; background: @; color: #fff;")
    s.style("text-align: center; line-height: 32px; font-weight: bold; }")
    title, site = s.v.headline(2, 3).text, s.v.website().text
    steps = [s.v.words(2, 3).text for _ in range(s.rng.randint(3, 5))]
    i = s.rng.randrange(len(steps))
    s.ask("title", title)
    s.ask("fact", steps[i], nouns=f"step {i + 1}|the step with the number {i + 1}")
    s.ask("fact", *steps, nouns="all steps|the list of steps")
    s.ask("website", site)
    rows = "".join(
        f"<div class=step><div class=disc>{i + 1}</div><div>{e(text)}</div></div>"
        for i, text in enumerate(steps)
    )
    return f"<div class=all><h1 class=accent>{e(title)}</h1>{rows}<div>{e(site)}</div></div>"


def meters(s: Sheet) -> str:
    """Label and percentage over a bar that shows it."""
    s.style(".bar { height: 9px; border-radius: 5px; background: #ddd; } .bar div {")
    s.style("height: 100%; border-radius: 5px; background: linear-gradient(90deg, @, #f0a202); }")
    title = s.v.headline(2, 3).text
    labels = [v.text for v in s.v.labels(s.rng.randint(4, 5))]
    shares = [s.rng.randint(5, 97) for _ in labels]
    source = s.v.company().text
    s.ask("title", title)
    s.ask("source", source)
    i = s.rng.randrange(len(labels))
    s.ask(
        "value_of", f"{shares[i]}%", nouns=f"the percentage of {labels[i]}|the value of {labels[i]}"
    )
    s.ask("labels", *labels)
    if len(set(shares)) == len(shares):
        s.ask("highest", labels[shares.index(max(shares))])
    s.ask("all_values", *(f"{a} {b}%" for a, b in zip(labels, shares, strict=True)))
    rows = "".join(
        f"<div>{sides(a, f'{b}%')}<div class=bar><div style='width:{b}%'></div></div></div>"
        for a, b in zip(labels, shares, strict=True)
    )
    return f"<div class=all><h1>{e(title)}</h1>{rows}<div>Source: {e(source)}</div></div>"


LAYOUTS: dict[str, tuple[str, Callable[[Sheet], str]]] = {
    "poster": ("sign", poster),
    "notice": ("sign", notice),
    "shop_front": ("sign", shop_front),
    "cards": ("infographic", cards),
    "stages": ("infographic", stages),
    "meters": ("infographic", meters),
}
