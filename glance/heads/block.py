"""The GLANCE head: a block-diffusion drafter as a module (DFlash, arXiv 2602.06036).

Computes; keeps no state. Serving adds it (`glance.drafters.block`), training adds masks and labels.

Letters beside those of `glance.types`: S context rows, Q block rows, n draft layers, h heads,
g key/value heads, e head size.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import cast

import torch
from torch import Tensor, nn
from torch.nn import functional as F

from glance.heads import files
from glance.heads.config import HeadConfig

Rope = tuple[Tensor, Tensor]  # cos and sin, each [..., positions, e]
KeysValues = tuple[Tensor, Tensor]  # each [batch, g, rows, e]
#: Joins a layer's committed context with the keys and values of its block rows.
Join = Callable[[int, Tensor, Tensor], KeysValues]


def rotate(x: Tensor, rope: Rope) -> Tensor:
    """Rotary position embedding, half-split layout. x: [..., positions, e]."""
    cos, sin = rope
    low, high = x.chunk(2, dim=-1)
    return x * cos + torch.cat((-high, low), dim=-1) * sin


class Norm(nn.RMSNorm):
    """RMSNorm in the precision of its weight, under autocast too."""

    def forward(self, x: Tensor) -> Tensor:
        """Norm over the last axis."""
        return super().forward(x.to(self.weight.dtype))


class BlockAttention(nn.Module):
    """Grouped-query attention of block rows over context and block."""

    def __init__(self, config: HeadConfig) -> None:
        super().__init__()
        d, e = config.hidden_size, config.head_dim
        self.head_dim = e
        self.q_proj = nn.Linear(d, config.num_attention_heads * e, bias=False)
        self.k_proj = nn.Linear(d, config.num_key_value_heads * e, bias=False)
        self.v_proj = nn.Linear(d, config.num_key_value_heads * e, bias=False)
        self.o_proj = nn.Linear(config.num_attention_heads * e, d, bias=False)
        self.q_norm = Norm(e, eps=config.rms_norm_eps)
        self.k_norm = Norm(e, eps=config.rms_norm_eps)

    def forward(
        self,
        x: Tensor,  # [batch, Q, d], already normed
        rope: Rope,
        join: Callable[[Tensor, Tensor], KeysValues],
        mask: Tensor | None,  # bool [batch, 1, Q or 1, S+Q], True = may attend; None = all may
    ) -> Tensor:
        split = (*x.shape[:2], -1, self.head_dim)
        # q: [batch, h, Q, e]; k, v: [batch, g, Q, e]
        q = rotate(self.q_norm(self.q_proj(x).view(split)).transpose(1, 2), rope)
        k = rotate(self.k_norm(self.k_proj(x).view(split)).transpose(1, 2), rope)
        v = self.v_proj(x).view(split).transpose(1, 2)
        keys, values = join(k, v)  # [batch, g, S+Q, e]
        # Under autocast norms and rotations come back wider than the projections.
        q, keys, values = q.to(v.dtype), keys.to(v.dtype), values.to(v.dtype)
        if mask is not None and mask.shape[2] == 1:
            # all rows see the same: heads that share keys can stand in one matrix, which spares
            # the copy of keys for every head that the grouped form makes under a mask
            together = q.reshape(*keys.shape[:2], -1, self.head_dim)
            seen = F.scaled_dot_product_attention(together, keys, values, attn_mask=mask)
            seen = seen.reshape(q.shape)
        else:
            seen = F.scaled_dot_product_attention(q, keys, values, attn_mask=mask, enable_gqa=True)
        return self.o_proj(seen.transpose(1, 2).flatten(2))


class BlockMLP(nn.Module):
    """SwiGLU."""

    def __init__(self, hidden_size: int, intermediate_size: int) -> None:
        super().__init__()
        self.gate_proj = nn.Linear(hidden_size, intermediate_size, bias=False)
        self.up_proj = nn.Linear(hidden_size, intermediate_size, bias=False)
        self.down_proj = nn.Linear(intermediate_size, hidden_size, bias=False)

    def forward(self, x: Tensor) -> Tensor:
        return self.down_proj(F.silu(self.gate_proj(x)) * self.up_proj(x))


class BlockLayer(nn.Module):
    """One Qwen3-style pre-norm layer for block rows; the context enters as keys and values."""

    def __init__(self, config: HeadConfig) -> None:
        super().__init__()
        self.input_layernorm = Norm(config.hidden_size, eps=config.rms_norm_eps)
        self.self_attn = BlockAttention(config)
        self.post_attention_layernorm = Norm(config.hidden_size, eps=config.rms_norm_eps)
        self.mlp = BlockMLP(config.hidden_size, config.intermediate_size)

    def forward(
        self,
        x: Tensor,  # [batch, Q, d]
        rope: Rope,
        join: Callable[[Tensor, Tensor], KeysValues],
        mask: Tensor | None,
    ) -> Tensor:
        x = x + self.self_attn(self.input_layernorm(x), rope, join, mask)
        return x + self.mlp(self.post_attention_layernorm(x))


class BlockHead(nn.Module):
    """Block-diffusion head: context features enter as keys and values, block rows come out.

    Submodules are named as the z-lab layout names its tensors. Embedding and lm_head stay with the
    target; the output goes straight to its lm_head, without its final norm.
    """

    def __init__(self, config: HeadConfig) -> None:
        super().__init__()
        self.config = config
        d = config.hidden_size
        self.fc = nn.Linear(len(config.target_layer_ids) * d, d, bias=False)
        self.hidden_norm = Norm(d, eps=config.rms_norm_eps)
        self.layers = nn.ModuleList(BlockLayer(config) for _ in range(config.num_hidden_layers))
        self.norm = Norm(d, eps=config.rms_norm_eps)

    def revision(self) -> str:
        """Short hash of the weights, as they are now."""
        return files.revision(self)

    def rope(self, positions: Tensor) -> Rope:
        """cos and sin [..., e] of 1-D stream positions, image placeholders included."""
        e = self.config.head_dim
        # float64 angles: at position 4000 a float32 product already errs by 1e-4 radians.
        step = torch.arange(0, e, 2, device=positions.device, dtype=torch.float64) / e
        angles = positions.to(torch.float64)[..., None] * self.config.rope_theta**-step
        dtype = self.fc.weight.dtype
        cos, sin = angles.cos().to(dtype), angles.sin().to(dtype)
        return torch.cat((cos, cos), dim=-1), torch.cat((sin, sin), dim=-1)

    def fuse(self, features: Tensor) -> Tensor:
        """Context feature of tapped hidden states: [..., K, d] -> [..., d]."""
        return self.hidden_norm(self.fc(features.flatten(-2)))

    def context_weights(self) -> tuple[Tensor, Tensor]:
        """All layers' key and value projections [n*2*g*e, d], their key norms [n, 1, 1, e]."""
        attentions = [cast("BlockLayer", layer).self_attn for layer in self.layers]
        matrix = torch.cat([w for a in attentions for w in (a.k_proj.weight, a.v_proj.weight)])
        norms = torch.stack([a.k_norm.weight for a in attentions])
        return matrix, norms[:, None, None]

    def context_kv(
        self,
        context: Tensor,  # [batch, S, d] from fuse()
        rope: Rope,  # broadcasts to [batch, n, g, S, e]
        weights: tuple[Tensor, Tensor],  # from context_weights()
    ) -> KeysValues:
        """Context of every layer, each [batch, n, g, S, e]; keys are normed, then rotated."""
        matrix, norms = weights
        c, (batch, rows) = self.config, context.shape[:2]
        kv = F.linear(context, matrix)
        kv = kv.view(batch, rows, c.num_hidden_layers, 2, c.num_key_value_heads, c.head_dim)
        kv = kv.permute(3, 0, 2, 4, 1, 5)  # [2, batch, n, g, S, e]
        keys = F.rms_norm(kv[0].to(norms.dtype), (c.head_dim,), eps=c.rms_norm_eps) * norms
        return rotate(keys, rope), kv[1]

    def forward(
        self,
        x: Tensor,  # [batch, Q, d]: embeddings of [root, MASK x L], one block or several
        rope: Rope,  # broadcasts to [batch, heads, Q, e]
        join: Join,
        mask: Tensor | None = None,  # bool [batch, 1, Q, S+Q]
    ) -> Tensor:
        """[batch, Q, d]: row j of a block predicts the token *at* offset j; row 0 is unused."""
        for i, layer in enumerate(self.layers):
            x = layer(x, rope, partial(join, i), mask)
        return self.norm(x)
