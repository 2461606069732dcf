"""Lessons of the EAGLE-2 head: guess the target's next feature, and what the target says of it.

Letters: P sequences of a batch, T tokens of the longest. All sequences begin at row 0.
"""

from __future__ import annotations

import torch
from torch import Tensor
from torch.nn import functional as F

from glance.heads.eagle2 import Eagle2Head
from glance.heads.llama_layer import ALL, Attend, Rows, masked
from glance.targets.base import Target

NOISE = 0.2  # width of the noise on features of 512 tokens; longer texts get less
TOKEN_WEIGHT = 0.1  # of the cross-entropy; the feature's own loss weighs 1


def shifted(x: Tensor, by: int) -> Tensor:
    """Row t gets row t + by, zeros past the end: [P, T, ...]."""
    return torch.cat((x[:, by:], torch.zeros_like(x[:, :by])), dim=1)


def causal_mask(rows: int, device: torch.device) -> Tensor:
    """Rows see everything up to themselves: bool [1, 1, T, T]."""
    return torch.ones(1, 1, rows, rows, dtype=torch.bool, device=device).tril()


def lessons(answer: Tensor) -> Tensor:
    """Rows whose target distribution is worth learning: bool [P, T].

    Both the row's token and the next are of the answer: a draft begins after a root token, which
    is one, and nothing follows the last.
    """
    follows = torch.zeros_like(answer)
    follows[:, :-1] = answer[:, 1:]
    return answer & follows


def noisy(states: Tensor, generator: torch.Generator | None = None) -> Tensor:
    """Features [P, T, d] with uniform noise, as guesses are never exact."""
    noise = torch.rand(states.shape, generator=generator, dtype=states.dtype).to(states.device)
    return states + (noise - 0.5) * (NOISE * 512 / states.shape[1])


def guess(
    head: Eagle2Head,
    embeds: Tensor,  # [P, T, d] what enters the target at each token
    states: Tensor,  # [P, T, d] what enters its lm_head, with or without noise
    rows: Rows = ALL,  # [R] whose guesses are wanted
    attend: Attend | None = None,  # of these rows, to be asked where they looked
) -> Tensor:
    """Guessed features [P, R, d]: row t's stands for the target's at t + 1."""
    positions = torch.arange(embeds.shape[1], device=embeds.device)
    rope = head.config.rope(positions[None], embeds.dtype)
    attend = attend or masked(causal_mask(len(positions), embeds.device)[:, :, rows])
    return head(shifted(embeds, 1), states, rope, attend, rows)


def eagle2_loss(
    guessed: Tensor,  # [P, R, d] from guess()
    states: Tensor,  # [P, T, d] the target's own, without noise
    wanted: Tensor,  # [P, T] bool from lessons()
    target: Target,
    rows: Rows = ALL,  # [R] as guess() was told
) -> tuple[Tensor, float]:
    """SmoothL1 to the feature and a little soft cross-entropy; the share of right tokens.

    Row t learns from the target's row t + 1. Both losses are means over the rows wanted, 0 where
    there are none.
    """
    true, chosen = shifted(states, 1)[:, rows], shifted(wanted, 1)[:, rows]
    true, guessed = true[chosen], guessed[chosen]  # [lessons, d]
    says = target.lm_head(true)
    log_q = target.lm_head(guessed).float().log_softmax(-1)
    count = max(len(true), 1)
    features = F.smooth_l1_loss(guessed, true, reduction="sum") / (count * true.shape[-1])
    tokens = -(says.float().softmax(-1) * log_q).sum() / count
    right = (log_q.argmax(-1) == says.argmax(-1)).sum() / count
    return features + TOKEN_WEIGHT * tokens, right.item()
