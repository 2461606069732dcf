"""Whether the entropy law holds on some rounds: what it explains, how sure its slope is. No torch.

Everything is measured against the flat law, which gives all rounds one p: where every round has the
same room, that is the mean, and R2 is the usual one.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from glance.law import LEAST_ROUNDS, Law, Rounds, fit, fit_flat
from glance.law_pages import b1_interval, mean_interval

DECILES, CEILING_BINS = 10, 50
LEAST_A_BIN = 5  # rounds
HISTOGRAM = (0.0, 0.001, 0.01, 0.05, 0.15, 0.5, 1.5, math.inf)  # nats
MIDDLE = (0.05, 1.5)  # nats: where the law can be told from a constant

#: the paper's conditions for a fit to hold, in words
CONDITIONS = FALLS, ORDERED, EXPLAINS, SOUND = (
    "b1 above 0",
    "rho below 0 with p under 0.05",
    "R2 by decile of 0.5, or by round of half the ceiling",
    "mean a of 0.15 at least, b1 of 25 at most",
)


@dataclass(frozen=True, slots=True)
class Bin:
    """Rounds of similar entropy."""

    entropy: float  # mean, nats
    accepted: float  # mean a
    ci: tuple[float, float]  # 95% of mean a
    expected: float  # mean of what the law expects of these rounds
    flat: float  # the same of the flat law
    rounds: int


@dataclass(frozen=True, slots=True)
class Checked:
    """The law on one group of rounds; all but the counts is None with too few of them."""

    pages: int
    rounds: int
    cut: int  # rounds that the end of the answer left less room than the block
    mean_accepted: float
    law: Law | None = None
    b1_ci: tuple[float, float] | None = None  # 95%; None with a single page
    r2_rounds: float | None = None
    r2_deciles: float | None = None
    ceiling: float | None = None  # R2 by round of the best function of entropy, in 50 steps
    rho: float | None = None  # Spearman, entropy against accepted
    rho_p: float | None = None  # two-sided; takes rounds for independent
    held_out: float | None = None  # R2 by round on the half of the pages that was not fitted
    deciles: tuple[Bin, ...] = ()
    conditions: dict[str, bool] | None = None

    @property
    def holds(self) -> bool | None:
        """Whether all of the paper's conditions are met."""
        return None if self.conditions is None else all(self.conditions.values())


def check(rounds: Rounds) -> Checked:
    """Fit the law to a group, which has one round at least, and measure how well it does."""
    counted = Checked(
        pages=len(np.unique(rounds.page)),
        rounds=len(rounds),
        cut=int((rounds.room < rounds.room.max()).sum()),
        mean_accepted=float(rounds.accepted.mean()),
    )
    if len(rounds) < LEAST_ROUNDS:
        return counted
    law, flat = fit(rounds), fit_flat(rounds)
    deciles = curve(rounds, law, flat)
    r2_rounds, r2_deciles = r2(rounds, law, flat), r2_of(deciles)
    ceiling = entropy_ceiling(rounds, flat)
    rho, p = spearman(rounds.entropy, rounds.accepted)
    explains = (r2_deciles is not None and r2_deciles >= 0.5) or (
        r2_rounds is not None and ceiling is not None and r2_rounds >= 0.5 * ceiling
    )
    return replace(
        counted,
        law=law,
        b1_ci=b1_interval(rounds, law),
        r2_rounds=r2_rounds,
        r2_deciles=r2_deciles,
        ceiling=ceiling,
        rho=rho,
        rho_p=p,
        held_out=held_out(rounds),
        deciles=tuple(deciles),
        conditions={
            FALLS: law.b1 > 0,
            ORDERED: rho is not None and p is not None and rho < 0 and p < 0.05,
            EXPLAINS: explains,
            SOUND: counted.mean_accepted >= 0.15 and law.b1 <= 25,
        },
    )


# --- how much is explained
def r2(rounds: Rounds, law: Law, flat: Law) -> float | None:
    """Share of the flat law's squared error that the law takes away; None where there is none."""
    return _share(
        float(((rounds.accepted - law.expected(rounds.entropy, rounds.room)) ** 2).sum()),
        float(((rounds.accepted - flat.expected(rounds.entropy, rounds.room)) ** 2).sum()),
    )


