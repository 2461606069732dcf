"""Tables and figures in Markdown. No torch."""

from __future__ import annotations

from collections.abc import Sequence


def table(heads: Sequence[str], rows: Sequence[Sequence[str]]) -> list[str]:
    """The lines of a table."""
    return [f"| {' | '.join(cells)} |" for cells in (heads, ["---"] * len(heads), *rows)]


def figure(value: float | None) -> str:
    """Two digits after the point; a dash where there is no figure."""
    return "–" if value is None else f"{value:.2f}"


def with_interval(value: float | None, ci: Sequence[float] | None) -> str:
    """Such as "1.48 (1.39 to 1.58)"; a dash where there is no figure."""
    return figure(value) + ("" if ci is None else f" ({ci[0]:.2f} to {ci[1]:.2f})")
