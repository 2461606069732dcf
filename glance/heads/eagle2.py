"""The EAGLE-2 head (arXiv 2406.16858; weights as in EAGLE-1): the target's next feature, guessed.

Row t has the target's last state f_t, as it enters lm_head, and the embedding of token t+1. Its
output stands for f_{t+1}: the target's lm_head reads it, and it is the feature of the next row.
"""

from __future__ import annotations

import torch
from torch import Tensor, nn

from glance.heads import files
from glance.heads.block import Rope
from glance.heads.llama_layer import ALL, Attend, LlamaLayer, Rows, SequentialConfig


class Eagle2Head(nn.Module):
    """One layer over pairs of embedding and feature; submodules named as the EAGLE layout."""

    def __init__(self, config: SequentialConfig) -> None:
        super().__init__()
        self.config = config
        self.fc = nn.Linear(2 * config.hidden_size, config.hidden_size)
        self.layers = nn.ModuleList([LlamaLayer(config)])

    def revision(self) -> str:
        """Short hash of the weights, as they are now."""
        return files.revision(self)

    def forward(
        self,
        embeds: Tensor,  # [batch, rows, d] of the tokens after the features'
        features: Tensor,  # [batch, rows, d] the target's, or this head's own
        rope: Rope,
        attend: Attend,
        wanted: Rows = ALL,
    ) -> Tensor:
        """Guessed features [batch, R, d] of the rows wanted."""
        x = self.fc(torch.cat((embeds, features), dim=-1))
        return self.layers[0](x, rope, attend, wanted)
