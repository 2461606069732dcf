"""The block head's pass in fixed shape: new context in, a block's logits out.

Computes what `glance.drafters.block` does. Letters as in `glance.heads.block`.
"""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor

from glance.drafters.block import BlockDrafter
from glance.engine.rows import Place
from glance.heads.block import KeysValues


class DraftMemory:
    """What stands still between draft passes, for all of their windows."""

    def __init__(self, drafter: BlockDrafter, capacity: int) -> None:
        """`capacity`: rows of context and block."""
        c, target = drafter.head.config, drafter.target
        kind: dict[str, Any] = {"dtype": target.dtype, "device": target.device}
        shape = (1, c.num_hidden_layers, c.num_key_value_heads, capacity, c.head_dim)
        # zeros: padding is masked, but 0 times what memory holds by chance may not be a number
        self.keys = torch.zeros(shape, **kind)
        self.values = torch.zeros_like(self.keys)
        self.block_ids = torch.full((c.block_size,), c.mask_token_id, device=target.device)
        self.count = torch.arange(c.block_size, device=target.device)
        # taps of the rows committed last, of which a round has B at most
        self.features = torch.zeros((c.block_size, len(drafter.taps), target.hidden_size), **kind)
        self.logits = torch.zeros((c.block_size - 1, target.vocab_size), **kind)

    def absorb(self, drafter: BlockDrafter, features: Tensor, at: Tensor) -> None:
        """Context rows [m, K, d] to stream positions [m]."""
        head = drafter.head
        context = head.fuse(features[None])
        keys, values = head.context_kv(context, head.rope(at), drafter.context_weights)
        self.keys.index_copy_(3, at, keys)
        self.values.index_copy_(3, at, values)


class DraftPass:
    """The step of a pass; it leaves the logits [L, V] in the memory."""

    def __init__(
        self, drafter: BlockDrafter, memory: DraftMemory, place: Place, window: int
    ) -> None:
        self._drafter = drafter
        self._memory = memory
        self._place = place
        self._window = window
        self._columns = torch.arange(window, device=memory.count.device)

    def __call__(self) -> Tensor:
        """Take in the rows committed last, draft what follows the root."""
        drafter, memory, place = self._drafter, self._memory, self._place
        head, target = drafter.head, drafter.target
        # B rows always: those past the committed ones lie where the block goes next
        memory.absorb(drafter, memory.features, place.first + memory.count)
        at = place.start + memory.count
        memory.block_ids[:1] = place.root
        mask = (self._columns < place.start + len(at))[None, None, None]  # the same for all rows

        def join(layer: int, k: Tensor, v: Tensor) -> KeysValues:
            keys, values = memory.keys[:, layer], memory.values[:, layer]
            keys.index_copy_(2, at, k)
            values.index_copy_(2, at, v)
            return keys[:, :, : self._window], values[:, :, : self._window]

        x = target.embed(memory.block_ids[None])
        hidden = head(x, head.rope(at), join, mask)
        return memory.logits.copy_(target.lm_head(hidden[0, 1:]))
