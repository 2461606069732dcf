"""The part of a target that a drafter touches: sizes, embedding, final norm and lm_head."""

from dataclasses import dataclass, field
from types import SimpleNamespace

import torch
from torch import Tensor, nn


@dataclass
class Tables:
    """A target without layers, its weights random."""

    name: str = "tables"
    vocab_size: int = 40
    hidden_size: int = 32
    num_layers: int = 6
    revision: str = "abc"
    dtype: torch.dtype = torch.float64
    image_token_id: int = 38
    device: torch.device = field(default_factory=lambda: torch.device("cpu"))

    def __post_init__(self) -> None:
        torch.manual_seed(1)
        self.model = SimpleNamespace(config=SimpleNamespace(image_token_id=self.image_token_id))
        self.table = nn.Embedding(self.vocab_size, self.hidden_size, dtype=self.dtype)
        self.norm = nn.RMSNorm(self.hidden_size, eps=1e-6, dtype=self.dtype)
        nn.init.uniform_(self.norm.weight, 0.5, 1.5)
        self.table.requires_grad_(False)
        self.norm.requires_grad_(False)

    def embed(self, ids: Tensor) -> Tensor:
        return self.table(ids)

    def final_norm(self, hidden: Tensor) -> Tensor:
        return self.norm(hidden)

    def lm_head(self, hidden: Tensor) -> Tensor:
        return hidden @ self.table.weight.T
