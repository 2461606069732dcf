"""One question of a record as serving sees it, for heads that need a layout of their rows."""

from __future__ import annotations

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


def stream(record: Record, segment: int, target: Target) -> Stream:
    """A question of a record with taps INPUT and last layer."""
    rows = record.stream(segment)
    ids = record.ids[rows].to(target.device)
    inputs, outputs = record.features[rows].to(target.device, target.dtype).unbind(1)
    moments = record.rotary[0, rows] if len(record.rotary) > 1 else torch.zeros_like(rows)
    return Stream(
        ids=ids,
        moments=moments.tolist(),
        embeds=torch.cat((inputs[1:-1], target.embed(ids[-1:]))),
        states=target.final_norm(outputs[:-1]),
        roots=anchor_rows(record.answer[rows], record.segments[rows]).to(target.device),
    )
