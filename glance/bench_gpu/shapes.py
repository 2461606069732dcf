"""The shapes that are timed: Qwen3-VL's published text sizes and DFlash heads for them. No torch.

The target's vision tower is a small one, as no image is read: prefill is not what is timed.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

VOCABULARY = 151_936
MASK = 151_669  # the first id that Qwen3's tokenizer leaves free


@dataclass(frozen=True, slots=True)
class Shape:
    """Sizes of a target, its block head, and an EAGLE-3 head."""

    name: str
    hidden: int
    layers: int
    heads: int
    groups: int
    ffn: int
    tied: bool  # lm_head is the embedding
    head_dim: int = 128
    vocabulary: int = VOCABULARY
    mask: int = MASK
    draft_layers: int = 5
    draft_vocabulary: int = 32_000  # of EAGLE-3
    sections: tuple[int, int, int] = (24, 20, 20)  # of M-RoPE

    @property
    def taps(self) -> tuple[int, ...]:
        """Evenly spaced layer ids from 1 to three before the last, as DFlash takes them."""
        n, last = self.draft_layers, self.layers - 3
        return tuple(round(1 + i * (last - 1) / (n - 1)) for i in range(n))

    def text(self) -> dict[str, Any]:
        """The target's text config."""
        rope = {"rope_type": "default", "rope_theta": 5e6, "mrope_section": list(self.sections)}
        return {
            "vocab_size": self.vocabulary,
            "hidden_size": self.hidden,
            "intermediate_size": self.ffn,
            "num_hidden_layers": self.layers,
            "num_attention_heads": self.heads,
            "num_key_value_heads": self.groups,
            "head_dim": self.head_dim,
            "max_position_embeddings": 262_144,
            "tie_word_embeddings": self.tied,
            "rope_parameters": rope,
        }

    def sizes(self) -> dict[str, Any]:
        """What the configs of both heads have in common."""
        return {
            "hidden_size": self.hidden,
            "intermediate_size": self.ffn,
            "num_attention_heads": self.heads,
            "num_key_value_heads": self.groups,
            "head_dim": self.head_dim,
            "vocab_size": self.vocabulary,
            "num_target_layers": self.layers,
        }


FULL = (
    Shape("Qwen3-VL-2B", 2048, 28, 16, 8, 6144, tied=True),
    Shape("Qwen3-VL-4B", 2560, 36, 32, 8, 9728, tied=True),
    Shape("Qwen3-VL-8B", 4096, 36, 32, 8, 12_288, tied=False),
)
#: for a CPU, to show that the command works
SMALL = Shape(
    "small",
    64,
    8,
    4,
    2,
    128,
    tied=False,
    head_dim=16,
    vocabulary=512,
    mask=511,
    draft_layers=2,
    draft_vocabulary=128,
    sections=(4, 2, 2),
)