def r2_of(bins: Sequence[Bin]) -> float | None:
    """The same on means of bins."""
    return _share(
        sum((one.accepted - one.expected) ** 2 for one in bins),
        sum((one.accepted - one.flat) ** 2 for one in bins),
    )


def entropy_ceiling(rounds: Rounds, flat: Law) -> float | None:
    """R2 by round of a p of its own in each of 50 quantile bins, fewer where bins would be thin.

    Noise alone lifts it by about bins over rounds.
    """
    bins = min(CEILING_BINS, max(1, len(rounds) // LEAST_A_BIN))
    left = 0.0
    for one in _quantile_bins(rounds, bins):
        expected = fit_flat(one).expected(one.entropy, one.room)
        left += float(((one.accepted - expected) ** 2).sum())
    whole = float(((rounds.accepted - flat.expected(rounds.entropy, rounds.room)) ** 2).sum())
    return _share(left, whole)


def held_out(rounds: Rounds) -> float | None:
    """Fit on half the pages; R2 by round on the others, against a flat law of their own."""
    pages = np.random.default_rng(0).permutation(np.unique(rounds.page))
    seen = np.isin(rounds.page, pages[: len(pages) // 2])
    fitted, rest = rounds.where(seen), rounds.where(~seen)
    if min(len(fitted), len(rest)) < LEAST_ROUNDS:
        return None
    return r2(rest, fit(fitted), fit_flat(rest))


def curve(rounds: Rounds, law: Law, flat: Law) -> list[Bin]:
    """Mean a by deciles of entropy, those with fewer than five rounds left out."""
    found = []
    for one in _quantile_bins(rounds, DECILES):
        if len(one) < LEAST_A_BIN:
            continue
        found.append(
            Bin(
                entropy=float(one.entropy.mean()),
                accepted=float(one.accepted.mean()),
                ci=mean_interval(one),
                expected=float(law.expected(one.entropy, one.room).mean()),
                flat=float(flat.expected(one.entropy, one.room).mean()),
                rounds=len(one),
            )
        )
    return found


def spearman(x: np.ndarray, y: np.ndarray) -> tuple[float | None, float | None]:
    """Rank correlation and its two-sided p, by the normal approximation; None of a constant."""
    ranks = np.stack((_ranks(x), _ranks(y)))
    ranks -= ranks.mean(axis=1, keepdims=True)
    spread = math.sqrt(float((ranks[0] ** 2).sum() * (ranks[1] ** 2).sum()))
    if spread == 0:
        return None, None
    rho = float(ranks[0] @ ranks[1]) / spread
    return rho, math.erfc(abs(rho) * math.sqrt((len(x) - 1) / 2))


def histogram(entropy: np.ndarray) -> list[tuple[float, float, float]]:
    """(from, below, share of rounds) of each range in HISTOGRAM, in nats."""
    counts = np.histogram(entropy, HISTOGRAM)[0]
    shares = counts / max(1, len(entropy))
    return list(zip(HISTOGRAM[:-1], HISTOGRAM[1:], shares.tolist(), strict=True))


def middle_share(entropy: np.ndarray) -> float:
    """Share of rounds whose entropy is neither next to nothing nor past the law's reach."""
    low, high = MIDDLE
    return float(((entropy >= low) & (entropy <= high)).mean()) if len(entropy) else 0.0


# --- small statistics
def _quantile_bins(rounds: Rounds, most: int) -> list[Rounds]:
    """Rounds by quantiles of entropy, rising; equal ones share a bin, so there may be fewer."""
    edges = np.unique(np.quantile(rounds.entropy, np.linspace(0, 1, most + 1)[1:-1]))
    place = np.searchsorted(edges, rounds.entropy, side="right")
    return [rounds.where(place == one) for one in np.unique(place)]


def _ranks(values: np.ndarray) -> np.ndarray:
    """Ranks from 0 as floats; equal values share the mean of theirs."""
    _, place, counts = np.unique(values, return_inverse=True, return_counts=True)
    ends = np.cumsum(counts)
    return (ends - (counts + 1) / 2)[place]


def _share(left: float, whole: float) -> float | None:
    return 1 - left / whole if whole > 0 else None
