"""The Llama layer that sequential drafters are made of, and its sizes.

A layer does not know what its rows attend to: the caller's `attend` joins, masks and weighs. In
serving rows see a cache and a tree, in training a whole sequence.

Letters as in `glance.heads.block`.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import torch
from torch import Tensor, nn
from torch.nn import functional as F

from glance.heads.block import BlockMLP, Norm, Rope, rotate
from glance.heads.config import HeadError
from glance.heads.rotary import rotary

#: What a layer's rows see: q [batch, h, R, e], k and v [batch, g, rows, e] -> q's shape.
Attend = Callable[[Tensor, Tensor, Tensor], Tensor]
#: Some of the rows of a call: their numbers [R], or a slice.
Rows = Tensor | slice
ALL = slice(None)

SIZES = (
    "hidden_size",
    "intermediate_size",
    "num_attention_heads",
    "num_key_value_heads",
    "head_dim",
    "vocab_size",
    "num_target_layers",
    "max_position_embeddings",
)


@dataclass(frozen=True, slots=True, kw_only=True)
class SequentialConfig:
    """Sizes of a drafter of one Llama layer and of the target it was made for.

    Raises:
        HeadError: a size makes no sense.
    """

    hidden_size: int  # d, equal to the target's
    intermediate_size: int
    num_attention_heads: int
    num_key_value_heads: int
    head_dim: int
    vocab_size: int  # V of the target
    num_target_layers: int  # M
    max_position_embeddings: int = 8192
    rope_theta: float = 10_000.0
    rms_norm_eps: float = 1e-6
    attention_bias: bool = False  # of q, k and v
    #: hash of the target's weights; empty when the head's maker gave none
    target_revision: str = ""

    def __post_init__(self) -> None:
        for name in SIZES:
            if getattr(self, name) < 1:
                raise HeadError(f"The head's {name} must be positive, not {getattr(self, name)}.")
        if self.num_attention_heads % self.num_key_value_heads:
            raise HeadError(
                "The head's num_attention_heads must be a multiple of its num_key_value_heads."
            )
        if self.head_dim % 2:
            raise HeadError("The head's head_dim must be even.")

    def rope(self, positions: Tensor, dtype: torch.dtype) -> Rope:
        """cos and sin [..., rows, e] of positions [..., axes, rows]."""
        return rotary(positions, self.head_dim, self.rope_theta, dtype)


class LlamaAttention(nn.Module):
    """Grouped-query attention; `inputs` is the width of what it reads."""

    def __init__(self, config: SequentialConfig, inputs: int) -> None:
        super().__init__()
        e, bias = config.head_dim, config.attention_bias
        self.head_dim = e
        self.q_proj = nn.Linear(inputs, config.num_attention_heads * e, bias=bias)
        self.k_proj = nn.Linear(inputs, config.num_key_value_heads * e, bias=bias)
        self.v_proj = nn.Linear(inputs, config.num_key_value_heads * e, bias=bias)
        self.o_proj = nn.Linear(config.num_attention_heads * e, config.hidden_size, bias=False)

    def forward(self, x: Tensor, rope: Rope, attend: Attend, wanted: Rows = ALL) -> Tensor:
        """[batch, rows, inputs] -> [batch, R, d] of the rows wanted; keys and values are of all.

        rope broadcasts to [batch, h, rows, e].
        """

        def heads(projected: Tensor) -> Tensor:
            return projected.unflatten(-1, (-1, self.head_dim)).transpose(1, 2)

        cos, sin = rope
        q = rotate(heads(self.q_proj(x[:, wanted])), (cos[..., wanted, :], sin[..., wanted, :]))
        k = rotate(heads(self.k_proj(x)), rope)
        v = heads(self.v_proj(x))
        # Under autocast rotations come back wider than the projections.
        seen = attend(q.to(v.dtype), k.to(v.dtype), v)
        return self.o_proj(seen.transpose(1, 2).flatten(2))


class LlamaLayer(nn.Module):
    """A layer without a norm before its attention, as EAGLE's first layer has none."""

    def __init__(self, config: SequentialConfig) -> None:
        super().__init__()
        self.self_attn = LlamaAttention(config, config.hidden_size)
        self.post_attention_layernorm = Norm(config.hidden_size, eps=config.rms_norm_eps)
        self.mlp = BlockMLP(config.hidden_size, config.intermediate_size)

    def forward(self, x: Tensor, rope: Rope, attend: Attend, wanted: Rows = ALL) -> Tensor:
        """[batch, rows, d] -> [batch, R, d] of the rows wanted."""
        x = x[:, wanted] + self.self_attn(x, rope, attend, wanted)
        return x + self.mlp(self.post_attention_layernorm(x))


def masked(mask: Tensor) -> Attend:
    """Rows see the rows of their own call that `mask` allows: bool [batch, 1, rows, rows]."""

    def attend(q: Tensor, k: Tensor, v: Tensor) -> Tensor:
        return F.scaled_dot_product_attention(q, k, v, attn_mask=mask, enable_gqa=True)

    return attend
