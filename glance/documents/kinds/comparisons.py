"""Infographics that compare: rankings, and two sides against each other."""

from glance.documents.kinds.colours import fills, ink_on
from glance.documents.kinds.facts import fit, foot, head, how_many
from glance.documents.kinds.parts import distinct
from glance.documents.kinds.plots import draw_numbers
from glance.documents.sheet import Ask, At, Cell, Sheet, TooFullError
from glance.documents.values import Value, number_in


def ranking(s: Sheet) -> None:
    """Places with names and values, from the highest down, each on a bar drawn to scale."""
    head(s)
    floor, source = foot(s)
    r, n = s.rng, how_many(s, 3, 9)
    maker = r.choice((s.v.person, s.v.item, s.v.company, s.v.first_name))
    dot = r.choice(("", ".", ")"))
    indent = s.measure(f"0{dot}", bold=True) + 0.6 * s.size
    values = sorted(draw_numbers(s, n, 4.0), key=lambda v: -number_in(v.text))
    most = max(s.measure(v.text) for v in values)
    names = distinct(s, maker, n, s.right - s.left - indent - most - 1.4 * s.size)
    thick = r.choice((0.0, 5.0))  # a bar under the text, or the text on it
    n, gap = fit([s.pitch() + thick + 3] * n, 2, floor - s.y)
    gap = min(gap, s.size)
    fill = fills(s, 1)[0] if thick else s.shade(0.17)
    for i in range(n):
        text = sum(s.font().getmetrics())
        wide = (s.right - s.left) * number_in(values[i].text) / number_in(values[0].text)
        top, low = (s.y + text, s.y + text + thick) if thick else (s.y - 1, s.y + text + 1)
        s.draw.rectangle((s.left, top, s.left + wide, low), fill=fill)
        s.line(
            s.y,
            At(s.left + 3, Cell(f"{i + 1}{dot}", key=f"k{i}")),
            At(s.left + indent + 3, s.cell(names[i], f"l{i}")),
            At(s.right - 3, s.cell(values[i], f"v{i}"), "right"),
        )
        s.y += s.pitch() + thick + 3 + gap
    i, j = r.sample(range(n), 2)
    a, b = names[i].text, names[j].text
    s.ask("value_of", f"v{i}", nouns=f"the number for {a}|the value of {a}")
    s.ask(
        "label_of",
        f"l{j}",
        nouns=f"the name in place {j + 1}|the entry ranked {j + 1}",
        then=Ask(s.task, "value_of", ("its value", "its number"), ((f"v{j}",),)),
    )
    s.ask(*r.choice((("highest", "l0"), ("lowest", f"l{n - 1}"))))
    if r.random() < 0.5:
        s.ask("label_of", f"k{j}", nouns=f"the rank of {b}|the place of {b}")
    s.ask("all_values", *((f"l{m}", f"v{m}") for m in range(n)))
    s.ask("labels", *(f"l{m}" for m in range(n)), nouns="all names in order|the whole ranking")
    source(s)


def versus(s: Sheet) -> None:
    """Two sides under coloured headers, what is compared between their values."""
    head(s)
    floor, source = foot(s)
    r, middle, width = s.rng, s.width / 2, s.right - s.left
    n = how_many(s, 2, 8)
    names = distinct(
        s, r.choice((s.v.first_name, s.v.company, s.v.item)), 2, width / 2 - 1.2 * s.size
    )
    topics = s.v.labels(n)
    sides: list[list[Value]] = [[], []]
    for _ in topics:
        pair = distinct(s, r.choice((s.v.percent, s.v.count, s.v.amount)), 2, width * 0.32)
        sides[0].append(pair[0])
        sides[1].append(pair[1])
    wide = max(s.measure(t.text) for t in topics) / 2 + 0.4 * s.size
    most = max(s.measure(v.text) for v in (*sides[0], *sides[1]))
    if wide + most > width / 2:
        raise TooFullError("sides")
    text = sum(s.font(bold=True).getmetrics())
    high = text + 0.4 * s.size
    one, other = (middle + s.left - wide) / 2, (middle + s.right + wide) / 2
    fill = s.shade(r.choice((0.2, 0.75)))
    for left, right in ((s.left, middle - 1), (middle + 1, s.right)):
        s.draw.rectangle((left, s.y, right, s.y + high), fill=fill)
    s.line(
        s.y + 0.2 * s.size,
        *(
            At(x, s.cell(v, key), "center")
            for x, v, key in zip(
                ((s.left + middle) / 2, (s.right + middle) / 2), names, ("na", "nb"), strict=True
            )
        ),
        bold=True,
        ink=ink_on(fill),
    )
    s.y += high + 0.4 * s.size
    n, gap = fit([s.pitch() + 3] * n, 0, floor - s.y)
    gap = min(gap, 0.8 * s.size)
    for i in range(n):
        if i % 2 == 0:
            s.draw.rectangle((s.left, s.y - 1, s.right, s.y + text + 1), fill=s.shade(0.08))
        s.line(
            s.y,
            At(one, s.cell(sides[0][i], f"a{i}"), "center"),
            At(middle, s.cell(topics[i], f"l{i}"), "center"),
            At(other, s.cell(sides[1][i], f"b{i}"), "center"),
        )
        s.y += s.pitch() + 3 + gap
    i = r.randrange(n)
    topic, (na, nb) = topics[i].text, (v.text for v in names)
    s.ask(
        "cell",
        f"a{i}",
        nouns=f"the {topic} of {na}|the {topic} figure of {na}",
        then=Ask(s.task, "cell", (f"that of {nb}", f"the one of {nb}"), ((f"b{i}",),)),
    )
    s.ask("row", f"a{i}", f"b{i}", nouns=f"the {topic} of both sides|both figures for {topic}")
    side, name = r.choice((("a", na), ("b", nb)))
    s.ask(
        "column",
        *((f"l{m}", f"{side}{m}") for m in range(n)),
        nouns=f"all figures of {name} with their names|every fact about {name}",
    )
    s.ask(
        "all_values",
        *((f"l{m}", f"a{m}", f"b{m}") for m in range(n)),
        nouns="all topics with both figures|every topic and its two figures",
    )
    if r.random() < 0.5:
        s.ask("labels", "na", "nb", nouns="the two sides|the names of the two sides")
    source(s)
