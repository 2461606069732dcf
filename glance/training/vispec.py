"""What a ViSpec head is trained with: two rollouts over an answer, and the losses on them.

One stream at a time: a prompt, an answer to it, the target's features of both. Pair t stands for
the token after the next, so it is trained where tokens t+1 and t+2 are the answer's.
"""

from __future__ import annotations

from collections.abc import Iterator

import torch
from torch import Tensor
from torch.nn import functional as F

from glance.heads.llama_layer import masked
from glance.heads.vispec import Layout, ViSpecHead
from glance.training.eagle2 import TOKEN_WEIGHT

LISTED = 10  # tokens whose order ListMLE teaches
LIST_WEIGHT = 0.1


def rollouts(
    head: ViSpecHead,
    embeds: Tensor,  # [n, d] the target's input embeddings, of the tokens after each of n places
    features: Tensor,  # [n, d] the target's, as they enter lm_head
    layout: Layout,  # of the n pairs
) -> Iterator[Tensor]:
    """Guessed features [R, d] of the layout's rows, from the target's, then from the head's own.

    In the second every row has the first's guess of its feature, the keys and values that it sees
    too; only the first row has the target's.
    """
    sight = head.see(embeds, layout.spans)
    rows = len(layout.places)
    rope = head.config.rope(layout.places[None], features.dtype)
    seen = torch.ones(rows, rows, dtype=torch.bool, device=features.device).tril()

    def roll(own: Tensor) -> Tensor:
        x = head.inputs(embeds, own, layout, sight)
        return head(x[None], rope, masked(seen[None, None]))[0]

    real = features[layout.places]
    first = roll(real)
    yield first
    yield roll(torch.cat((real[:1], first[:-1])))


def trained_rows(layout: Layout, anchors: Tensor) -> Tensor:
    """Rows of the pairs that draft from each root token, by the places of the roots: [A]."""
    return torch.searchsorted(layout.places, anchors - 1)


def vispec_loss(
    logits: Tensor,  # [rows, V] the head's, of all rollouts
    wanted: Tensor,  # [rows, V] the target's, of the tokens that they stand for
) -> Tensor:
    """10 times the L1 distance of the distributions, and 0.1 times ListMLE; means over rows."""
    logits, wanted = logits.float(), wanted.float()
    apart = (logits.softmax(-1) - wanted.softmax(-1)).abs().sum(-1).mean()
    return 10.0 * apart + LIST_WEIGHT * list_mle(logits, wanted)


def first_loss(
    guessed: Tensor,  # [rows, d]
    states: Tensor,  # [rows, d] the target's, that they stand for
    logits: Tensor,  # [rows, V] of `guessed`
    wanted: Tensor,  # [rows, V] of `states`
) -> Tensor:
    """Of the first stage and rollout: EAGLE-2's, with 0.1 times ListMLE in the tokens' part."""
    logits, wanted = logits.float(), wanted.float()
    tokens = -(wanted.softmax(-1) * logits.log_softmax(-1)).sum(-1).mean()
    order = LIST_WEIGHT * list_mle(logits, wanted)
    return F.smooth_l1_loss(guessed.float(), states) + TOKEN_WEIGHT * (tokens + order)


def list_mle(logits: Tensor, wanted: Tensor, listed: int = LISTED) -> Tensor:
    """How unlikely it is to draw the target's best tokens in its order; a mean over rows.

    One is drawn after another from those not drawn yet, by the head's logits [rows, V].
    """
    order = wanted.topk(min(listed, wanted.shape[-1]), dim=-1).indices
    scores = logits.gather(-1, order)
    remaining = scores.flip(-1).logcumsumexp(-1).flip(-1)
    return (remaining - scores).sum(-1).mean()
