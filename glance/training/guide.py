"""Guided attention: a training loss that tells a head which visual token to look at.

The head's query and key are computed again from the layer's input, so the class and its fused
attention stay as they are; nothing of this exists at run time.
"""

from typing import Any

import torch
from torch import Tensor, nn
from torch.nn import functional as F
from transformers.models.qwen3_vl.modeling_qwen3_vl import apply_rotary_pos_emb


class Guide:
    """Head 0 of text layer `layer` must look at the given visual token."""

    def __init__(self, text_model: Any, layer: int) -> None:
        self.layer: Any = text_model.layers[layer]
        self._seen: tuple[Tensor, tuple[Tensor, Tensor]] | None = None
        self.layer.register_forward_pre_hook(self._see, with_kwargs=True)

    def _see(self, _module: nn.Module, args: tuple[Any, ...], kwargs: dict[str, Any]) -> None:
        hidden = args[0] if args else kwargs["hidden_states"]
        self._seen = (hidden, kwargs["position_embeddings"])

    def loss(
        self, goal: Tensor, mask: Tensor, visual: int, weights: Tensor
    ) -> tuple[Tensor, float]:
        """Mean of -log(attention on the goal), and how often the largest one is the goal.

        goal [b, S]: row of a visual token or -1; mask [b, 1, S, S]; visual: rows of
        the shared head; weights [b, S]: of the mean.
        """
        assert self._seen is not None, "run the model before asking for the loss"
        hidden, (cos, sin) = self._seen
        attention = self.layer.self_attn
        d = attention.head_dim
        x = self.layer.input_layernorm(hidden)
        q = attention.q_norm(F.linear(x, attention.q_proj.weight[:d]))[:, None]
        k = attention.k_norm(F.linear(x, attention.k_proj.weight[:d]))[:, None]
        q, k = apply_rotary_pos_emb(q, k, cos, sin)
        pointed = goal >= 0
        score = torch.cat(
            [
                (q[i, 0, rows] @ k[i, 0].T).float().masked_fill(~mask[i, 0, rows], -1e9)
                for i, rows in enumerate(pointed)
            ]
        )  # [answer rows, S]
        score, wanted = score * attention.scaling, goal[pointed]
        log_p = score.log_softmax(-1)
        hit = (score[:, :visual].argmax(-1) == wanted).float().mean().item()
        weights = weights[pointed]
        return -(log_p.gather(-1, wanted[:, None])[:, 0] * weights).sum() / weights.sum(), hit
