"""What a probe found: tables of rows, and what each of its claims came to. No torch."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

HOLDS, STANDS, REFUTED, OPEN = "holds", "not refuted", "refuted", "not settled"


class ProbeError(ValueError):
    """The probe cannot be made so; the message is one plain sentence."""


@dataclass(frozen=True, slots=True)
class Estimate:
    """A figure and its 95% interval over pages."""

    value: float
    ci: tuple[float, float] | None  # None with a single page

    def __str__(self) -> str:
        """Both, to two digits."""
        if self.ci is None:
            return f"{self.value:.2f}"
        return f"{self.value:.2f} ({self.ci[0]:.2f} to {self.ci[1]:.2f})"


Row = dict[str, Any]  # column -> text, number, Estimate or None


@dataclass(frozen=True, slots=True)
class Table:
    """Rows of one kind."""

    title: str
    rows: list[Row]


@dataclass(frozen=True, slots=True)
class Finding:
    """One claim and what became of it."""

    claim: str
    figure: str  # what was estimated, in words
    estimate: Estimate | None
    verdict: str  # one of the four above


@dataclass(frozen=True, slots=True)
class Outcome:
    """All that a probe has to say."""

    tables: list[Table]
    findings: list[Finding]


def above(claim: str, figure: str, estimate: Estimate | None, bound: float = 0.0) -> Finding:
    """A claim that a figure is over a bound: refuted when its whole interval is under it."""
    verdict = OPEN
    if estimate and estimate.ci:
        low, high = estimate.ci
        verdict = HOLDS if low > bound else REFUTED if high < bound else OPEN
    return Finding(claim, figure, estimate, verdict)


def zero(claim: str, figure: str, estimate: Estimate | None) -> Finding:
    """A claim that a figure is 0: refuted when its interval leaves 0 out, and never proved."""
    verdict = OPEN
    if estimate and estimate.ci:
        verdict = STANDS if estimate.ci[0] <= 0 <= estimate.ci[1] else REFUTED
    return Finding(claim, figure, estimate, verdict)
