"""audit: the same prompts through `model.generate()` and through every lane, token by token.

A lane passes when every answer is identical. A near tie is a failure too, shown with its margin.
In half precision the promise is one token wide, and so is the test: given what was committed before
it, no token's logit falls short of the largest by more than rounding can do (`glance.certificate`).
Two controls come first: `generate()` against itself, and the engine's own plain lane, `ar`.

`break_` plants a fault to show that the audit would notice one: a Verifier of this module with one
step wrong takes the place of the real one. The decoder's own code has no switch for it.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace

import numpy as np
import torch

from glance.certificate import HALF, Certificate, measure, shortfall
from glance.config import FAULTS, DecodeConfig
from glance.decode import Decoder
from glance.documents.mix import TASKS
from glance.drafters.base import Drafter
from glance.metrics import committed_per_round, disconnected, tau
from glance.replay import lanes
from glance.targets.base import Request, Target
from glance.types import CandidateTree, Prompt
from glance.verify import Verified, Verifier

CONTROL = "control"  # generate() against itself

#: a full audit has so many prompts of every task, half of its answers of LONG tokens or more, so
#: many tokens in all, and so many rounds that accepted some of what was drafted, not all
PER_TASK, LONG, TOKENS, PARTIAL = 10, 128, 5_000, 100


class MaskFault(Verifier):
    """Every node of the tree sees every other, not its ancestors alone."""

    def visible(self, tree: CandidateTree) -> np.ndarray:
        """All of the tree."""
        return np.ones((len(tree), len(tree)), dtype=bool)


class PositionFault(Verifier):
    """A node stands at its slot in the cache: depth and the image's rope delta are forgotten."""

    def verify(self, request: Request, tree: CandidateTree) -> Verified:
        """The same pass with slots for depths, on the same cache."""
        slots = replace(tree, depths=tuple(range(len(tree))))
        return super().verify(replace(request, rope_delta=0), slots)


class CompactionFault(Verifier):
    """The cache is cut to the right length, but the accepted rows are not moved there."""

    def keep(self, request: Request, tree: CandidateTree, path: Sequence[int]) -> None:
        """Crop without gather."""
        super().keep(request, tree, range(len(path)))


BROKEN: dict[str, type[Verifier]] = dict(
    zip(FAULTS, (MaskFault, PositionFault, CompactionFault), strict=True)
)


@dataclass(frozen=True, slots=True)
class Difference:
    """Where an answer left the reference."""

    prompt: int  # index of the prompt
    at: int  # index of the first differing token
    expected: int | None  # id; None where the reference had ended
    got: int | None
    margin: float | None  # the target's top-2 logit gap there


@dataclass(frozen=True, slots=True)
class AuditRow:
    """One lane over all prompts."""

    lane: str
    prompts: int
    identical: int
    tokens: int  # of the reference
    partial_rounds: int  # accepted some drafted tokens, not all
    tau: float  # tokens a round, pooled over all prompts; 0 without rounds
    smallest_margin: float | None  # smallest top-2 logit gap of any committed token
    differences: tuple[Difference, ...]
    warning: str | None = None  # the drafter seems not to get the target's states
    #: in half precision only: tokens whose margin rounding can swap; by how much a token's logit
    #: falls short of the largest, at most, when the target reads the answer one token at a time;
    #: and by how much one may
    uncertified: int | None = None
    shortfall: float | None = None
    allowed: float | None = None

    @property
    def passed(self) -> bool:
        """Every answer identical; in half precision, every token within what is allowed."""
        if self.shortfall is not None and self.allowed is not None:
            return self.shortfall <= self.allowed
        return self.identical == self.prompts

    def __str__(self) -> str:
        """`glance 60/60 identical, N tokens, M partial rounds`, and what differs."""
        text = (
            f"{self.lane} {self.identical}/{self.prompts} identical, {self.tokens} tokens, "
            f"{self.partial_rounds} partial rounds"
        )
        if self.tau:
            text += f", tau {self.tau:.2f}"
        if self.smallest_margin is not None:
            text += f", smallest margin {self.smallest_margin:.2g}"
        if self.shortfall is not None:
            text += (
                f", {self.uncertified} tokens uncertified, largest shortfall {self.shortfall:.2g} "
                f"of {self.allowed:.2g} allowed"
            )
        for difference in self.differences:
            margin = "" if difference.margin is None else f", margin {difference.margin:.2g}"
            text += (
                f"\n  prompt {difference.prompt}: token {difference.at} is {difference.got}, "
                f"expected {difference.expected}{margin}"
            )
        return f"{text}\n  {self.warning}" if self.warning else text


