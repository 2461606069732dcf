"""What rows of logits say: entropy in nats, the best few tokens, the top-2 margin."""

from __future__ import annotations

from dataclasses import dataclass

import torch
from torch import Tensor

from glance.sampling import argmax

TOP = 5


@dataclass(frozen=True, slots=True)
class RowStats:
    """Facts about target rows, on the host; one entry a row."""

    posterior: list[int]  # argmax id
    entropy: list[float]  # nats
    margin: list[float]  # logit of the first choice minus logit of the second
    p_token: list[float]  # probability of the token asked about
    top_ids: list[list[int]]
    top_p: list[list[float]]


def at_least_float32(logits: Tensor) -> Tensor:
    """Half precision raised to float32; float32 and float64 as they are."""
    return logits.float() if logits.dtype in (torch.float16, torch.bfloat16) else logits


def entropy(log_p: Tensor) -> Tensor:
    """Shannon entropy in nats over the last axis of log-probabilities; p = 0 counts as 0."""
    p = log_p.exp()
    # clamped, and no negative zero: rounding may leave a hair below 0
    return (-(p * log_p.masked_fill(p == 0, 0.0)).sum(dim=-1)).clamp_min(0.0) + 0.0


def row_stats(
    logits: Tensor,  # [rows, V], V at least 2
    asked: Tensor | None = None,  # [rows, 2] long: (row, token id) whose probability is wanted
) -> RowStats:
    """Measure rows and bring the results to the host in a single copy.

    `p_token[i]` is the probability of token `asked[i, 1]` under row `asked[i, 0]`; without
    `asked` it is empty.
    """
    return read_table(row_table(logits, asked).tolist(), asked is not None)


def row_table(logits: Tensor, asked: Tensor | None = None) -> Tensor:
    """What `row_stats` measures, on the device: [rows, columns] double."""
    logits = at_least_float32(logits)
    log_p = torch.log_softmax(logits, dim=-1)
    k = min(TOP, logits.shape[-1])
    top = torch.topk(logits, k, dim=-1)
    margin = top.values[:, 0] - top.values[:, 1]
    top_p = log_p.gather(1, top.indices).exp()
    columns = [
        argmax(logits).unsqueeze(1),
        entropy(log_p).unsqueeze(1),
        margin.unsqueeze(1),
        top.indices,
        top_p,
    ]
    if asked is not None:
        columns.append(log_p[asked[:, 0], asked[:, 1]].exp().unsqueeze(1))
    # ids travel as float64, exact far beyond any vocabulary, so that one copy carries all
    return torch.cat([column.double() for column in columns], dim=1)


def read_table(table: list[list[float]], asked: bool) -> RowStats:
    """The facts of a `row_table` on the host; `asked` tells whether it has that column."""
    k = (len(table[0]) - 3 - asked) // 2
    return RowStats(
        posterior=[int(row[0]) for row in table],
        entropy=[row[1] for row in table],
        margin=[row[2] for row in table],
        p_token=[row[-1] for row in table] if asked else [],
        top_ids=[[int(token_id) for token_id in row[3 : 3 + k]] for row in table],
        top_p=[row[3 + k : 3 + 2 * k] for row in table],
    )
