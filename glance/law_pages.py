"""Intervals of the entropy law from whole pages drawn with replacement. No torch.

Rounds of one page resemble each other, so drawing rounds would make everything look too sure.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from glance.bench_rows import interval
from glance.law import LEAST_ROUNDS, Law, Rounds, fit

DRAWS = 1000  # fits
MEAN_DRAWS = 2000


@dataclass(frozen=True, slots=True)
class Difference:
    """How much steeper the law is in one group than in another."""

    b1: float
    ci: tuple[float, float] | None  # 95%; None with a single page


def b1_interval(rounds: Rounds, law: Law, draws: int = DRAWS) -> tuple[float, float] | None:
    """95% of b1; None with a single page."""
    pages, page = np.unique(rounds.page, return_inverse=True)
    if len(pages) < 2:
        return None
    drawn = [fit(rounds, times[page], law).b1 for times in _page_counts(len(pages), draws)]
    return interval(np.array(drawn))


def difference(first: Rounds, second: Rounds, draws: int = DRAWS) -> Difference | None:
    """b1 of the first group less that of the second; they may share pages, which go together."""
    if min(len(first), len(second)) < LEAST_ROUNDS:
        return None
    laws = fit(first), fit(second)
    b1 = laws[0].b1 - laws[1].b1
    pages, page = np.unique(np.concatenate((first.page, second.page)), return_inverse=True)
    if min(len(np.unique(first.page)), len(np.unique(second.page))) < 2:
        return Difference(b1, None)
    drawn = []
    for times in _page_counts(len(pages), draws):
        own, others = times[page[: len(first)]], times[page[len(first) :]]
        if own.any() and others.any():  # a draw may miss all pages of a small group
            drawn.append(fit(first, own, laws[0]).b1 - fit(second, others, laws[1]).b1)
    return Difference(b1, interval(np.array(drawn)))


def _page_counts(pages: int, draws: int) -> np.ndarray:
    """How often each page was drawn: [draws, pages]."""
    return np.random.default_rng(0).multinomial(pages, np.full(pages, 1 / pages), draws)


def mean_interval(rounds: Rounds) -> tuple[float, float]:
    """95% of mean a."""
    pages, page = np.unique(rounds.page, return_inverse=True)
    times = _page_counts(len(pages), MEAN_DRAWS)
    sums = times @ np.bincount(page, weights=rounds.accepted)
    return interval(sums / (times @ np.bincount(page)))
