"""Figures over rounds, with intervals from whole pages drawn with replacement.

Tasks share pages and arms share questions, so one set of draws serves all that is compared: every
array here has the measured figure first and then one for each draw, and differences and ratios of
such arrays are again of this kind.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

import numpy as np

from glance.bench_rows import GROUNDED, interval
from glance.law import LEAST_ROUNDS, Law, fit
from glance.probes.outcome import Estimate, ProbeError
from glance.probes.rounds import Round, law_rounds

DRAWS = 1000
GROUNDED_GROUP, ALL = "grounded", "all tasks"


class Resampled:
    """Pages, and how often each draw has them."""

    def __init__(self, rounds: Iterable[Round]) -> None:
        """Rounds of all arms of a probe.

        Raises:
            ProbeError: there are none.
        """
        pages = sorted({one.page for one in rounds})
        if not pages:
            raise ProbeError("No answer is longer than one token, so there are no rounds.")
        self._place = {page: place for place, page in enumerate(pages)}
        shares = np.full(len(pages), 1 / len(pages))
        drawn = np.random.default_rng(0).multinomial(len(pages), shares, DRAWS)
        self._times = np.vstack((np.ones(len(pages), dtype=int), drawn))  # [1 + draws, pages]

    def mean(self, rounds: Sequence[Round], values: Sequence[float]) -> np.ndarray:
        """Of one value a round; nan in draws without any round, and in all of a single page."""
        places, pages = self._places(rounds), len(self._place)
        sums = self._times @ np.bincount(places, weights=values, minlength=pages)
        counts = (self._times @ np.bincount(places, minlength=pages)).astype(float)
        counts[counts == 0] = np.nan
        if len(np.unique(places)) < 2:
            counts[1:] = np.nan
        return sums / counts

    def tau(self, rounds: Sequence[Round]) -> np.ndarray:
        """Tokens a round."""
        return self.mean(rounds, [one.committed for one in rounds])

    def accepted(self, rounds: Sequence[Round]) -> np.ndarray:
        """Mean a."""
        return self.mean(rounds, [one.accepted for one in rounds])

    def entropy(self, rounds: Sequence[Round]) -> np.ndarray:
        """Mean H, nats."""
        return self.mean(rounds, [one.entropy for one in rounds])

    def laws(self, rounds: Sequence[Round]) -> list[Law]:
        """The entropy law fitted to the rounds, and to those of each draw.

        Raises:
            ProbeError: there are too few to fit one.
        """
        if len(rounds) < LEAST_ROUNDS:
            raise ProbeError(f"There are only {len(rounds)} rounds: a law needs {LEAST_ROUNDS}.")
        columns, places = law_rounds(rounds), self._places(rounds)
        first = fit(columns)
        return [first, *(fit(columns, times[places], first) for times in self._times[1:])]

    def expected(
        self, rounds: Sequence[Round], laws: Sequence[Law], sure: bool = False
    ) -> np.ndarray:
        """Mean a that each draw's law expects of its rounds; if `sure`, were H = 0 in them all."""
        columns, places = law_rounds(rounds), self._places(rounds)
        h = np.zeros(len(rounds)) if sure else columns.entropy
        means = np.full(len(laws), np.nan)
        for draw, (law, times) in enumerate(zip(laws, self._times, strict=True)):
            if times[places].any():
                means[draw] = np.average(law.expected(h, columns.room), weights=times[places])
        return means

    def _places(self, rounds: Sequence[Round]) -> np.ndarray:
        return np.array([self._place[one.page] for one in rounds], dtype=int)


def estimate(figures: np.ndarray) -> Estimate | None:
    """The measured figure and the middle 95% of the draws; None where there is no figure."""
    if not np.isfinite(figures[0]):
        return None
    draws = figures[1:][np.isfinite(figures[1:])]
    return Estimate(float(figures[0]), interval(draws) if len(draws) else None)


def groups(rounds: Sequence[Round]) -> dict[str, set[str]]:
    """Tasks that have rounds, one by one; then the grounded ones and all, if they are several."""
    tasks = dict.fromkeys(one.task for one in rounds)
    named = {task: {task} for task in tasks}
    grounded = {task for task in tasks if task in GROUNDED}
    if len(grounded) > 1:
        named[GROUNDED_GROUP] = grounded
    if len(tasks) > 1:
        named[ALL] = set(tasks)
    return named


def of(rounds: Sequence[Round], tasks: set[str]) -> list[Round]:
    """The rounds of some tasks."""
    return [one for one in rounds if one.task in tasks]
