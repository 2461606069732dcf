"""How the time of a round grows, as a picture: an SVG of two plots, no torch."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from glance.svg import picture

WIDTH, HEIGHT, LEFT, RIGHT, TOP, BOTTOM, BETWEEN = 760, 320, 52, 76, 44, 44, 118  # px
COLOURS = ("#71717a", "#0f766e", "#1d4ed8", "#7c3aed", "#be185d", "#ea580c")
INK, GRID = "#18181b", "#d4d4d8"

Point = tuple[float, float]


@dataclass(frozen=True, slots=True)
class Plot:
    """Lines over one axis."""

    title: str
    axis: str  # what the x axis shows
    lines: Mapping[str, Sequence[Point]]  # label -> points, x ascending


def draw(plots: Sequence[Plot], unit: str) -> str:
    """Plots side by side on one scale from 0; every line is labelled at its end."""
    top = 1.05 * max(y for plot in plots for line in plot.lines.values() for _, y in line)
    wide = (WIDTH - LEFT - RIGHT - BETWEEN * (len(plots) - 1)) / len(plots)
    parts = [
        part
        for place, plot in enumerate(plots)
        for part in _plot(plot, LEFT + place * (wide + BETWEEN), wide, top, unit)
    ]
    return picture(WIDTH, HEIGHT, parts)


def _plot(plot: Plot, left: float, wide: float, top: float, unit: str) -> list[str]:
    xs = sorted({x for line in plot.lines.values() for x, _ in line})
    high = HEIGHT - TOP - BOTTOM

    def x(value: float) -> float:
        return left + wide * value / xs[-1]

    def y(value: float) -> float:
        return TOP + high * (1 - value / top)

    parts = [_text(left, 20, plot.title, 'font-weight="bold"'), _text(left, TOP - 8, unit)]
    step = next(s for s in (1, 2, 5, 10, 20, 50, 100, 200, 500, 1000) if top / s <= 8)
    for n in range(int(top / step) + 1):
        at = y(n * step)
        parts.append(f'<path d="M{left:.1f},{at:.1f}h{wide:.1f}" stroke="{GRID}"/>')
        parts.append(_text(left - 6, at + 4, f"{n * step:g}", 'text-anchor="end"'))
    for value in xs:
        parts.append(_text(x(value), HEIGHT - BOTTOM + 16, f"{value:g}", 'text-anchor="middle"'))
    parts.append(_text(left + wide / 2, HEIGHT - 8, plot.axis, 'text-anchor="middle"'))
    for (label, line), colour in zip(plot.lines.items(), COLOURS, strict=False):
        points = " ".join(f"{x(a):.1f},{y(b):.1f}" for a, b in line)
        parts.append(
            f'<polyline points="{points}" fill="none" stroke="{colour}" stroke-width="2"/>'
        )
        parts += [
            f'<circle cx="{x(a):.1f}" cy="{y(b):.1f}" r="3" fill="{colour}"/>' for a, b in line
        ]
        a, b = line[-1]
        parts.append(f'<text x="{x(a) + 8:.1f}" y="{y(b) + 4:.1f}" fill="{colour}">{label}</text>')
    return parts


def _text(x: float, y: float, text: str, more: str = "") -> str:
    return f'<text x="{x:.1f}" y="{y:.1f}" fill="{INK}" {more}>{text}</text>'
