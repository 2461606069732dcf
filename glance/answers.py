"""Answers to several questions about the same images, all at once; greedy unless asked otherwise.

The images are read one time; the questions follow them in the target's cache side by side, and
each sees the common beginning and itself only. Every row in the cache has a segment, 0 for the
beginning and q + 1 for question q, and a position: its place in the stream of that question.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

import torch
from torch import Tensor

from glance.sampling import argmax
from glance.targets.base import Target
from glance.types import Prompt
from glance.verify import placed_mask


@dataclass(frozen=True, slots=True)
class Answers:
    """The answers, and every row that went through the target, in the order of the passes."""

    answers: list[list[int]]  # ids; a final end token included, if it was reached
    shared: int  # tokens of the common beginning
    ids: list[int]  # [S]
    segments: list[int]  # [S]
    positions: list[int]  # [S]
    features: Tensor | None  # [S, K, d] bfloat16; None without taps


class _Packed:
    """The rows that went through the target so far: the common beginning, then those after it."""

    def __init__(self, target: Target, prompt: Prompt, shared: int, taps: Sequence[int]) -> None:
        """Read the first `shared` tokens of `prompt`, its images among them."""
        begin = replace(
            prompt,
            input_ids=prompt.input_ids[:, :shared],
            model_inputs={
                key: value[:, :shared] if value.shape[:2] == prompt.input_ids.shape else value
                for key, value in prompt.model_inputs.items()
            },
        )
        self._target, self._shared, self._taps = target, shared, taps
        self._request, _, read = target.prefill(begin, taps)
        self._read = [] if read is None else [read.bfloat16()]
        self.segments, self.positions = [0] * shared, list(range(shared))
        self.ids: list[int] = begin.input_ids[0].tolist()

    @property
    def features(self) -> Tensor | None:
        """[S, K, d]; None without taps."""
        return torch.cat(self._read) if self._read else None

    def forward(self, rows: Sequence[tuple[int, int, int]]) -> Tensor:  # segment, position, id
        """Logits [rows, V] of rows that follow."""
        for segment, position, token_id in rows:
            self.segments.append(segment)
            self.positions.append(position)
            self.ids.append(token_id)
        target, device = self._target, self._target.device
        of, at = torch.tensor(self.segments), torch.tensor(self.positions)
        mine, now = of[-len(rows) :, None], at[-len(rows) :]
        seen = ((of == 0) | (of == mine)) & (at <= now[:, None])
        logits, read = target.forward(
            self._request,
            torch.tensor(self.ids[-len(rows) :], device=device),
            (now - self._shared).to(device),
            placed_mask(target, seen.to(device), lambda: at.to(device)),
            self._taps,
        )
        if read is not None:
            self._read.append(read.bfloat16())
        return logits


@torch.inference_mode()
def answer_together(
    target: Target,
    prompts: Sequence[Prompt],  # the same images, one question each
    limits: Sequence[int],  # most new tokens, of each prompt
    taps: Sequence[int] = (),
    choose: Callable[[Tensor], Tensor] = argmax,  # ids [rows] from logits [rows, V]
) -> Answers:
    """What plain decoding answers to each of `prompts`."""
    shared = _shared_length(prompts)
    packed = _Packed(target, prompts[0], shared, taps)
    tails = [prompt.input_ids[0, shared:].tolist() for prompt in prompts]
    after = choose(
        packed.forward(
            [(q + 1, shared + i, t) for q, tail in enumerate(tails) for i, t in enumerate(tail)]
        )
    )
    lengths = [len(tail) for tail in tails]  # of each segment so far
    tokens: list[int] = after[torch.tensor(lengths).cumsum(0) - 1].tolist()
    answers: list[list[int]] = [[] for _ in prompts]
    live = list(range(len(prompts)))
    while live:
        for q, token_id in zip(live, tokens, strict=True):
            answers[q].append(token_id)
        live = [
            q for q in live if answers[q][-1] not in target.eos_ids and len(answers[q]) < limits[q]
        ]
        if live:
            rows = [(q + 1, shared + lengths[q], answers[q][-1]) for q in live]
            for q in live:
                lengths[q] += 1
            tokens = choose(packed.forward(rows)).tolist()
    return Answers(answers, shared, packed.ids, packed.segments, packed.positions, packed.features)


@torch.inference_mode()
def read_together(
    target: Target,
    prompt: Prompt,  # begins with the `shared` tokens that all questions have in common
    shared: int,
    rows: Sequence[tuple[int, int, int]],  # segment, position, id of questions and known answers
    taps: Sequence[int],
) -> Tensor:  # [shared + rows, K, d] bfloat16
    """What `answer_together` reads on the way to answers that are known: one pass for all rows."""
    packed = _Packed(target, prompt, shared, taps)
    packed.forward(rows)
    assert packed.features is not None
    return packed.features


def _shared_length(prompts: Sequence[Prompt]) -> int:
    """Length of the common beginning of the prompts; the images must lie inside it."""
    first = prompts[0].input_ids[0]
    shared = min(prompt.input_ids.shape[1] for prompt in prompts) - 1
    for prompt in prompts[1:]:
        differs = (prompt.input_ids[0, :shared] != first[:shared]).nonzero()
        shared = min(shared, int(differs[0]) if len(differs) else shared)
    return shared
