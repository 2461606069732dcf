"""Colours by meaning, in one place: the style sheet and the Plotly views read the same names.

Each pair is (light, dark). Text colours keep a contrast of 4.5:1 on `card` and on `page`.
"""

from __future__ import annotations

COLOURS: dict[str, tuple[str, str]] = {
    # surfaces and text
    "page": ("#f5f6f8", "#0d1015"),
    "card": ("#ffffff", "#151a21"),
    "sunken": ("#f0f2f5", "#0f1319"),
    "line": ("#dfe3e9", "#2b323d"),
    "ink": ("#12161d", "#e9edf3"),
    "muted": ("#535d6d", "#9da9b9"),
    "accent": ("#0b6b63", "#3fd0bd"),
    "on-accent": ("#ffffff", "#04211e"),
    # where a token comes from
    "drafted": ("#0b6b63", "#4fd8c6"),
    "bonus": ("#8a5200", "#f6bd4f"),
    "corrected": ("#a81e57", "#ff8db4"),
    "target": ("#475467", "#b9c4d3"),
    # what became of a candidate
    "accepted": ("#0b6b63", "#4fd8c6"),
    "rejected": ("#5f697b", "#8b97a8"),
    # the stages of a round
    "draft": ("#0b6b63", "#4fd8c6"),
    "build": ("#8a5200", "#f6bd4f"),
    "verify": ("#475467", "#b9c4d3"),
    "accept": ("#2450c4", "#93b4ff"),
    "commit": ("#a81e57", "#ff8db4"),
    "other": ("#5f697b", "#8b97a8"),
    # what was read from the page
    "copied": ("#2450c4", "#93b4ff"),
    # states of the badge
    "good": ("#0b6b3a", "#5fdc97"),
    "warn": ("#8a5200", "#f6bd4f"),
    "bad": ("#b42318", "#ff9a8f"),
}

TEXT_COLOURS = tuple(name for name in COLOURS if name not in ("page", "card", "sunken", "line"))


def css_variables() -> str:
    """The colours as CSS custom properties `--g-NAME`, for both themes."""
    light = "".join(f"--g-{name}:{pair[0]};" for name, pair in COLOURS.items())
    dark = "".join(f"--g-{name}:{pair[1]};" for name, pair in COLOURS.items())
    return f":root{{{light}}}\n.dark{{{dark}}}\n"


def contrast(first: str, second: str) -> float:
    """Contrast ratio of two `#rrggbb` colours, 1 to 21 (WCAG 2.1, relative luminance)."""
    lighter, darker = sorted((_luminance(first), _luminance(second)), reverse=True)
    return (lighter + 0.05) / (darker + 0.05)


def _luminance(colour: str) -> float:
    channels = (int(colour[i : i + 2], 16) / 255 for i in (1, 3, 5))
    red, green, blue = (
        c / 12.92 if c <= 0.03928 else ((c + 0.055) / 1.055) ** 2.4 for c in channels
    )
    return 0.2126 * red + 0.7152 * green + 0.0722 * blue
