"""The drafter `medusa`: independent heads on the state that the target left behind.

No pass of its own and nothing kept between rounds; blind to the image but for that one state.
"""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import torch
from torch import Tensor

from glance.heads.config import check_fits
from glance.heads.layout import ready
from glance.heads.medusa import MedusaHead, read_medusa
from glance.types import DraftBlock

if TYPE_CHECKING:
    from glance.targets.base import Target


class MedusaDrafter:
    """Distributions of the next offsets, for a candidate tree by the product of their marginals.

    Raises:
        HeadError: the heads were made for another target.
    """

    name = "medusa"
    passes = 0

    def __init__(self, head: MedusaHead, target: Target) -> None:
        check_fits(head.config, target)
        self.taps = (target.num_layers - 1,)
        self.block_size = head.config.medusa_num_heads + 1
        self.revision = head.revision()
        ready(head, target.device, target.dtype)
        self.head = head
        self.target = target

    def start(self, prompt_ids: list[int], positions: Tensor | None = None) -> None:
        """Nothing is kept."""

    @torch.inference_mode()
    def draft(
        self,
        state: None,
        out: list[int],
        features: Tensor | None,  # [m, 1, d]: of the positions committed since the last call
    ) -> DraftBlock:
        """Logits [L, V] of the offsets after `out[-1]`, from the position before it."""
        assert features is not None
        last = self.target.final_norm(features[-1, 0])
        return DraftBlock(self.target.lm_head(self.head(last)))


def load_medusa_drafter(target: Target, folder: Path) -> MedusaDrafter:
    """A folder's heads as a drafter.

    Raises:
        HeadError: there are no readable heads, or they were made for another target.
    """
    return MedusaDrafter(read_medusa(folder), target)
