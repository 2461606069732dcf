"""Numbers and token text for people: the views and the page's words share these."""

from __future__ import annotations

#: the lanes' names in words; core.js has the same
LANES = {
    "glance": "GLANCE",
    "glance-chain": "GLANCE chain",
    "eagle3": "EAGLE-3",
    "eagle2": "EAGLE-2",
    "medusa": "Medusa",
    "vispec": "ViSpec",
    "hivis": "HiViS",
    "ngram": "Prompt lookup",
    "ar": "Token by token",
}

SPACE, NEWLINE, TAB, RETURN, NOTHING = "␣", "⏎", "⇥", "␍", "∅"


def visible(text: str) -> str:
    """Token text with its whitespace as glyphs, so that a token of one space can be seen.

    Spaces at either end become glyphs, those inside stay; a token without text is shown as ∅.
    """
    if not text:
        return NOTHING
    core = text.strip(" ")
    lead = len(text) - len(text.lstrip(" "))
    trail = len(text) - lead - len(core)
    core = core.replace("\r", RETURN).replace("\n", NEWLINE).replace("\t", TAB)
    return SPACE * lead + core + SPACE * trail


def escape(text: str) -> str:
    """Text that Plotly will draw as it stands: it reads tags and entities in labels."""
    return text.replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;")


def lane_name(lane: str) -> str:
    """A lane's name for people; a lane of an opened trace may have any."""
    return LANES.get(lane, lane)


def label(text: str, limit: int = 8) -> str:
    """Token text for a Plotly label: visible, shortened to `limit` characters, escaped."""
    shown = visible(text)
    return escape(shown if len(shown) <= limit else shown[: limit - 1] + "…")


def milliseconds(value: float) -> str:
    """A duration in ms as "240 ms" or "1.32 s"."""
    return f"{value:.0f} ms" if value < 1000 else f"{value / 1000:.2f} s"


def ratio(value: float) -> str:
    """A factor as "2.9×"."""
    return f"{value:.1f}×" if value >= 0.95 else f"{value:.2f}×"


def count(number: int, noun: str) -> str:
    """A number with its noun: "1 token", "12 tokens", "2 passes"."""
    plural = noun + ("es" if noun.endswith(("s", "x", "ch")) else "s")
    return f"{number:,} {noun if number == 1 else plural}"
