"""What small pictures share: a frame that is legible on light and on dark pages."""

from __future__ import annotations

from collections.abc import Sequence


def picture(width: float, height: float, parts: Sequence[str]) -> str:
    """An SVG file of `parts`, on white whatever page it stands on; sizes are in px."""
    head = (
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width:g} {height:g}" '
        'font-family="sans-serif" font-size="12">'
    )
    ground = f'<rect width="{width:g}" height="{height:g}" fill="#ffffff"/>'
    return "\n".join([head, ground, *parts, "</svg>"]) + "\n"
