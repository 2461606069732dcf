"""Teacher forcing: the target on an answer that is known, in one pass after the prompt.

A greedy drafter's rounds on that answer can be replayed on it without another pass of the target.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import torch
from torch import Tensor

from glance.entropy import at_least_float32, entropy
from glance.targets.base import Target
from glance.types import Prompt
from glance.verify import pass_mask


@dataclass(frozen=True, slots=True)
class States:
    """The target on a prompt with an answer forced on it: what a drafter is given of it."""

    prompt_ids: list[int]  # [n]
    positions: Tensor | None  # [axes, n]
    features: Tensor | None  # [n + answer - 1, K, d]; None without taps
    entropy: list[float]  # [answer - 1] nats, of the row of each answer token but the last


@torch.inference_mode()
def read(target: Target, prompt: Prompt, answer: Sequence[int], taps: Sequence[int]) -> States:
    """Force an answer on the target, in one pass after the prompt's.

    Raises:
        PromptError: prompt and answer do not fit the target's context.
    """
    target.check_length(prompt, len(answer))
    request, _, features = target.prefill(prompt, taps)
    positions, rows = request.positions, len(answer) - 1
    entropies: list[float] = []
    if rows:  # the last token is never an input
        causal = torch.ones(rows, rows, dtype=torch.bool, device=target.device).tril()
        ids = torch.tensor(answer[:-1], device=target.device)
        depths = torch.arange(rows, device=target.device)
        mask = pass_mask(target, causal, depths, request.length)
        logits, written = target.forward(request, ids, depths, mask, taps)
        entropies = entropy(torch.log_softmax(at_least_float32(logits), dim=-1)).tolist()
        if features is not None and written is not None:
            features = torch.cat((features, written))
    request.release()
    return States(prompt.input_ids[0].tolist(), positions, features, entropies)
