"""The entropy law as a picture: deciles of the rounds, and the fitted curve. An SVG, no torch."""

from __future__ import annotations

from collections.abc import Sequence
from html import escape

import numpy as np

from glance.law import Law
from glance.law_checks import Bin
from glance.svg import picture

WIDTH, HEIGHT, LEFT, RIGHT, TOP, BOTTOM = 640, 400, 56, 24, 66, 48  # px; the plot lies between
POINTS = 120  # of the curve
MEASURED, CURVE, INK, GRID = "#1d4ed8", "#ea580c", "#18181b", "#d4d4d8"


def draw(law: Law, deciles: Sequence[Bin], room: int, title: str) -> str:
    """Accepted drafted tokens over the target's entropy in nats.

    Dots are measured means of deciles, bars their 95% intervals; rings are what the law expects of
    the same rounds, which is less than the curve where answers end within the block.

    Args:
        law: the fitted law.
        deciles: one at least.
        room: of the curve, tokens: a whole block's offsets.
        title: what was measured, a few words.
    """
    right = max(one.entropy for one in deciles) * 1.08 or 1.0
    entropy = np.linspace(0.0, right, POINTS)
    expected = law.expected(entropy, float(room))
    high = max(one.ci[1] for one in deciles)
    top = 1.1 * max(high, *(one.expected for one in deciles), float(expected[0]))

    def x(nats: float) -> float:
        return LEFT + (WIDTH - LEFT - RIGHT) * nats / right

    def y(tokens: float) -> float:
        return HEIGHT - BOTTOM - (HEIGHT - TOP - BOTTOM) * tokens / top

    points = " ".join(f"{x(h):.1f},{y(a):.1f}" for h, a in zip(entropy, expected, strict=True))
    parts = [
        f"<title>{escape(title)}</title>",
        _text(LEFT, 20, title, 'font-weight="bold"'),
        *_key(law),
        *(
            _rule(LEFT, y(tick), WIDTH - RIGHT, y(tick))
            + _text(LEFT - 8, y(tick) + 4, f"{tick:g}", 'text-anchor="end"')
            for tick in _ticks(top)
        ),
        *(
            _rule(x(tick), HEIGHT - BOTTOM, x(tick), HEIGHT - BOTTOM + 5)
            + _text(x(tick), HEIGHT - BOTTOM + 18, f"{tick:g}", 'text-anchor="middle"')
            for tick in _ticks(right)
        ),
        _text((LEFT + WIDTH - RIGHT) / 2, HEIGHT - 10, "H, nats", 'text-anchor="middle"'),
        f'<polyline points="{points}" fill="none" stroke="{CURVE}" stroke-width="2"/>',
    ]
    for one in deciles:
        at, (low, upper) = x(one.entropy), one.ci
        parts += [
            f'<path d="M{at:.1f},{y(low):.1f}V{y(upper):.1f}" stroke="{MEASURED}"/>',
            f'<circle cx="{at:.1f}" cy="{y(one.expected):.1f}" r="5" fill="none" '
            f'stroke="{CURVE}" stroke-width="1.5"/>',
            f'<circle cx="{at:.1f}" cy="{y(one.accepted):.1f}" r="3" fill="{MEASURED}"/>',
        ]
    return picture(WIDTH, HEIGHT, parts)


def _key(law: Law) -> list[str]:
    sign = "-" if law.b1 >= 0 else "+"
    words = f"law: logit p = {law.b0:.2f} {sign} {abs(law.b1):.2f} H"
    return [
        f'<circle cx="{LEFT + 5}" cy="38" r="3" fill="{MEASURED}"/>',
        _text(LEFT + 14, 42, "accepted tokens a round, mean of a decile, 95%"),
        f'<circle cx="{LEFT + 5}" cy="54" r="5" fill="none" stroke="{CURVE}" stroke-width="1.5"/>',
        _text(LEFT + 14, 58, f"{words}, for the same rounds; line: with a whole block before it"),
    ]


def _ticks(top: float) -> list[float]:
    """Round figures from 0, four to nine of them."""
    step = 10.0 ** np.floor(np.log10(top))
    step *= next(part for part in (0.1, 0.2, 0.5, 1.0, 2.0) if top / (step * part) < 9)
    return [round(float(step * k), 6) for k in range(int(top / step) + 1)]


def _rule(x0: float, y0: float, x1: float, y1: float) -> str:
    return f'<path d="M{x0:.1f},{y0:.1f}L{x1:.1f},{y1:.1f}" stroke="{GRID}"/>'


def _text(x: float, y: float, text: str, more: str = "") -> str:
    return f'<text x="{x:.1f}" y="{y:.1f}" fill="{INK}" {more}>{escape(text)}</text>'
