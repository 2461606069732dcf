"""Busy backgrounds and plates for signs: walls, planks, stripes, blobs, noise."""

import random

from PIL import Image

from glance.documents.canvas import Colour
from glance.documents.kinds.colours import brightness, coloured
from glance.documents.sheet import Sheet


def _mixed(a: Colour, b: Colour, t: float) -> Colour:
    """From `a` (t = 0) to `b` (t = 1)."""
    r, g, u = (round(x + (y - x) * t) for x, y in zip(a, b, strict=True))
    return r, g, u


def _noise(s: Sheet, a: Colour, b: Colour) -> None:
    """Grain in patches of a few pixels."""
    cell = s.rng.choice((2, 3, 6, 12))
    wide, high = -(-s.width // cell), -(-s.height // cell)
    grain = Image.frombytes("L", (wide, high), s.rng.randbytes(wide * high))
    grain = grain.resize((wide * cell, high * cell), Image.Resampling.BILINEAR)
    mask = grain.crop((0, 0, s.width, s.height))
    s.canvas.image.paste(a, (0, 0, s.width, s.height))
    s.canvas.image.paste(b, (0, 0, s.width, s.height), mask)


def _bricks(s: Sheet, a: Colour, b: Colour) -> None:
    wide, high = s.rng.randint(24, 60), s.rng.randint(12, 24)
    for i, y in enumerate(range(0, s.height, high)):
        for x in range(-wide if i % 2 else -wide // 2, s.width, wide):
            shade = _mixed(a, b, s.rng.uniform(0.0, 0.7))
            s.draw.rectangle((x + 1, y + 1, x + wide - 1, y + high - 1), fill=shade)


def _stripes(s: Sheet, a: Colour, b: Colour) -> None:
    wide, lean = s.rng.randint(8, 40), s.rng.choice((0, 0, 60, -60))
    for i, x in enumerate(range(-abs(lean) - wide, s.width + abs(lean), wide)):
        corners = [(x, 0), (x + wide, 0), (x + wide + lean, s.height), (x + lean, s.height)]
        s.draw.polygon(corners, fill=(a, b)[i % 2])


def _gradient(s: Sheet, a: Colour, b: Colour) -> None:
    for y in range(s.height):
        s.draw.line((0, y, s.width, y), fill=_mixed(a, b, y / s.height))


def _blobs(s: Sheet, a: Colour, b: Colour) -> None:
    """Round leaves or lights."""
    for _ in range(s.rng.randint(30, 90)):
        x, y, d = s.rng.uniform(0, s.width), s.rng.uniform(0, s.height), s.rng.uniform(6, 60)
        s.draw.ellipse((x - d, y - d, x + d, y + d), fill=_mixed(a, b, s.rng.random()))


def _street(s: Sheet, a: Colour, b: Colour) -> None:
    """House fronts with windows, under a sky."""
    x = 0
    while x < s.width:
        wide, top = s.rng.randint(40, 90), s.rng.randint(0, s.height // 2)
        s.draw.rectangle((x, top, x + wide, s.height), fill=_mixed(a, b, s.rng.random() * 0.6))
        for wy in range(top + 10, s.height, 28):
            for wx in range(x + 8, x + wide - 12, 22):
                s.draw.rectangle((wx, wy, wx + 10, wy + 14), fill=_mixed(a, b, 0.9))
        x += wide


_SCENES = (_noise, _bricks, _stripes, _gradient, _blobs, _street)


def backdrop(s: Sheet) -> Colour:
    """Cover the page with a scene in two near colours; returns an ink that stands out on both."""
    r = s.rng
    dark = r.random() < 0.5
    level = r.uniform(20, 75) if dark else r.uniform(165, 215)
    hue, saturation = r.random(), r.choice((0.1, 0.4, 0.8))
    a = coloured(hue, level, saturation)
    b = coloured((hue + r.uniform(-0.1, 0.1)) % 1, level + r.uniform(18, 38), saturation)
    s.canvas.image.paste(_mixed(a, b, 0.5), (0, 0, s.width, s.height))
    r.choice(_SCENES)(s, a, b)
    return (250, 250, 245) if dark else (12, 12, 16)


def plate_colours(rng: random.Random) -> tuple[Colour, Colour]:
    """Fill and ink of a plate, one dark and one light."""
    hue = rng.random()
    deep = coloured(hue, rng.uniform(15, 80), rng.choice((0.3, 0.9)))
    pale = coloured(rng.choice((hue, rng.random())), rng.uniform(215, 252), rng.choice((0.0, 0.6)))
    return (deep, pale) if rng.random() < 0.6 else (pale, deep)


def plate(
    s: Sheet, box: tuple[float, float, float, float], fill: Colour, ink: Colour, corner: float = 0
) -> None:
    """A sign's plate (left, top, right, bottom) with a border; text then flows inside it."""
    left, top, right, low = box
    shadow = _mixed(fill, (0, 0, 0), 0.6)
    s.draw.rounded_rectangle((left + 3, top + 3, right + 3, low + 3), corner, fill=shadow)
    s.draw.rounded_rectangle(box, corner, fill=fill)
    if s.rng.random() < 0.6:
        inner = (left + 3, top + 3, right - 3, low - 3)
        s.draw.rounded_rectangle(inner, max(0, corner - 3), outline=ink, width=s.rng.choice((1, 2)))
    if brightness(fill) > 60 and s.rng.random() < 0.3:
        for x, y in ((left + 8, top + 8), (right - 8, top + 8), (left + 8, low - 8)):
            s.draw.ellipse((x - 2, y - 2, x + 2, y + 2), fill=shadow)
    s.left, s.right = left + 9, right - 9
    s.y, s.bottom = top + 7, low - 4
