"""Infographics that put things in an order: timelines and steps."""

from glance.documents.kinds.colours import fills
from glance.documents.kinds.facts import fit, foot, head, how_many
from glance.documents.kinds.parts import distinct, wrapped
from glance.documents.sheet import Ask, At, Cell, Sheet
from glance.documents.values import Value


def timeline(s: Sheet) -> None:
    """Years, days or hours along a line, what happened beside each."""
    head(s)
    floor, source = foot(s)
    r, n = s.rng, how_many(s, 2, 6)
    times = moments(s, n)
    events = sentences(s, n)
    beside = max(s.measure(t.text, bold=True) for t in times) < 0.3 * (s.right - s.left)
    axis = s.left + (max(s.measure(t.text, bold=True) for t in times) if beside else 0) + s.size
    left = axis + 1.1 * s.size
    texts = [wrapped(s, e.text, s.right - left) for e in events]
    extra = 0 if beside else 1
    n, gap = fit([(len(t) + extra) * s.pitch() for t in texts], 0.3 * s.size, floor - s.y)
    fill, top = fills(s, 1)[0], s.y + 0.6 * s.size
    high = sum((len(t) + extra) * s.pitch() + gap for t in texts[: n - 1])
    s.draw.line((axis, top, axis, top + high), fill=s.shade(0.5), width=2)
    for i in range(n):
        y, radius = s.y + 0.65 * s.size, 0.36 * s.size
        s.draw.ellipse((axis - radius, y - radius, axis + radius, y + radius), fill=fill)
        when = s.cell(times[i], f"t{i}")
        s.values.append(events[i].text)
        lines = [Cell(t, events[i].composed, f"e{i}") for t in texts[i]]
        if beside:
            s.line(s.y, At(s.left, when), At(left, lines.pop(0)))
        else:
            s.line(s.y, At(left, when), bold=True)
        s.y += s.pitch()
        for cell in lines:
            s.line(s.y, At(left, cell))
            s.y += s.pitch()
        s.y += gap
    i, j = r.sample(range(n), 2)
    s.ask(
        "value_of", f"t{i}", nouns=f"the time of {events[i].text}|the time beside {events[i].text}"
    )
    s.ask(
        "caption_of", f"e{j}", nouns=f"the event of {times[j].text}|the entry for {times[j].text}"
    )
    place, k = r.choice((("first", 0), ("last", n - 1)))
    s.ask(
        "caption_of",
        f"e{k}",
        nouns=f"the {place} event|the {place} entry",
        then=Ask(s.task, "value_of", ("its time", "the time of it"), ((f"t{k}",),)),
    )
    s.ask(
        "all_values",
        *((f"t{m}", f"e{m}") for m in range(n)),
        nouns="all times with their events|every time and event",
    )
    s.ask("column", *(f"t{m}" for m in range(n)), nouns="all times|every time on the line")
    source(s)


def steps(s: Sheet) -> None:
    """Numbered rings joined by a line; a short heading and a sentence for each step."""
    head(s)
    floor, source = foot(s)
    r, n = s.rng, how_many(s, 2, 5)
    radius = 0.85 * s.size
    left = s.left + 2 * radius + 0.7 * s.size
    names = distinct(s, lambda: s.v.headline(2, 2), n, s.right - left)
    bodies = sentences(s, n)
    texts = [wrapped(s, b.text, s.right - left) for b in bodies]
    heights = [max((len(t) + 1) * s.pitch(), 2 * radius) for t in texts]
    n, gap = fit(heights, 0.4 * s.size, floor - s.y)
    fill = fills(s, 1)[0]
    for i in range(n):
        x, y = s.left + radius, s.y + 0.6 * s.size + 1
        if i < n - 1:
            s.draw.line((x, y, x, y + heights[i] + gap), fill=fill, width=2)
        s.draw.ellipse(
            (x - radius, y - radius, x + radius, y + radius), fill=s.paper, outline=fill, width=2
        )
        number = Cell(str(i + 1), key=f"k{i}")
        s.line(s.y, At(x, number, "center"), At(left, s.cell(names[i], f"s{i}")))
        s.values.append(bodies[i].text)
        for m, text in enumerate(texts[i]):
            s.line(s.y + (m + 1) * s.pitch(), At(left, Cell(text, bodies[i].composed, f"e{i}")))
        s.y += heights[i] + gap
    i, j = r.sample(range(n), 2)
    s.ask(
        "caption_of",
        f"s{i}",
        nouns=f"the name of step {i + 1}|the heading of step {i + 1}",
        then=Ask(s.task, "caption_of", ("its text", "the text under it"), ((f"e{i}",),)),
    )
    s.ask(
        "label_of", f"k{j}", nouns=f"the number of {names[j].text}|the step called {names[j].text}"
    )
    k = r.randrange(n - 1)
    s.ask("label_of", f"s{k + 1}", nouns=f"the step after {names[k].text}")
    s.ask("fact", f"e{j}", nouns=f"the text of step {j + 1}|the text under {names[j].text}")
    s.ask(
        "all_values",
        *((f"k{m}", f"s{m}") for m in range(n)),
        separator=", ",
        nouns="all steps with their numbers|every step in order",
    )
    source(s)


def sentences(s: Sheet, n: int) -> list[Value]:
    """`n` different sentences, shorter where the text is large."""
    long = s.rng.random() < (s.room + 0.4) * 14 / s.size
    found: dict[str, Value] = {}
    while len(found) < n:
        value = s.v.sentence(6, 9) if long else s.v.sentence(3, 5)
        found[value.text] = value
    return list(found.values())


def moments(s: Sheet, n: int) -> list[Value]:
    """`n` different years, days or times of a day in order, all written alike."""
    r = s.rng
    if r.random() < 0.4:
        return [Value(str(y)) for y in sorted(r.sample(range(1950, 2031), n))]
    make, mark, place = r.choice(((s.v.time, ":", 2), (s.v.date, "-", 4)))
    found: dict[str, Value] = {}
    while len(found) < n:
        value = make()
        if value.text[place] == mark and value.text[-1].isdigit():
            found[value.text] = value
    return [found[text] for text in sorted(found)]
