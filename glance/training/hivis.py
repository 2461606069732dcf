"""What a HiViS-style head is trained with: drafts unrolled over an answer, and the loss on them.

One stream at a time: a prompt, an answer to it, the target's features of both. Every row drafts on
from its own guesses, as in EAGLE-3's training-time test, so each step's residual meets the errors
that it is there for. The losses are the project's own choice.
"""

from __future__ import annotations

from collections.abc import Sequence

import torch
from torch import Tensor
from torch.nn import functional as F

from glance.heads.hivis import HiViSHead, Layout
from glance.heads.llama_layer import ALL
from glance.targets.base import Target
from glance.training.eagle2 import shifted
from glance.training.eagle3 import OwnSteps

STEPS = 6  # as many as the drafter's usual tree is deep
DECAY = 0.8  # weight of a step, relative to the step before
FEATURE_WEIGHT = 0.5  # of the feature's loss; the cross-entropy weighs 1


def unroll(
    head: HiViSHead,
    embeds: Tensor,  # [n, d] the target's input embeddings, of the tokens after each of n places
    features: Tensor,  # [n, d] the target's, as they enter lm_head
    layout: Layout,  # of the n places
    rows: Tensor,  # [A] of the layout's, that draft; of the others there are keys and values only
    steps: int = STEPS,
) -> list[Tensor]:
    """Guessed features [A, d], a step each.

    Step i has read i tokens more than the row's own. It sees the first step of the rows before it,
    and all its own steps.
    """
    following, states = embeds[None, layout.reads], features[None, layout.places]
    positions = layout.positions[None]
    attend = OwnSteps(len(layout.places), features.device, rows)
    guessed = []
    for step in range(steps):
        own = rows if step else ALL  # the first step is of all rows
        read, at = shifted(following, step)[:, own], positions[:, own] + step
        rope = head.config.rope(at, features.dtype)
        states = head(read, states, step, rope, attend, ALL if step else rows)
        guessed.append(states[0])
    return guessed


def trained_rows(layout: Layout, anchors: Tensor) -> Tensor:
    """Rows that draft from each root token, by the places of the roots: [A]."""
    return torch.searchsorted(layout.reads, anchors - 1)


def hivis_loss(
    head: HiViSHead,
    guessed: Sequence[Tensor],  # [A, d] of the trained rows, a step each
    states: Tensor,  # [A, d] the target's features, of the root tokens
    target: Target,
) -> tuple[Tensor, list[float]]:
    """Soft cross-entropy and SmoothL1 to the feature, DECAY^i at step i; right tokens by step.

    The roots are an answer's tokens in order, all but its last, so step i of root a learns from
    the target at root a + i. The feature's loss is on guesses as the next step reads them, which
    teaches a residual the mean error; the last step's are read by none. Both losses are means over
    the roots that have the tokens for a step, 0 where there are none.
    """
    says = target.lm_head(states).float().softmax(-1)
    loss, shares = torch.zeros((), device=states.device), []
    for step, own in enumerate(guessed):
        true, p = states[step:], says[step:]
        own, rows = own[: len(true)], max(len(true), 1)
        log_q = target.lm_head(own).float().log_softmax(-1)
        lesson = -(p * log_q).sum() / rows
        if step + 1 < len(guessed):
            read = head.corrected(own, step + 1)
            apart = F.smooth_l1_loss(read, true, reduction="sum") / (rows * true.shape[-1])
            lesson = lesson + FEATURE_WEIGHT * apart
        loss = loss + DECAY**step * lesson
        shares.append(((log_q.argmax(-1) == p.argmax(-1)).sum() / rows).item())
    return loss, shares
