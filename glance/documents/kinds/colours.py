"""Fill colours for marks and bands, chosen by brightness so that they also differ in grey."""

import colorsys

from glance.documents.canvas import Colour
from glance.documents.sheet import Sheet


def brightness(colour: Colour) -> float:
    """Grey level 0..255 that a colour has in a picture of mode L."""
    return 0.299 * colour[0] + 0.587 * colour[1] + 0.114 * colour[2]


def coloured(hue: float, level: float, saturation: float = 0.8) -> Colour:
    """A colour of a hue (0..1) whose grey level is about `level` (0..255)."""
    r, g, b = (255 * c for c in colorsys.hls_to_rgb(hue, 0.5, saturation))
    own = brightness((round(r), round(g), round(b)))
    if level <= own:
        mixed = [c * level / own for c in (r, g, b)]
    else:
        t = (level - own) / (255 - own)
        mixed = [c + (255 - c) * t for c in (r, g, b)]
    return round(mixed[0]), round(mixed[1]), round(mixed[2])


def fills(s: Sheet, n: int) -> list[Colour]:
    """`n` colours that differ from each other and from the paper, all grey on some pages."""
    return _colours(s, _levels(s, n))


def grounds(s: Sheet, n: int) -> list[Colour]:
    """Like `fills`, but each so dark or so bright that small text stands out on it."""
    return _colours(s, [0.7 * v if v <= 135 else max(v, 175.0) for v in _levels(s, n)])


def _levels(s: Sheet, n: int) -> list[float]:
    paper = brightness(s.paper)
    low, high = (60.0, paper - 50) if paper > 140 else (paper + 60, 225.0)
    levels = [low + (high - low) * (i + 0.5) / n for i in range(n)]
    return levels[::2] + levels[1::2]  # neighbours far apart


def _colours(s: Sheet, levels: list[float]) -> list[Colour]:
    saturation = s.rng.choice((0.0, 0.5, 0.8))
    hue, step = s.rng.random(), s.rng.choice((0.0, 0.17, 0.38))
    return [coloured((hue + i * step) % 1, level, saturation) for i, level in enumerate(levels)]


def ink_on(fill: Colour) -> Colour:
    """Black or white, whichever stands out on `fill` by at least 110 grey levels."""
    return (15, 15, 15) if brightness(fill) > 135 else (250, 250, 250)
