"""What a bench measured, as bars: an SVG from its JSON, with nothing but the standard library.

A lane of each drafter of the bench, task by task, and then over the grounded tasks where that was
measured.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from html import escape
from typing import Any

from glance.markdown import with_interval
from glance.report import grounded_means, shown_lanes
from glance.svg import picture

WIDTH, LEFT, RIGHT, TOP, BOTTOM = 720, 92, 126, 50, 26  # px; bars lie between LEFT and RIGHT
BAR, GAP = 16, 12  # height of a bar, space between groups
#: of the drafters, as they stand in the bench
COLOURS = (
    "#1d4ed8",
    "#ea580c",
    "#15803d",
    "#7e22ce",
    "#b91c1c",
    "#0e7490",
    "#a16207",
    "#be185d",
    "#52525b",
)
KEYS, KEY_HEIGHT = 4, 18  # names of drafters in a row, px
INK, GRID = "#18181b", "#d4d4d8"


@dataclass(frozen=True, slots=True)
class Bar:
    """One drafter's speed-up on one task."""

    group: str
    drafter: int  # place in the bench
    speedup: float | None  # None: another answer than plain decoding's
    ci: Sequence[float] | None  # low, high


def draw(bench: dict[str, Any]) -> str:
    """An SVG of the speed-ups: a group of bars for each task, whiskers are 95% intervals.

    Raises:
        ReportError: nothing was drafted.
        KeyError: a field is missing.
    """
    names = shown_lanes(bench)
    head = TOP + KEY_HEIGHT * ((len(names) - 1) // KEYS)
    bars = _bars(bench, names)
    groups = list(dict.fromkeys(bar.group for bar in bars))
    group_height = BAR * len(names) + GAP
    height = head + group_height * len(groups) + BOTTOM
    reach = max(max(bar.speedup or 1.0, *(bar.ci or (1.0,)), 1.0) for bar in bars) * 1.02
    scale = (WIDTH - LEFT - RIGHT) / reach
    parts = [
        "<title>Decode speed-up over plain decoding, by task</title>",
        f'<text x="{LEFT}" y="18" font-weight="bold" fill="{INK}">'
        "Decode speed-up over plain decoding (whiskers: 95% bootstrap over answers)</text>",
        *(_key(place, name) for place, name in enumerate(names)),
        *_axis(reach, scale, head, height),
    ]
    for number, group in enumerate(groups):
        top = head + GAP / 2 + group_height * number
        middle = top + (group_height - GAP) / 2 + 4
        parts.append(_text(LEFT - 8, middle, group, 'text-anchor="end"'))
        parts += [
            part
            for bar in bars
            if bar.group == group
            for part in _bar(bar, top + BAR * bar.drafter, scale)
        ]
    return picture(WIDTH, height, parts)


def _bars(bench: dict[str, Any], names: Sequence[str]) -> list[Bar]:
    bars = [
        Bar(row["task"], names.index(row["drafter"]), row["speedup"], row["speedup_ci"])
        for row in bench["rows"]
        if row["drafter"] in names
    ]
    for place, name in enumerate(names):
        bars += [
            Bar("grounded", place, mean["grounded_speedup"], mean["grounded_speedup_ci"])
            for mean in grounded_means(bench, name)
        ]
    return bars


def _key(place: int, name: str) -> str:
    row, column = divmod(place, KEYS)
    x, y = LEFT + 130 * column, 28 + KEY_HEIGHT * row
    square = f'<rect x="{x}" y="{y}" width="12" height="12" fill="{COLOURS[place]}"/>'
    return square + _text(x + 18, y + 10, name)


def _axis(reach: float, scale: float, head: float, height: float) -> list[str]:
    """A line at every step, and a stronger one at 1, where nothing is gained."""
    step = 0.5 if reach < 5 else 1.0
    parts = []
    for number in range(int(reach / step) + 1):
        x = LEFT + scale * step * number
        colour, width = (INK, 1.5) if step * number == 1.0 else (GRID, 1)
        path = f"M{x:.1f},{head}V{height - BOTTOM}"
        parts.append(f'<path d="{path}" stroke="{colour}" stroke-width="{width}"/>')
        label = f"{step * number:g}×"
        parts.append(_text(x, height - 8, label, 'text-anchor="middle"'))
    return parts


def _bar(bar: Bar, top: float, scale: float) -> list[str]:
    middle = top + BAR / 2
    if bar.speedup is None:
        return [_text(LEFT + 6, middle + 4, "another answer, so no figure")]
    end = LEFT + scale * bar.speedup
    parts = [
        f'<rect x="{LEFT}" y="{top + 1:.1f}" width="{end - LEFT:.1f}" height="{BAR - 2}" '
        f'fill="{COLOURS[bar.drafter]}"/>'
    ]
    if bar.ci is not None:
        low, end = LEFT + scale * bar.ci[0], max(end, LEFT + scale * bar.ci[1])
        caps = "".join(f"M{x:.1f},{middle - 4:.1f}v8" for x in (low, end))
        # white under black, so that it shows on the bar and beside it
        for colour, width in (("#ffffff", 3.5), (INK, 1.5)):
            path = f"M{low:.1f},{middle:.1f}H{end:.1f}{caps}"
            parts.append(f'<path d="{path}" stroke="{colour}" stroke-width="{width}"/>')
    label = with_interval(bar.speedup, bar.ci)
    halo = 'stroke="#ffffff" stroke-width="3" paint-order="stroke"'  # over lines of the grid
    parts.append(_text(end + 6, middle + 4, label, halo))
    return parts


def _text(x: float, y: float, text: str, more: str = "") -> str:
    return f'<text x="{x:.1f}" y="{y:.1f}" fill="{INK}" {more}>{escape(text)}</text>'
