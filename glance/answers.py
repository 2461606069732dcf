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


@dataclass(frozen=True, slots=True)
class Answers:
    """The answers, and every row that went through the target, in the order of the passes."""

    answers: list[list[int]]  # ids; a final end token included, if it was reached
    shared: int  # tokens of the common beginning
    ids: list[int]  # [S]
    segments: list[int]  # [S]
    positions: list[int]  # [S]
    features: Tensor | None  # [S, K, d] bfloat16; None without taps


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
    device = target.device
    begin = replace(
        prompts[0],
        input_ids=prompts[0].input_ids[:, :shared],
        model_inputs={
            key: value[:, :shared] if value.shape[:2] == prompts[0].input_ids.shape else value
            for key, value in prompts[0].model_inputs.items()
        },
    )
    request, _, read = target.prefill(begin, taps)
    features = [] if read is None else [read.bfloat16()]
    segments, positions = [0] * shared, list(range(shared))
    ids: list[int] = begin.input_ids[0].tolist()

    def forward(rows: Sequence[tuple[int, int, int]]) -> Tensor:  # segment, position, id -> [rows]
        """Ids that follow the rows."""
        for segment, position, token_id in rows:
            segments.append(segment)
            positions.append(position)
            ids.append(token_id)
        of, at = torch.tensor(segments), torch.tensor(positions)
        mine, now = of[-len(rows) :, None], at[-len(rows) :]
        mask = ((of == 0) | (of == mine)) & (at <= now[:, None])
        logits, new = target.forward(
            request,
            torch.tensor(ids[-len(rows) :], device=device),
            (now - shared).to(device),
            mask[None, None].to(device),
            taps,
        )
        if new is not None:
            features.append(new.bfloat16())
        return choose(logits)

    tails = [prompt.input_ids[0, shared:].tolist() for prompt in prompts]
    after = forward(
        [(q + 1, shared + i, t) for q, tail in enumerate(tails) for i, t in enumerate(tail)]
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
            tokens = forward(rows).tolist()
    packed = torch.cat(features) if features else None
    return Answers(answers, shared, ids, segments, positions, packed)


def _shared_length(prompts: Sequence[Prompt]) -> int:
    """Length of the common beginning of the prompts; the images must lie inside it."""
    first = prompts[0].input_ids[0]
    shared = min(prompt.input_ids.shape[1] for prompt in prompts) - 1
    for prompt in prompts[1:]:
        differs = (prompt.input_ids[0, :shared] != first[:shared]).nonzero()
        shared = min(shared, int(differs[0]) if len(differs) else shared)
    return shared
