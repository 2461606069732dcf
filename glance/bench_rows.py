"""What a bench's samples add up to: rows, speed-ups and their intervals. No torch.

Counts are those of `glance.metrics`. Times are medians over repeats, a prompt at a time, then
summed over prompts; the prefill token is in no rate. A lane that gave another answer than plain
decoding on any prompt has no figures: what a wrong answer costs is of no interest. In half
precision an answer may part from plain decoding's at a near tie and be no worse: then times are
compared for as many tokens as the lane committed.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from statistics import median

import numpy as np

from glance.drafters.load import PLAIN
from glance.metrics import disconnected, tau

GENERATE = "generate"  # the model's own `generate()`
BARE = "bare"  # nothing but the model's forward, one row at a time
ORACLE = "oracle"  # proposes the true continuation
BASELINES = (PLAIN, GENERATE)  # speed-ups are over the faster of these
#: tasks whose answers are copied from the page or computed from it, with little freedom of words
GROUNDED = ("transcribe", "docvqa", "infovqa", "chartqa")

DRAWS = 10_000


@dataclass(frozen=True, slots=True)
class Sample:
    """One answer of one lane, timed once."""

    ids: tuple[int, ...]  # the prefill token included
    committed: tuple[int, ...]  # tokens of each round
    target_passes: int  # after the prefill
    drafter_passes: int
    nodes: int  # drafted and verified, of all rounds
    prefill_ms: float  # vision included
    decode_ms: float  # from the prefill token on, the first draft included
    ms: Mapping[str, float]  # decode window by stage; empty where the engine did not run
    #: tokens whose margin rounding can swap, in half precision where the engine ran
    uncertified: int | None = None


@dataclass(frozen=True, slots=True)
class Measured:
    """One lane on one prompt: its counts, and medians of its times over the repeats."""

    first_difference: int | None  # index of the first token unlike plain decoding's; None: equal
    answer_tokens: int
    characters: int  # of the text that the rounds added: without the prefill token's
    committed: tuple[int, ...]
    target_passes: int
    drafter_passes: int
    nodes: int
    decode_ms: float
    end_to_end_ms: float
    ms: Mapping[str, float]
    uncertified: int | None = None
    margin: float | None = None  # plain decoding's top-2 logit gap at the first difference
    near_tie: bool = False  # there, and one that rounding can swap: half precision only

    @property
    def strays(self) -> bool:
        """Whether it left plain decoding's answer by more than rounding explains."""
        return self.first_difference is not None and not self.near_tie


@dataclass(frozen=True, slots=True)
class Row:
    """One lane on one task. All figures are None where an answer strays from plain decoding's."""

    task: str
    drafter: str
    n: int  # prompts
    tau: float | None = None  # pooled over rounds
    tau_without_last: float | None = None
    chars_per_token: float | None = None  # characters that rounds added / tokens they committed
    chars_per_round: float | None = None  # the same / rounds: tau in characters
    target_passes: int | None = None  # of all prompts, prefill not counted
    drafter_passes: float | None = None  # sequential forwards a round
    nodes: float | None = None  # drafted and verified, a round
    tokens: int | None = None  # committed in rounds: without the prefill tokens
    rounds: int | None = None
    answer_tokens_mean: float | None = None  # the prefill token and a final EOS included
    ms_per_token: float | None = None  # decode window
    ms_per_token_e2e: float | None = None  # vision and prefill included
    speedup: float | None = None  # over the faster of ar and generate, decode window
    speedup_e2e: float | None = None
    speedup_ci: tuple[float, float] | None = None  # 95%; None with fewer than two prompts
    oracle_share: float | None = None  # of the oracle's speed, decode window
    shares: dict[str, float] | None = None  # of the decode window, by stage
    uncertified: int | None = None  # of all answers' tokens; None in full precision


@dataclass(frozen=True, slots=True)
class Mean:
    """One drafter over all tasks."""

    drafter: str
    tau: float  # arithmetic mean
    nodes: float  # drafted and verified a round, arithmetic mean
    speedup: float  # geometric means from here on
    speedup_e2e: float
    speedup_ci: tuple[float, float] | None
    oracle_share: float
    grounded_tau: float | None  # the same over GROUNDED; None unless all of them were measured
    grounded_speedup: float | None
    grounded_speedup_ci: tuple[float, float] | None


