"""The curve of a training as a picture: error rate and exact answers against hours."""

import json
from collections.abc import Sequence
from pathlib import Path

from glance.svg import picture

WIDTH, HEIGHT, LEFT, BOTTOM, TOP = 640, 320, 48, 40, 24
COLOURS = {"cer": "#c2410c", "exact": "#1d4ed8"}
NAMES = {"cer": "character error rate, %", "exact": "exact answers, %"}


def draw_curve(points: Sequence[dict[str, float]]) -> str:
    """An SVG of `points`, each with minutes, cer and exact (shares of 1)."""
    longest = max(p["minutes"] for p in points) / 60
    across = (WIDTH - LEFT - 16) / max(longest, 0.1)
    down = HEIGHT - TOP - BOTTOM

    def place(minutes: float, share: float) -> str:
        y = TOP + down * (1 - min(share, 1.0))
        return f"{LEFT + across * minutes / 60:.1f},{y:.1f}"

    parts = []
    for share in (0.0, 0.25, 0.5, 0.75, 1.0):
        y = TOP + down * (1 - share)
        parts.append(f'<path d="M{LEFT},{y:.1f}H{WIDTH - 16}" stroke="#d4d4d8"/>')
        parts.append(f'<text x="{LEFT - 6}" y="{y + 4:.1f}" text-anchor="end">{share:.0%}</text>')
    step = 0.25 if longest < 2 else 1.0
    for n in range(int(longest / step) + 1):
        x = LEFT + across * n * step
        parts.append(
            f'<text x="{x:.1f}" y="{HEIGHT - 22}" text-anchor="middle">{n * step:g} h</text>'
        )
    for row, (key, colour) in enumerate(COLOURS.items()):
        line = " ".join(place(p["minutes"], p[key]) for p in points)
        parts.append(f'<polyline points="{line}" fill="none" stroke="{colour}" stroke-width="2"/>')
        for p in points:
            at = place(p["minutes"], p[key]).split(",")
            parts.append(f'<circle cx="{at[0]}" cy="{at[1]}" r="3" fill="{colour}"/>')
        parts.append(
            f'<text x="{LEFT + 220 * row}" y="{HEIGHT - 5}" fill="{colour}">{NAMES[key]}</text>'
        )
    return picture(WIDTH, HEIGHT, parts)


def write_curve(folder: Path) -> None:
    """Draw `folder`/curve.jsonl to `folder`/curve.svg."""
    lines = (folder / "curve.jsonl").read_text().splitlines()
    (folder / "curve.svg").write_text(draw_curve([json.loads(line) for line in lines]))