@dataclass(frozen=True, slots=True)
class AuditReport:
    """All lanes, the control among them."""

    rows: tuple[AuditRow, ...]
    fault: str | None  # planted on purpose

    @property
    def passed(self) -> bool:
        """Every lane has passed, on one prompt at least."""
        return all(row.passed and row.prompts for row in self.rows)

    def __str__(self) -> str:
        """One line a lane."""
        return "\n".join(str(row) for row in self.rows)


@dataclass(frozen=True, slots=True)
class Coverage:
    """What an audit rests on."""

    prompts: Mapping[str, int]  # by task
    long: int  # answers of LONG tokens or more
    tokens: int
    partial_rounds: int  # of all lanes

    @property
    def full(self) -> bool:
        """Whether it is as much as a full audit has."""
        return (
            all(self.prompts.get(task, 0) >= PER_TASK for task in TASKS)
            and 2 * self.long >= sum(self.prompts.values())
            and self.tokens >= TOKENS
            and self.partial_rounds >= PARTIAL
        )

    def __str__(self) -> str:
        """One line."""
        by_task = ", ".join(f"{task} {n}" for task, n in self.prompts.items())
        return (
            f"{sum(self.prompts.values())} prompts ({by_task}), {self.long} of them with {LONG} "
            f"new tokens or more, {self.tokens} tokens in all, {self.partial_rounds} partial rounds"
        )


def covered(
    report: AuditReport,
    tasks: Sequence[str],  # of each prompt
    references: Sequence[Sequence[int]],
) -> Coverage:
    """What an audit rested on."""
    return Coverage(
        prompts={task: tasks.count(task) for task in TASKS if task in tasks},
        long=sum(len(answer) >= LONG for answer in references),
        tokens=sum(map(len, references)),
        partial_rounds=sum(row.partial_rounds for row in report.rows),
    )


@contextmanager
def full_float32() -> Iterator[None]:
    """TensorFloat-32 off, in matrix products and convolutions; afterwards as it was."""
    products, convolutions = torch.get_float32_matmul_precision(), torch.backends.cudnn.allow_tf32
    torch.set_float32_matmul_precision("highest")
    torch.backends.cudnn.allow_tf32 = False
    try:
        yield
    finally:
        torch.set_float32_matmul_precision(products)
        torch.backends.cudnn.allow_tf32 = convolutions


@full_float32()
def run_audit(
    target: Target,
    drafters: Sequence[Drafter | None],  # None is the plain lane, which always runs, and first
    prompts: Sequence[Prompt],
    config: DecodeConfig | None = None,
    break_: str | None = None,  # mask, positions or compaction
    progress: Callable[[str], None] | None = None,
    references: Sequence[list[int]] | None = None,  # of `reference_answers`, if they are known
    past_end: Collection[int] = (),  # prompts by index that are answered on, past their end tokens
) -> AuditReport:
    """Compare every lane with `model.generate(do_sample=False)` on the same prompts.

    A fault is planted in the lanes that draft: the plain one has no tree to get wrong.

    Raises:
        ValueError: temperature above 0, or an unknown fault.
    """
    config = config or DecodeConfig()
    if config.temperature != 0.0:
        raise ValueError("an audit compares greedy answers: temperature must be 0")
    if break_ is not None and break_ not in BROKEN:
        raise ValueError(f"unknown fault {break_!r}; known are {', '.join(BROKEN)}")
    if references is None:
        references = reference_answers(target, prompts, config, progress, past_end=past_end)
    again = reference_answers(target, prompts, config, progress, "generate() again", past_end)
    endless = replace(config, ignore_eos=True)
    certificate = target.certificate
    if certificate is None and target.dtype in HALF and prompts:
        certificate = measure(target, prompts[0])

    def audited(drafter: Drafter | None, verifier: Verifier | None = None) -> AuditRow:
        ended, going_on = (
            Decoder(target, drafter, settings, verifier=verifier) for settings in (config, endless)
        )
        decoders = [going_on if n in past_end else ended for n in range(len(prompts))]
        return _audit_lane(ended.name, decoders, prompts, references, progress, certificate)

    rows = [_control(references, again), audited(None)]
    for drafter in drafters:
        if drafter is not None:
            verifier = BROKEN[break_](target, drafter.taps) if break_ else None
            rows.append(audited(drafter, verifier))
    return AuditReport(rows=tuple(rows), fault=break_)