@dataclass(frozen=True, slots=True)
class Mismatch:
    """Where a lane first left plain decoding's answer."""

    task: str
    drafter: str
    prompt: int  # index within the task
    at: int  # token
    margin: float | None  # plain decoding's top-2 logit gap there; None where it had ended
    near_tie: bool

    def __str__(self) -> str:
        """One plain sentence."""
        apart = "" if self.margin is None else f", its two best logits {self.margin:.2g} apart"
        follows = "a near tie" if self.near_tie else "so no figures are given"
        return (
            f"{self.drafter} on {self.task}: the answer to prompt {self.prompt} differs from "
            f"{PLAIN}'s at token {self.at}{apart}, {follows}."
        )


Results = Mapping[str, Mapping[str, Sequence[Measured]]]  # task -> lane -> one a prompt


def medians(
    samples: Sequence[Sample],
    answer: Sequence[int],  # plain decoding's
    characters: int,
    best_two: Sequence[tuple[Sequence[int], float]] = (),  # ids and logit gap, for each of them
    swap: float | None = None,  # the largest gap that rounding can close, in half precision
) -> Measured:
    """The repeats of one lane on one prompt."""
    first = samples[0]
    at: int | None = None
    margin: float | None = None
    near_tie = False
    for ids in dict.fromkeys(one.ids for one in samples):
        found = _difference(ids, answer)
        if found is None or (at is not None and not near_tie):
            continue
        at, margin, near_tie = found, None, False
        if at < len(best_two):
            two, margin = best_two[at]
            near_tie = swap is not None and margin <= swap and at < len(ids) and ids[at] in two
    return Measured(
        first_difference=at,
        margin=margin,
        near_tie=near_tie,
        answer_tokens=len(first.ids),
        characters=characters,
        committed=first.committed,
        target_passes=first.target_passes,
        drafter_passes=first.drafter_passes,
        nodes=first.nodes,
        decode_ms=median(s.decode_ms for s in samples),
        end_to_end_ms=median(s.prefill_ms + s.decode_ms for s in samples),
        ms={stage: median(s.ms[stage] for s in samples) for stage in first.ms},
        uncertified=first.uncertified,
    )


def mismatches(results: Results) -> list[Mismatch]:
    """Every prompt on which a lane gave another answer, near ties apart."""
    return [one for one in _differences(results) if not one.near_tie]


def near_ties(results: Results) -> list[Mismatch]:
    """Every prompt on which a lane parted from plain decoding where rounding decides."""
    return [one for one in _differences(results) if one.near_tie]


def _differences(results: Results) -> list[Mismatch]:
    return [
        Mismatch(task, drafter, number, one.first_difference, one.margin, one.near_tie)
        for task, lanes in results.items()
        for drafter, prompts in lanes.items()
        for number, one in enumerate(prompts)
        if one.first_difference is not None
    ]


def alarms(results: Results, names: Sequence[str]) -> list[str]:
    """Which of the lanes named, whose drafters read the target's states, seem not to get them."""
    pooled = {
        name: [t for lanes in results.values() for one in lanes[name] for t in one.committed]
        for name in names
    }
    told = (disconnected(name, committed) for name, committed in pooled.items())
    return [words for words in told if words]


def rows(results: Results) -> list[Row]:
    """A row for every task and lane, in the order in which they were measured."""
    return [
        _row(task, number, drafter, lanes)
        for number, (task, lanes) in enumerate(results.items())
        for drafter in lanes
    ]


def means(results: Results) -> list[Mean]:
    """Every drafter that has figures on all tasks, the oracle among them."""
    by_drafter: dict[str, list[Row]] = {}
    for row in rows(results):
        by_drafter.setdefault(row.drafter, []).append(row)
    return [
        mean
        for name, own in by_drafter.items()
        if name not in (*BASELINES, BARE) and (mean := _mean(own, results)) is not None
    ]


