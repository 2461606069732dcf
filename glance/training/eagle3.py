"""Lessons of the EAGLE-3 head: its training-time test (arXiv 2503.01840).

Every row drafts on from its own guesses for several steps, as it will have to. What a row sees of
itself are its own earlier steps; what it sees of other rows is their first.

Letters: P sequences of a batch, T tokens of the longest, R rows that draft. All sequences begin at
row 0.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import torch
from torch import Tensor

from glance.heads.eagle3 import Eagle3Head
from glance.heads.llama_layer import ALL, Rows
from glance.training.eagle2 import causal_mask, shifted
from glance.training.looking import overlooked

STEPS = 7
DECAY = 0.8  # weight of a step, relative to the step before


class OwnSteps:
    """Attention of the training-time test; one object serves all steps of a batch.

    Attributes:
        looks: if watched, log attention of the first head, a step each:
            [P, R, T and the own later steps].
    """

    def __init__(
        self, rows: int, device: torch.device, drafting: Rows = ALL, *, watched: bool = False
    ) -> None:
        self.looks: list[Tensor] = []
        self._watched = watched
        self._mask = causal_mask(rows, device)[:, :, drafting]
        self._keys: list[Tensor] = []  # a step each: [P, h, T, e]
        self._values: list[Tensor] = []

    def __call__(self, q: Tensor, k: Tensor, v: Tensor) -> Tensor:
        """First-step rows up to the own one, and the own row of every later step."""
        groups = q.shape[1] // k.shape[1]
        self._keys.append(k.repeat_interleave(groups, 1))
        self._values.append(v.repeat_interleave(groups, 1))
        q = q * q.shape[-1] ** -0.5
        first = (q @ self._keys[0].transpose(-1, -2)).masked_fill(~self._mask, -torch.inf)
        own = [(q * keys).sum(-1, keepdim=True) for keys in self._keys[1:]]
        scores = torch.cat((first, *own), dim=-1)
        if self._watched:
            self.looks.append(scores[:, 0].float().log_softmax(-1))
        weights = scores.softmax(-1)
        rows = self._keys[0].shape[2]
        seen = weights[..., :rows] @ self._values[0]
        for step, values in enumerate(self._values[1:]):
            seen = seen + weights[..., rows + step, None] * values
        return seen


def unroll(
    head: Eagle3Head,
    embeds: Tensor,  # [P, T, d] what enters the target at each token
    features: Tensor,  # [P, T, K, d] taps
    positions: Tensor,  # [P, axes, T]
    steps: int = STEPS,
    rows: Rows = ALL,  # [R] that draft; of the others there are keys and values only
    attend: OwnSteps | None = None,  # of these rows, watched, to be asked where they looked
) -> Iterator[Tensor]:
    """Draft logits [P, R, draft vocabulary], a step each.

    Step i of row t has read token t + 1 + i and speaks of the one after it.
    """
    states = head.fuse(features)
    attend = attend or OwnSteps(embeds.shape[1], embeds.device, rows)
    for step in range(steps):
        following = shifted(embeds, step + 1)
        if step:
            following, positions = following[:, rows], positions + 1
        rope = head.config.rope(positions, embeds.dtype)
        rope = rope[0][:, None], rope[1][:, None]  # one for all heads
        states = head(following, states, rope, attend, ALL if step else rows)
        if step == 0:
            positions = positions[..., rows]
        yield head.logits(states)


def drafting_rows(wanted: Tensor, steps: int = STEPS) -> Tensor:
    """Rows [R] of any sequence that have a lesson at any step: wanted [P, T] bool."""
    taught = torch.stack([shifted(wanted, step + 1) for step in range(steps)])
    return taught.flatten(0, 1).any(0).nonzero()[:, 0]


def eagle3_loss(
    steps: Iterator[Tensor],  # from unroll()
    head: Eagle3Head,
    says: Tensor,  # [P, T, V] the target's logits
    wanted: Tensor,  # [P, T] bool from glance.training.eagle2.lessons()
    rows: Rows = ALL,  # [R] as unroll() was told
) -> tuple[Tensor, list[float]]:
    """Soft cross-entropy over the draft vocabulary, DECAY^i at step i; right tokens by step.

    Step i of row t learns from the target's row t + 1 + i, unless that says a token which the
    draft vocabulary lacks. As in the reference a step's loss is the mean over all P*T rows, those
    without a lesson counting 0, so later steps, which have fewer, weigh a little less.
    """
    best = says.argmax(-1)
    wanted = wanted & head.t2d[best]
    p = says[..., head.token_ids()].float().softmax(-1)  # [P, T, draft vocabulary]
    loss, shares = torch.zeros((), device=says.device), []
    for step, logits in enumerate(steps):
        p, best, wanted = shifted(p, 1), shifted(best, 1), shifted(wanted, 1)
        losses = -(p[:, rows] * logits.float().log_softmax(-1)).sum(-1)
        loss = loss + DECAY**step * (losses * wanted[:, rows]).sum() / wanted.numel()
        right = (head.token_ids()[logits.argmax(-1)] == best[:, rows]) & wanted[:, rows]
        shares.append((right.sum() / wanted.sum().clamp(min=1)).item())
    return loss, shares


def guide_loss(
    looks: Sequence[Tensor],  # of OwnSteps, after unroll()
    cells: Tensor,  # [P, T] from `stream_cells`
    rows: Tensor,  # [R] as unroll() was told
) -> Tensor:
    """-log(attention on the cell of the token that a row speaks of), DECAY^i at step i.

    A mean over all P*T rows as in `eagle3_loss`, those whose token has no cell counting 0.
    """
    loss = torch.zeros((), device=cells.device)
    for step, look in enumerate(looks):
        total, _ = overlooked(look, cells, rows, step + 2)
        loss = loss + DECAY**step * total / cells.numel()
    return loss


def draft_vocabulary(counts: Tensor, size: int) -> Tensor:
    """The `size` most frequent tokens, ascending, from their counts [V]; ties to the lower id."""
    order = torch.argsort(counts, descending=True, stable=True)
    return order[:size].sort().values
