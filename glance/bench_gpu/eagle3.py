"""What a sequential drafter pays for its draft: eight EAGLE-3 passes, recorded as one.

In fixed shape and without a host in between, so that passes are compared, not launches. Which
nodes survive is decided by probability along the path, as in EAGLE-2; rows see all rows before
them, which costs what seeing their ancestors does.
"""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor
from torch.nn import functional as F

from glance.heads.eagle3 import Eagle3Head
from glance.targets.base import Target

PASSES = 8
WIDTH = 4  # rows a pass: 32 nodes in all
COMMITTED = 4  # rows that the first pass takes in, of a usual round


class EaglePasses:
    """The step: rows committed since the last round, then seven levels of drafted ones."""

    def __init__(self, head: Eagle3Head, target: Target, context: int) -> None:
        c = head.config
        kind: dict[str, Any] = {"dtype": target.dtype, "device": target.device}
        rows = context + COMMITTED + PASSES * WIDTH
        rows += -rows % 64  # kernels take a mask of an even width
        shape = (1, c.num_key_value_heads, rows, c.head_dim)
        self._keys = torch.zeros(shape, **kind)
        self._values = torch.zeros_like(self._keys)
        self._columns = torch.arange(rows, device=target.device)
        self._features = torch.zeros(
            (1, COMMITTED, len(c.target_layer_ids), target.hidden_size), **kind
        )
        self._ids = torch.zeros(COMMITTED, dtype=torch.long, device=target.device)
        self._token_ids = head.token_ids()
        self._head, self._target, self._context = head, target, context

    def __call__(self) -> Tensor:
        """Ids of the last level."""
        ids, first = self._ids, self._context
        states = self._head.fuse(self._features)
        hidden = self._pass(ids, states, first)[:, -1:]
        scores = torch.zeros(1, device=ids.device)
        first += len(ids)
        for _ in range(PASSES - 1):
            log_q = torch.log_softmax(self._head.logits(hidden)[0].float(), dim=-1)
            children = torch.topk(log_q, WIDTH)
            best = torch.topk((scores[:, None] + children.values).flatten(), WIDTH)
            scores = best.values
            ids = self._token_ids[children.indices.flatten()[best.indices]]
            hidden = self._pass(ids, hidden[:, best.indices // WIDTH], first)
            first += WIDTH
        return self._token_ids[self._head.logits(hidden)[0].argmax(dim=-1)]

    def _pass(self, ids: Tensor, states: Tensor, first: int) -> Tensor:
        at = first + torch.arange(len(ids), device=ids.device)
        mask = (self._columns < first + len(ids))[None, None, None]

        def attend(q: Tensor, k: Tensor, v: Tensor) -> Tensor:
            self._keys.index_copy_(2, at, k)
            self._values.index_copy_(2, at, v)
            together = q.reshape(1, k.shape[1], -1, k.shape[3])
            seen = F.scaled_dot_product_attention(
                together, self._keys, self._values, attn_mask=mask
            )
            return seen.reshape(q.shape)

        embeds = self._target.embed(ids[None])
        rope = self._head.config.rope(at[None], embeds.dtype)
        return self._head(embeds, states, rope, attend)
