"""A record's questions one by one, as serving sees them, for heads that need a layout of each."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import torch
from torch import Tensor

from glance.targets.base import Target
from glance.training.blocks import anchor_rows
from glance.training.capture import Record


@dataclass(frozen=True, slots=True)
class Stream:
    """The page, a question and its answer: n + 1 tokens, the last of which was never an input."""

    ids: Tensor  # [n + 1] long
    moments: list[int]  # [n + 1] time of each token in M-RoPE; without it they are all alike
    embeds: Tensor  # [n, d] what enters the target at the tokens after each of the n places
    states: Tensor  # [n, d] what enters its lm_head
    roots: Tensor  # [A] long: places of the answer's tokens that a draft can begin from


def streams(record: Record, target: Target) -> Iterator[Stream]:
    """Of a record with taps INPUT and last layer, where every answer has a root."""
    inputs, outputs = record.features.to(target.device, target.dtype).unbind(1)
    states = target.final_norm(outputs)
    moments = record.rotary[0] if len(record.rotary) > 1 else torch.zeros_like(record.ids)
    for segment in range(1, len(record.tasks) + 1):
        rows = record.stream(segment)
        roots = anchor_rows(record.answer[rows], record.segments[rows])
        ids = record.ids[rows].to(target.device)
        here = rows.to(target.device)
        yield Stream(
            ids=ids,
            moments=moments[rows].tolist(),
            embeds=torch.cat((inputs[here[1:-1]], target.embed(ids[-1:]))),
            states=states[here[:-1]],
            roots=roots.to(target.device),
        )
