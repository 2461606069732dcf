"""Medusa heads (arXiv 2401.10774) that share the target's lm_head, and their files.

Head j looks at the state that gave the root token and predicts the j-th token after the root. The
layout is FasterDecoding's, `config.json` and `medusa_lm_head.safetensors`, less its last layers.
"""

from __future__ import annotations

import re
from dataclasses import asdict, dataclass, fields
from pathlib import Path

import torch
from torch import Tensor, nn
from torch.nn import functional as F

from glance.heads import files
from glance.heads.config import HeadError

WEIGHTS = "medusa_lm_head.safetensors"
OWN_OUTPUT = re.compile(r"\d+\.\d+\.weight")  # Linear(d -> V) after a head's blocks


@dataclass(frozen=True, slots=True)
class MedusaConfig:
    """Sizes of Medusa heads and of the target they were made for.

    Raises:
        HeadError: a size is not positive.
    """

    hidden_size: int  # d of the target
    vocab_size: int  # V of the target
    num_target_layers: int  # M
    medusa_num_heads: int = 5
    #: hash of the target's weights; empty when the head's maker gave none
    target_revision: str = ""

    def __post_init__(self) -> None:
        for name in ("hidden_size", "vocab_size", "num_target_layers", "medusa_num_heads"):
            if getattr(self, name) < 1:
                raise HeadError(f"The head's {name} must be positive, not {getattr(self, name)}.")


class ResBlock(nn.Module):
    """x + SiLU(Linear(x)), which starts out as x plus a constant."""

    def __init__(self, width: int) -> None:
        super().__init__()
        self.linear = nn.Linear(width, width)
        nn.init.zeros_(self.linear.weight)

    def forward(self, x: Tensor) -> Tensor:
        return x + F.silu(self.linear(x))


class MedusaHead(nn.ModuleList):
    """All heads; submodules are named as the public layout names its tensors."""

    def __init__(self, config: MedusaConfig) -> None:
        heads = config.medusa_num_heads
        super().__init__(nn.Sequential(ResBlock(config.hidden_size)) for _ in range(heads))
        self.config = config

    def forward(self, state: Tensor) -> Tensor:
        """[..., d] after the target's final norm -> [..., L, d] for its lm_head."""
        return torch.stack([head(state) for head in self], dim=-2)

    def revision(self) -> str:
        """Short hash of the weights, as they are now."""
        return files.revision(self)


def write_medusa(head: MedusaHead, folder: Path, *, dtype: torch.dtype = torch.bfloat16) -> None:
    """Write both files into `folder`, made if missing."""
    files.write_config(folder, {**asdict(head.config), "medusa_num_layers": 1})
    files.write_tensors(head, folder / WEIGHTS, dtype)


def read_medusa(folder: Path) -> MedusaHead:
    """Read heads, float32, on the CPU.

    Raises:
        HeadError: a file is missing or broken, a tensor is missing, unknown or misshapen, or these
            are no Medusa heads of one block that share the target's lm_head.
    """
    raw = files.read_config(folder)
    if "medusa_num_heads" not in raw:
        raise HeadError("These are not Medusa heads: config.json has no medusa_num_heads.")
    if raw.get("medusa_num_layers", 1) != 1:
        raise HeadError("Only Medusa heads of one block each are supported.")
    weights = files.read_tensors(folder / WEIGHTS)
    if any(OWN_OUTPUT.fullmatch(name) for name in weights):
        raise HeadError("Medusa heads with output layers of their own are not supported.")
    try:
        config = MedusaConfig(**{f.name: raw[f.name] for f in fields(MedusaConfig)})
    except KeyError as error:
        raise HeadError(f"The head's config.json lacks {error.args[0]}.") from error
    head = MedusaHead(config)
    files.load_strictly(head, weights, folder / WEIGHTS)
    return head
