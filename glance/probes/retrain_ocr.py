"""retrain-ocr: does more transcription data help where the entropy law says there is room?

Two heads answer the same questions: the one at hand, and one trained on with extra transcriptions
(`--retrained FOLDER`). The law is fitted to all rounds of the first. A task's headroom is what the
law expects of its rounds less what they accepted: a task below the curve has been learnt less well
than its entropy allows. (How the paper measures room is not known here.)

Claim 1: transcriptions are drafted better. Refuted if the whole 95% interval of the change of their
tau lies below 0.
Claim 2: tasks gain where they have headroom. Refuted if the whole interval of the slope of gain
over headroom, a point a task, lies below 0. Headroom is read off pages of even number and gain off
the others, so that chance in one page is not taken for both. It needs three tasks.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from glance.forced import read
from glance.probes.asked import Setup, asked
from glance.probes.outcome import Estimate, Outcome, ProbeError, Row, Table, above
from glance.probes.resampled import Resampled, estimate, groups, of
from glance.probes.rounds import Round, Shape, replay


def run(setup: Setup) -> Outcome:
    """Every answer with both heads.

    Raises:
        ProbeError: there is no second head.
    """
    if setup.retrained is None:
        raise ProbeError("Name the head that was trained on with transcriptions: --retrained.")
    before: list[Round] = []
    after: list[Round] = []
    for one in asked(setup):
        for drafter, rounds in ((setup.drafter, before), (setup.retrained, after)):
            states = read(setup.target, one.prompt, one.answer, drafter.taps)
            rounds += replay(drafter, states, one, {"": Shape(setup.node_budget)})[""]
    sample = Resampled(before)
    laws = sample.laws(before)

    def room(rounds: Sequence[Round]) -> np.ndarray:
        return sample.expected(rounds, laws) - sample.accepted(rounds)

    rows: list[Row] = []
    for name, tasks in groups(before).items():
        first, second = of(before, tasks), of(after, tasks)
        taus = sample.tau(first), sample.tau(second)
        rows.append(
            {
                "task": name,
                "tau": estimate(taus[0]),
                "retrained": estimate(taus[1]),
                "change": estimate(taus[1] - taus[0]),
                "headroom": estimate(room(first)),
            }
        )
    points = []
    for task in dict.fromkeys(one.task for one in before):
        even = [one for one in of(before, {task}) if one.page % 2 == 0]
        odd = [[one for one in of(rounds, {task}) if one.page % 2] for rounds in (before, after)]
        points.append((room(even), sample.accepted(odd[1]) - sample.accepted(odd[0])))
    change = sample.tau(of(after, {"transcribe"})) - sample.tau(of(before, {"transcribe"}))
    return Outcome(
        [Table("both heads on the same answers", rows)],
        [
            above("1: transcriptions are drafted better", "change of tau", estimate(change)),
            above("2: gain follows headroom", "tokens gained a token of room", slope(points)),
        ],
    )


def slope(points: Sequence[tuple[np.ndarray, np.ndarray]]) -> Estimate | None:
    """Of the line through (headroom, gain); None with fewer than three points."""
    if len(points) < 3:
        return None
    x, y = np.array(points).transpose(1, 0, 2)  # [points, 1 + draws] each
    x, y = x - x.mean(axis=0), y - y.mean(axis=0)
    with np.errstate(invalid="ignore"):  # no slope where all tasks have the same headroom
        return estimate((x * y).sum(axis=0) / (x * x).sum(axis=0))
