"""What Medusa heads are trained on: offsets of anchors, as in `glance.training.blocks`.

An anchor is the row of a root token. The heads see the state of the row before it, which gave the
root, and head j learns the j-th token after the root. The target stays as it is (Medusa-1).
"""

from __future__ import annotations

from torch import Tensor
from torch.nn import functional as F

from glance.heads.medusa import MedusaHead
from glance.targets.base import Target
from glance.training.blocks import Batch


def draft_offsets(
    head: MedusaHead,
    target: Target,
    batch: Batch,  # features: the last tap is the target's last layer
    anchors: Tensor,  # [P, A]
) -> Tensor:
    """Logits [P, A, L, V] of the offsets after the anchors."""
    features = batch.features[..., -1, :]
    before = (anchors - 1)[..., None].expand(-1, -1, features.shape[-1])
    state = features.gather(1, before).to(next(head.parameters()).dtype)
    return target.lm_head(head(target.final_norm(state)))


def medusa_loss(
    logits: Tensor,  # [P, A, L, V]
    labels: Tensor,  # [P, A, L] from block_labels
    exists: Tensor,  # [P, A, L] bool
) -> Tensor:
    """Plain sum over the heads of each one's mean cross-entropy, as far as the answers go."""
    losses = F.cross_entropy(logits.float().flatten(0, -2), labels.flatten(), reduction="none")
    sums = (losses.view(labels.shape) * exists).sum((0, 1))
    return (sums / exists.sum((0, 1)).clamp(min=1)).sum()
