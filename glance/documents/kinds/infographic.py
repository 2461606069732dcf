"""Infographics: big numbers with captions, pictures, timelines, steps, rankings, comparisons."""

from collections.abc import Callable

from glance.documents.kinds.colours import fills, grounds, ink_on
from glance.documents.kinds.comparisons import ranking, versus
from glance.documents.kinds.facts import (
    ask_facts,
    block,
    draw_block,
    facts,
    fit,
    foot,
    head,
    how_many,
)
from glance.documents.kinds.icons import ICONS, icon
from glance.documents.kinds.parts import LARGEST
from glance.documents.kinds.sequences import steps, timeline
from glance.documents.sheet import Sheet

TASK = "infovqa"
SIZES = ((308, 392), (336, 448), (280, 448), (392, 392), (448, 336), (392, 308), (420, 448))


def icons(s: Sheet) -> None:
    """A picture, a big number and its caption in each row, pictures on one or both sides."""
    head(s)
    floor, source = foot(s)
    disc, zigzag = 2.6 * s.size, s.rng.random() < 0.4
    wide = s.right - s.left - disc - 0.7 * s.size
    blocks = [block(s, f, wide) for f in facts(s, how_many(s, 2, 6))]
    n, gap = fit([max(b.high, disc) for b in blocks], 0.4 * s.size, floor - s.y)
    colours, pictures = fills(s, n), s.rng.sample(ICONS, n)
    for i, b in enumerate(blocks[:n]):
        right = zigzag and i % 2
        x = s.right - disc / 2 if right else s.left + disc / 2
        high = max(b.high, disc)
        icon(s, pictures[i], (x, s.y + high / 2), disc / 2, colours[i])
        left = s.left if right else s.left + disc + 0.7 * s.size
        draw_block(s, b, i, left, s.y + (high - b.high) / 2)
        s.y += high + gap
    ask_facts(s, [b.fact for b in blocks[:n]])
    source(s)


def cards(s: Sheet) -> None:
    """Two or three columns of tinted cards, each a number over its caption."""
    head(s)
    floor, source = foot(s)
    columns = 3 if s.right - s.left > 26 * s.size and s.rng.random() < 0.5 else 2
    if s.right - s.left < 14 * s.size:
        columns = 1  # words would not fit into two
    space, pad = 0.5 * s.size, 0.5 * s.size
    wide = (s.right - s.left - space * (columns - 1)) / columns
    found = facts(s, max(2, columns * how_many(s, 1, 8 // columns)))
    blocks = [block(s, f, wide - 2 * pad) for f in found]
    rows = [blocks[i : i + columns] for i in range(0, len(blocks), columns)]
    n, gap = fit(
        [max(b.high for b in row) + pad for row in rows],
        space,
        floor - s.y,
        least=3 - min(columns, 2),
    )
    rows = rows[:n]
    tints = s.rng.random() < 0.5
    colours = grounds(s, n * columns) if tints else [s.shade(0.1)] * n * columns
    for i, row in enumerate(rows):
        high = max(b.high for b in row) + pad
        for j, b in enumerate(row):
            fill, left = colours[i * columns + j], s.left + j * (wide + space)
            s.draw.rounded_rectangle((left, s.y, left + wide, s.y + high), 6, fill=fill)
            draw_block(
                s,
                b,
                i * columns + j,
                left + wide / 2,
                s.y + (high - b.high) / 2,
                "center",
                ink_on(fill),
            )
        s.lowest = max(s.lowest, s.y + high)
        s.y += high + gap
    ask_facts(s, [b.fact for row in rows for b in row])
    source(s)


def bands(s: Sheet) -> None:
    """Coloured bands across the page, a number at the left and its caption beside it."""
    head(s)
    floor, source = foot(s)
    found = facts(s, how_many(s, 2, 6))
    scale = min(1.8, 36 / s.size)
    number = max(s.measure(f.number.text, scale, bold=True) for f in found) + s.size
    wide = s.right - s.left - number
    if wide < 8 * s.size:  # the caption goes under the number
        number, scale, wide = 0.0, 0.0, s.right - s.left
    blocks = [block(s, f, wide, beside=scale) for f in found]
    n, gap = fit([b.high + 0.5 * s.size for b in blocks], 2, floor - s.y)
    for i, (b, fill) in enumerate(zip(blocks[:n], grounds(s, n), strict=True)):
        high = b.high + 0.5 * s.size + gap * (n - 1) / n - 2
        s.draw.rectangle((0, s.y, s.width, s.y + high), fill=fill)
        draw_block(s, b, i, s.left, s.y + (high - b.high) / 2, ink=ink_on(fill), beside=number)
        s.lowest = max(s.lowest, s.y + high)
        s.y += high + 2
    ask_facts(s, [b.fact for b in blocks[:n]])
    source(s)


def hero(s: Sheet) -> None:
    """One number as large as it may be in a coloured box, smaller facts below it."""
    head(s)
    floor, source = foot(s)
    columns = 2 if s.right - s.left > 14 * s.size else 1
    first, *others = facts(s, 1 + columns * how_many(s, 1, 3))
    fill = grounds(s, 1)[0]
    b = block(s, first, s.right - s.left - s.size, scale=LARGEST / s.size)
    high = b.high + 0.8 * s.size
    s.draw.rounded_rectangle((s.left, s.y, s.right, s.y + high), 0.8 * s.size, fill=fill)
    draw_block(s, b, 0, s.width / 2, s.y + 0.4 * s.size, "center", ink_on(fill))
    s.y += high + 0.6 * s.size
    wide = (s.right - s.left - s.size * (columns - 1)) / columns
    blocks = [block(s, f, wide, scale=1.4) for f in others]
    rows = [blocks[i : i + columns] for i in range(0, len(blocks), columns)]
    n, gap = fit([max(c.high for c in row) for row in rows], 0.5 * s.size, floor - s.y, least=1)
    rows = rows[:n]
    for i, row in enumerate(rows):
        high = max(c.high for c in row)
        for j, c in enumerate(row):
            x = s.left + j * (wide + s.size)
            draw_block(s, c, 1 + i * columns + j, x + wide / 2, s.y, "center")
            if j:
                s.draw.line((x - s.size / 2, s.y, x - s.size / 2, s.y + high), fill=s.shade(0.4))
        s.y += high + gap
    ask_facts(s, [first, *(c.fact for row in rows for c in row)])
    source(s)


LAYOUTS: dict[str, Callable[[Sheet], None]] = {
    "icons": icons,
    "cards": cards,
    "bands": bands,
    "hero": hero,
    "timeline": timeline,
    "steps": steps,
    "ranking": ranking,
    "versus": versus,
}
HELD_OUT = {"validation": "hero", "test": "bands"}
