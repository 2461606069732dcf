"""The entropy law: how many drafted tokens a round accepts, from how sure the target is. No torch.

    logit p = b0 - b1 H        E[a | H] = p + p^2 + ... + p^room = p (1 - p^room) / (1 - p)

H is the target's entropy in nats at the root row, a the drafted tokens that the round accepted, and
`room` the most it could have accepted: the block's offsets, fewer where the answer ends before.
Each offset is accepted with probability p as long as those before it were.
"""

from __future__ import annotations

from dataclasses import dataclass, fields

import numpy as np

LEAST_ROUNDS = 30  # fewer are not fitted
FAR = 30.0  # logits beyond it change nothing: 1 - p is 1e-13
STEPS = 100  # usually under ten are taken
SETTLED = 1e-9  # change of the mean squared error, in itself and one token, that ends the fit
STIFFEST = 1e12  # damping at which no step helps any more


@dataclass(frozen=True, slots=True, eq=False)
class Rounds:
    """Drafted rounds as columns, one entry a round."""

    entropy: np.ndarray  # [n] nats
    accepted: np.ndarray  # [n] drafted tokens
    room: np.ndarray  # [n] most that could have been accepted, 1 at least
    page: np.ndarray  # [n] which page: what happens on one page is not independent

    def __len__(self) -> int:
        """Number of rounds."""
        return len(self.entropy)

    def where(self, chosen: np.ndarray) -> Rounds:
        """Some of the rounds, by a mask or by indices."""
        return Rounds(*(getattr(self, column.name)[chosen] for column in fields(self)))


@dataclass(frozen=True, slots=True)
class Law:
    """The two figures of the law; `b1` is 0 where entropy says nothing."""

    b0: float
    b1: float

    def expected(self, entropy: np.ndarray, room: np.ndarray | float) -> np.ndarray:
        """Expected accepted tokens [n] at entropies [n]."""
        return expected_accepted(self.b0 - self.b1 * entropy, room)


def expected_accepted(logit: np.ndarray, room: np.ndarray | float) -> np.ndarray:
    """p (1 - p^room) / (1 - p) of p's logit [n]; exact for p near 0 and near 1 too."""
    x = np.clip(logit, -FAR, FAR)
    return np.exp(x) * -np.expm1(-room * np.log1p(np.exp(-x)))


def fit(rounds: Rounds, weights: np.ndarray | None = None, start: Law | None = None) -> Law:
    """The law that comes closest to the rounds' accepted tokens by least squares.

    Args:
        rounds: one at least; few of them give a fit, but not one to believe.
        weights: [n], how often each round counts; once by default.
        start: where the search begins; by default at the flat law, so that it ends no worse.
    """
    columns = np.stack((np.ones(len(rounds)), -rounds.entropy), axis=1)
    start = start or fit_flat(rounds, weights)
    b0, b1 = _least_squares(columns, rounds, weights, np.array([start.b0, start.b1]))
    return Law(float(b0), float(b1))


def fit_flat(rounds: Rounds, weights: np.ndarray | None = None) -> Law:
    """The same without entropy: one p for all rounds, b1 = 0."""
    start = np.array([_plain_logit(rounds, weights)])
    [b0] = _least_squares(np.ones((len(rounds), 1)), rounds, weights, start)
    return Law(float(b0), 0.0)


def _plain_logit(rounds: Rounds, weights: np.ndarray | None) -> float:
    """Of the p that would give the mean a without end of the block: mean / (1 + mean)."""
    mean = float(np.average(rounds.accepted, weights=weights))
    return float(np.log(max(mean, 1e-6)))


def _least_squares(
    columns: np.ndarray,  # [n, k]: the logits are columns @ beta
    rounds: Rounds,
    weights: np.ndarray | None,
    start: np.ndarray,  # [k]
) -> np.ndarray:  # beta [k]
    """Levenberg-Marquardt with damping scaled by the curvature of each figure."""
    weight = np.ones(len(rounds)) if weights is None else weights
    ridge = 1e-12 * np.eye(len(start))  # keeps a flat direction solvable: one entropy for all

    def residuals(beta: np.ndarray) -> tuple[np.ndarray, float]:
        left = rounds.accepted - expected_accepted(columns @ beta, rounds.room)
        return left, float(weight @ left**2)

    beta, damping = start, 1e-3
    left, cost = residuals(beta)
    for _ in range(STEPS):
        slopes = columns * _slope(columns @ beta, rounds.room)[:, None]
        curvature = (slopes * weight[:, None]).T @ slopes
        gradient = slopes.T @ (weight * left)
        while damping < STIFFEST:
            damped = curvature + damping * np.diag(np.diag(curvature)) + ridge
            tried = beta + np.linalg.solve(damped, gradient)
            new_left, new_cost = residuals(tried)
            if new_cost < cost:
                break
            damping *= 10.0
        else:
            return beta
        settled = cost - new_cost <= SETTLED * (cost + weight.sum())
        beta, left, cost = tried, new_left, new_cost
        damping = max(damping / 10.0, 1e-12)
        if settled:
            break
    return beta


def _slope(logit: np.ndarray, room: np.ndarray) -> np.ndarray:
    """Derivative of `expected_accepted` by the logit."""
    x = np.clip(logit, -FAR, FAR)
    log_p = -np.log1p(np.exp(-x))
    return expected_accepted(x, room) - room * np.exp((room + 1) * log_p)