@torch.inference_mode()
def reference_ids(target: Target, prompt: Prompt, config: DecodeConfig) -> list[int]:
    """The answer of the model's own `generate()`, greedy, free of logits processors."""
    ends = [*(() if config.ignore_eos else target.eos_ids), *config.stop_ids]
    out = target.model.generate(
        input_ids=prompt.input_ids,
        attention_mask=torch.ones_like(prompt.input_ids),
        **prompt.model_inputs,
        do_sample=False,
        num_beams=1,
        repetition_penalty=1.0,
        no_repeat_ngram_size=0,
        max_new_tokens=config.max_new_tokens,
        eos_token_id=ends or None,
        pad_token_id=ends[0] if ends else None,
    )
    return out[0, prompt.input_ids.shape[1] :].tolist()


@full_float32()
def reference_answers(
    target: Target,
    prompts: Sequence[Prompt],
    config: DecodeConfig,
    progress: Callable[[str], None] | None = None,
    name: str = "generate()",
    past_end: Collection[int] = (),  # prompts by index that are answered on, past their end tokens
) -> list[list[int]]:
    """`reference_ids` of every prompt, with progress."""
    answers = []
    for number, prompt in enumerate(prompts, start=1):
        if progress:
            progress(f"{name}: prompt {number} of {len(prompts)}")
        endless = number - 1 in past_end
        answers.append(reference_ids(target, prompt, replace(config, ignore_eos=endless)))
    return answers


def _control(references: Sequence[list[int]], again: Sequence[list[int]]) -> AuditRow:
    differences = [
        _difference(number, expected, got, [])
        for number, (expected, got) in enumerate(zip(references, again, strict=True))
        if expected != got
    ]
    return AuditRow(
        lane=CONTROL,
        prompts=len(references),
        identical=len(references) - len(differences),
        tokens=sum(map(len, references)),
        partial_rounds=0,
        tau=0.0,
        smallest_margin=None,
        differences=tuple(differences),
    )


def _audit_lane(
    name: str,
    decoders: Sequence[Decoder],  # of one drafter, one a prompt
    prompts: Sequence[Prompt],
    references: Sequence[list[int]],
    progress: Callable[[str], None] | None,
    certificate: Certificate | None,
) -> AuditRow:
    differences: list[Difference] = []
    margins: list[float] = []
    committed: list[int] = []
    partial, short = 0, 0.0
    taps = decoders[0].drafter.taps if decoders and decoders[0].drafter else ()
    cases = zip(decoders, prompts, references, strict=True)
    for number, (decoder, prompt, expected) in enumerate(cases):
        if progress:
            progress(f"{name}: prompt {number + 1} of {len(prompts)}")
        lane = lanes(list(decoder.stream(prompt)))[name]
        assert lane.finish is not None  # a stream that was drained has ended
        gaps = [token["margin"] for token in lane.tokens]
        margins += gaps
        committed += committed_per_round(lane)
        partial += lane.finish["partial"]
        if lane.ids != expected:
            differences.append(_difference(number, expected, lane.ids, gaps))
        if certificate:
            short = max(short, shortfall(decoder.target, prompt, lane.ids))
    return AuditRow(
        lane=name,
        prompts=len(references),
        identical=len(references) - len(differences),
        tokens=sum(map(len, references)),
        partial_rounds=partial,
        tau=tau(committed),
        smallest_margin=min(margins, default=None),
        differences=tuple(differences),
        warning=disconnected(name, committed) if taps else None,
        uncertified=certificate.uncertified(margins) if certificate else None,
        shortfall=short if certificate else None,
        allowed=certificate.swap if certificate else None,
    )


def _difference(
    number: int, expected: Sequence[int], got: Sequence[int], gaps: Sequence[float]
) -> Difference:
    at = 0
    while at < min(len(expected), len(got)) and expected[at] == got[at]:
        at += 1
    return Difference(
        prompt=number,
        at=at,
        expected=expected[at] if at < len(expected) else None,
        got=got[at] if at < len(got) else None,
        margin=gaps[at] if at < len(gaps) else None,
    )
