"""The curve of a training as a picture: figures against hours."""

import json
import math
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from glance.svg import picture

WIDTH, HEIGHT, LEFT, BOTTOM, TOP = 640, 320, 48, 40, 24


@dataclass(frozen=True, slots=True)
class Figure:
    """One line of a picture."""

    key: str  # in the points
    name: str
    colour: str


#: of the target, shares of 1
READING = (
    Figure("cer", "character error rate, %", "#c2410c"),
    Figure("exact", "exact answers, %", "#1d4ed8"),
)
#: of a head, tokens
DRAFTING = (Figure("tau", "tokens a round commits on validation pages", "#1d4ed8"),)


def draw_curve(points: Sequence[dict[str, Any]], figures: Sequence[Figure] = READING) -> str:
    """An SVG of `points`, each with minutes and a value for each of `figures`."""
    longest = max(p["minutes"] for p in points) / 60
    across = (WIDTH - LEFT - 16) / max(longest, 0.1)
    down = HEIGHT - TOP - BOTTOM
    shares = figures is READING
    top = 1.0 if shares else math.ceil(max(p[f.key] for p in points for f in figures))

    def place(minutes: float, value: float) -> str:
        y = TOP + down * (1 - min(value / top, 1.0))
        return f"{LEFT + across * minutes / 60:.1f},{y:.1f}"

    parts = []
    for share in (0.0, 0.25, 0.5, 0.75, 1.0):
        y = TOP + down * (1 - share)
        label = f"{share:.0%}" if shares else f"{top * share:g}"
        parts.append(f'<path d="M{LEFT},{y:.1f}H{WIDTH - 16}" stroke="#d4d4d8"/>')
        parts.append(f'<text x="{LEFT - 6}" y="{y + 4:.1f}" text-anchor="end">{label}</text>')
    step = 0.25 if longest < 2 else 1.0
    for n in range(int(longest / step) + 1):
        x = LEFT + across * n * step
        parts.append(
            f'<text x="{x:.1f}" y="{HEIGHT - 22}" text-anchor="middle">{n * step:g} h</text>'
        )
    for row, figure in enumerate(figures):
        key, colour = figure.key, figure.colour
        line = " ".join(place(p["minutes"], p[key]) for p in points)
        parts.append(f'<polyline points="{line}" fill="none" stroke="{colour}" stroke-width="2"/>')
        for p in points:
            at = place(p["minutes"], p[key]).split(",")
            parts.append(f'<circle cx="{at[0]}" cy="{at[1]}" r="3" fill="{colour}"/>')
        parts.append(
            f'<text x="{LEFT + 220 * row}" y="{HEIGHT - 5}" fill="{colour}">{figure.name}</text>'
        )
    return picture(WIDTH, HEIGHT, parts)


def write_curve(folder: Path, figures: Sequence[Figure] = READING) -> None:
    """Draw `folder`/curve.jsonl to `folder`/curve.svg."""
    lines = (folder / "curve.jsonl").read_text(encoding="utf-8").splitlines()
    picture = draw_curve([json.loads(line) for line in lines], figures)
    (folder / "curve.svg").write_text(picture, encoding="utf-8")