def _mean(own: Sequence[Row], results: Results) -> Mean | None:
    drafter = own[0].drafter
    taus = [row.tau for row in own if row.tau is not None]
    nodes = [row.nodes for row in own if row.nodes is not None]
    decode = [row.speedup for row in own if row.speedup is not None]
    whole = [row.speedup_e2e for row in own if row.speedup_e2e is not None]
    oracle = [row.oracle_share for row in own if row.oracle_share is not None]
    if not all(len(figures) == len(results) for figures in (taus, nodes, decode, whole, oracle)):
        return None
    draws = [
        _speedup_draws(lanes, drafter, number) for number, lanes in enumerate(results.values())
    ]
    grounded = [number for number, task in enumerate(results) if task in GROUNDED]
    complete = len(grounded) == len(GROUNDED)
    return Mean(
        drafter=drafter,
        tau=sum(taus) / len(taus),
        nodes=sum(nodes) / len(nodes),
        speedup=geometric_mean(decode),
        speedup_e2e=geometric_mean(whole),
        speedup_ci=mean_interval(draws),
        oracle_share=geometric_mean(oracle),
        grounded_tau=sum(taus[n] for n in grounded) / len(GROUNDED) if complete else None,
        grounded_speedup=geometric_mean([decode[n] for n in grounded]) if complete else None,
        grounded_speedup_ci=mean_interval([draws[n] for n in grounded]) if complete else None,
    )


def mean_interval(by_task: Sequence[np.ndarray | None]) -> tuple[float, float] | None:
    """Interval of the geometric mean of the tasks' speed-ups; None if a task has no usable draws.

    Noise can make the window of `generate()` negative on a very short answer, and so a draw.
    """
    draws = [np.log(one) for one in by_task if one is not None and one.min() > 0]
    return interval(np.exp(np.mean(draws, axis=0))) if len(draws) == len(by_task) else None


def plain_over(results: Results, other: str) -> dict[str, float]:
    """Task -> time of a plain token over that of another lane which decodes token by token.

    Against BARE it is what the engine adds to a one-row pass at the same context.
    """
    found = {}
    for task, lanes in results.items():
        if not {PLAIN, other} <= _equal(lanes):
            continue
        plain, theirs = (_total(lanes[name], _decode) for name in (PLAIN, other))
        if theirs:
            found[task] = plain / theirs
    return found


def paired_bootstrap(
    baseline: Sequence[float],  # [n] ms, a prompt each
    own: Sequence[float],  # [n] ms of the same prompts
    number: int = 0,  # of the task: tasks are resampled independently, lanes of a task alike
    draws: int = DRAWS,
) -> np.ndarray:  # [draws]
    """Speed-ups on resampled prompts; both times of a prompt are always drawn together.

    Both times are for as many tokens, so the ratio of their sums is that of ms a token.
    """
    picks = np.random.default_rng([0, number]).integers(len(own), size=(draws, len(own)))
    return np.asarray(baseline)[picks].sum(axis=1) / np.asarray(own)[picks].sum(axis=1)


def interval(draws: np.ndarray) -> tuple[float, float]:
    """The middle 95%."""
    low, high = np.quantile(draws, (0.025, 0.975))
    return float(low), float(high)


def geometric_mean(values: Sequence[float]) -> float:
    """Of positive values."""
    return math.exp(sum(map(math.log, values)) / len(values))


