"""Attention of several rows over grouped keys, without a copy of the keys for every head.

Under a mask, sdpa has no grouped form that is fast, so transformers copies keys and values to all
heads first: for a tree pass over a long context more traffic than the cache itself. The rows of
all heads that share keys can stand in one matrix instead, and keys stay as they are. transformers
does so for single rows.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

from torch import Tensor
from torch.nn import functional as F
from transformers import AttentionInterface
from transformers.integrations.sdpa_attention import sdpa_attention_forward
from transformers.masking_utils import AttentionMaskInterface, sdpa_mask

if TYPE_CHECKING:
    from glance.targets.base import Target

NAME = "glance_grouped"


def grouped(
    module: Any,
    query: Tensor,  # [1, h, rows, e]
    key: Tensor,  # [1, g, window, e]
    value: Tensor,
    attention_mask: Tensor | None,  # [1, 1, rows, window]
    **others: Any,
) -> tuple[Tensor, None]:
    """[1, rows, h, e]; the same as sdpa, to which it leaves all other shapes."""
    heads, groups, rows = query.shape[1], key.shape[1], query.shape[2]
    if attention_mask is None or heads == groups or others.get("position_bias") is not None:
        return sdpa_attention_forward(module, query, key, value, attention_mask, **others)
    share = heads // groups  # heads that share keys are neighbours
    seen = F.scaled_dot_product_attention(
        query.reshape(1, groups, share * rows, -1),
        key,
        value,
        attn_mask=attention_mask.repeat(1, 1, share, 1),
        scale=others.get("scaling"),
    )
    return seen.reshape(1, heads, rows, -1).transpose(1, 2).contiguous(), None


AttentionInterface.register(NAME, grouped)
AttentionMaskInterface.register(NAME, sdpa_mask)


@contextmanager
def grouped_attention(target: Target) -> Iterator[None]:
    """The text layers of the target attend so meanwhile, where they would by sdpa.

    Passes that other threads run at the same time get the same results either way, so nothing
    waits; whoever ends puts back what the target was loaded with.
    """
    text = target.model.get_decoder().config  # which its layers read; not always the model's own
    if target.attention == "sdpa":
        text._attn_implementation = NAME
    try:
        yield
    finally:
        text._attn_implementation = target.attention
