"""Where the rows of a pass look: attention weights of single heads, which fused attention hides.

A layer's queries are computed again from its input and meet the keys that the pass left in the
cache, so the model and its attention stay as they are. This holds for text layers of the Llama
kind: one projection, a norm over each head or none, half-split rotation. All supported families
have such layers; the windows of Gemma 3's are not known here.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from functools import partial
from threading import get_ident
from typing import Any

import torch
from torch import Tensor

from glance.entropy import at_least_float32
from glance.heads.block import rotate
from glance.targets.base import Target


@contextmanager
def taken_queries(target: Target, layers: Sequence[int]) -> Iterator[dict[int, Tensor]]:
    """Collect the queries of some text layers during one call of the target.

    Yields:
        By layer: [H, rows, e], rotated and scaled; e is the width of a head. Filled by the call.
    """
    taken: dict[int, Tensor] = {}
    owner = get_ident()  # hooks fire for every thread that uses the model

    def keep(layer_id: int, module: Any, _args: Any, given: dict[str, Any]) -> None:
        if get_ident() == owner:
            query = module.q_proj(given["hidden_states"][0]).unflatten(-1, (-1, module.head_dim))
            if hasattr(module, "q_norm"):
                query = module.q_norm(query)
            turned = rotate(query.transpose(0, 1), given["position_embeddings"])
            taken[layer_id] = turned * module.scaling

    text: Any = target.family.text_layers(target.model)
    handles = [
        text[layer_id].self_attn.register_forward_pre_hook(
            partial(keep, layer_id), with_kwargs=True
        )
        for layer_id in layers
    ]
    try:
        yield taken
    finally:
        for handle in handles:
            handle.remove()


def attention(
    queries: Tensor,  # [H, rows, e], rotated and scaled
    keys: Tensor,  # [G, S, e], rotated; the rows' own are the last
) -> Tensor:
    """Causal attention weights [H, rows, S], in float32 or better; H / G heads share their keys."""
    (heads, rows, _), (groups, length, _) = queries.shape, keys.shape
    shared = at_least_float32(keys).repeat_interleave(heads // groups, dim=0)
    scores = at_least_float32(queries) @ shared.mT
    later = torch.ones(rows, length, dtype=torch.bool, device=keys.device).triu(length - rows + 1)
    return scores.masked_fill(later, float("-inf")).softmax(dim=-1)
