"""When to lower the learning rate and when to stop, from validation points. Pure.

A level of the rate is kept until validation gains little; then the next, lower one is tried, and
after the last of them training ends. Where the time is running out the levels follow anyway; what
was lowered for that reason alone is taken back when a resumed run has more time.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, field

SHARE = 0.1  # of the steps, over which a gain counts
LITTLE = 0.01  # gain, as a share of tau
LEAST_STEPS = 500  # before that nothing is called flat: some heads take their time to begin
CHECK_STEPS = 100  # at least, from one validation to the next
LEVELS = (1.0, 0.25, 0.06)  # of the learning rate
#: share of the time after which the rate is at each level, whatever validation says
LATEST = (0.0, 0.75, 0.9)


@dataclass(slots=True)
class Plateau:
    """What is known so far."""

    points: list[tuple[int, float]] = field(default_factory=list)  # steps and tau, ascending
    level: int = 0
    lowered: int = 0  # steps when the level last changed
    flat: int = 0  # levels that validation was flat at, one after the other from the first on
    raised: int = 0  # steps when a level was last taken back

    def next_check(self) -> int:
        """Steps at which to validate next: SHARE of the steps later."""
        steps = self.points[-1][0] if self.points else 0
        return max(steps + CHECK_STEPS, math.ceil(steps / (1 - SHARE)))

    def gain(self) -> tuple[float, int] | None:
        """Of tau over the last SHARE of the steps, or over more where no point is there; since.

        A higher rate is not measured against what a lower one reached.
        """
        if not self.points:
            return None
        steps, tau = self.points[-1]
        earlier = [p for p in self.points if self.raised < p[0] <= (1 - SHARE) * steps]
        if not earlier:
            return None
        since, before = earlier[-1]
        return tau / before - 1, since

    def is_flat(self) -> bool:
        """Whether tau gains little, at the level as it is."""
        steps, gain = self.points[-1][0] if self.points else 0, self.gain()
        if gain is None or steps < LEAST_STEPS or self.lowered > (1 - SHARE) * steps:
            return False
        return gain[0] < LITTLE

    def advance(self, steps: int, spent: float) -> float:
        """Go on to the next level if it is time, after `spent` (0 to 1) of it; the level's factor.

        Time passes between validations too, so this is for every step.
        """
        flat = self.is_flat()
        if self.level + 1 < len(LEVELS) and (flat or spent > LATEST[self.level + 1]):
            if flat and self.flat == self.level:
                self.flat += 1
            self.level, self.lowered = self.level + 1, steps
        return self.factor

    def resume(self, steps: int, spent: float) -> None:
        """Take back the levels that, with `spent` of the new time, are not yet due."""
        level = max(self.flat, sum(spent > latest for latest in LATEST[1:]))
        if level < self.level:
            self.level, self.lowered, self.raised = level, steps, steps

    @property
    def factor(self) -> float:
        """Of the learning rate, at the level as it is."""
        return LEVELS[self.level]

    def is_over(self) -> bool:
        """Whether there is no more to gain."""
        return self.level == len(LEVELS) - 1 and self.is_flat()