def _row(task: str, number: int, drafter: str, lanes: Mapping[str, Sequence[Measured]]) -> Row:
    own = lanes[drafter]
    equal = _equal(lanes)
    if drafter not in equal:
        return Row(task, drafter, n=len(own))
    committed = [tokens for one in own for tokens in one.committed]
    tokens, decode, whole = sum(committed), _total(own, _decode), _total(own, _end_to_end)
    characters = sum(one.characters for one in own)
    spent: dict[str, float] = {}
    for one in own:
        for stage, ms in one.ms.items():
            spent[stage] = spent.get(stage, 0.0) + ms
    draws = _speedup_draws(lanes, drafter, number)
    oracle = _alike(lanes[ORACLE], own, _decode) if ORACLE in equal else None
    return Row(
        task=task,
        drafter=drafter,
        n=len(own),
        tau=tau(committed),
        tau_without_last=tau([tokens for one in own for tokens in one.committed[:-1]]),
        chars_per_token=_over(characters, tokens),
        chars_per_round=_over(characters, len(committed)),
        target_passes=sum(one.target_passes for one in own),
        drafter_passes=_over(sum(one.drafter_passes for one in own), len(committed)),
        nodes=_over(sum(one.nodes for one in own), len(committed)),
        tokens=tokens,
        rounds=len(committed),
        answer_tokens_mean=sum(one.answer_tokens for one in own) / len(own),
        ms_per_token=_over(decode, tokens),
        ms_per_token_e2e=_over(whole, tokens),
        speedup=_over(_baseline(lanes, own, _decode), decode),
        speedup_e2e=_over(_baseline(lanes, own, _end_to_end), whole),
        speedup_ci=None if draws is None else interval(draws),
        oracle_share=_over(oracle, decode),
        shares={stage: ms / sum(spent.values()) for stage, ms in spent.items()}
        if any(spent.values())
        else None,
        uncertified=_sum([one.uncertified for one in own]),
    )


def _sum(counts: Sequence[int | None]) -> int | None:
    known = [count for count in counts if count is not None]
    return sum(known) if len(known) == len(counts) else None


def _decode(one: Measured) -> float:
    """Time in the decode window; a prompt answered by its prefill token alone has none."""
    return one.decode_ms if one.committed else 0.0


def _end_to_end(one: Measured) -> float:
    return one.end_to_end_ms


def _total(prompts: Sequence[Measured], window: Callable[[Measured], float]) -> float:
    return sum(map(window, prompts))


def _alike(
    theirs: Sequence[Measured], own: Sequence[Measured], window: Callable[[Measured], float]
) -> float:
    """Time of another lane, had it committed as many tokens as the own one on every prompt."""
    return sum(
        window(other) + _decode(other) * (_tokens_over(one, other) - 1)
        for other, one in zip(theirs, own, strict=True)
    )


def _tokens_over(one: Measured, other: Measured) -> float:
    """Tokens of one lane over those of the other; they are as many unless a near tie came."""
    if one.first_difference is None and other.first_difference is None:
        return 1.0
    return sum(one.committed) / max(1, sum(other.committed))


def _equal(lanes: Mapping[str, Sequence[Measured]]) -> set[str]:
    """Lanes that gave plain decoding's answer on every prompt, or parted at a near tie."""
    return {name for name, prompts in lanes.items() if not any(one.strays for one in prompts)}


def faster_baseline(
    lanes: Mapping[str, Sequence[Measured]], window: Callable[[Measured], float] = _decode
) -> str | None:
    """Of ar and generate the one that took less time in the window."""
    known = [name for name in BASELINES if name in _equal(lanes)]
    return min(known, key=lambda name: _alike(lanes[name], lanes[PLAIN], window), default=None)


def _baseline(
    lanes: Mapping[str, Sequence[Measured]],
    own: Sequence[Measured],  # whose tokens count
    window: Callable[[Measured], float],
) -> float | None:
    name = faster_baseline(lanes, window)
    return None if name is None else _alike(lanes[name], own, window)


def _speedup_draws(
    lanes: Mapping[str, Sequence[Measured]], drafter: str, number: int
) -> np.ndarray | None:
    name = faster_baseline(lanes)
    if name is None:
        return None
    pairs = [
        (_decode(plain) * _tokens_over(one, plain), _decode(one))
        for plain, one in zip(lanes[name], lanes[drafter], strict=True)
        if one.committed
    ]
    if len(pairs) < 2:
        return None
    baseline, own = zip(*pairs, strict=True)
    if not all(own):
        return None  # too short for the clock
    return paired_bootstrap(baseline, own, number)


def _difference(got: Sequence[int], wanted: Sequence[int]) -> int | None:
    if list(got) == list(wanted):
        return None
    shared = min(len(got), len(wanted))
    return next((at for at in range(shared) if got[at] != wanted[at]), shared)


def _over(above: float | None, below: float) -> float | None:
    """The quotient; None where there is nothing to divide by, or noise left a time below 0."""
    return above / below if above is not None and above >= 0 and below > 0 else None
