"""The EAGLE-3 head (arXiv 2503.01840): several depths of the target, a vocabulary of its own.

Row t has a state g_t and the embedding of token t+1. For positions that the target has read, g_t is
`fuse` of its tapped layers; for drafted ones it is the output of the row before.
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import pairwise

import torch
from torch import Tensor, nn

from glance.heads import files
from glance.heads.block import BlockMLP, Norm, Rope
from glance.heads.config import HeadError
from glance.heads.llama_layer import ALL, Attend, LlamaAttention, Rows, SequentialConfig
from glance.heads.rotary import frequency_axes, rotary

#: what stands in for the embedding of an image token: the pad token's, or the image's own
IMAGE_STREAMS = ("pad_embed", "vision_embed")


@dataclass(frozen=True, slots=True, kw_only=True)
class Eagle3Config(SequentialConfig):
    """Sizes of an EAGLE-3 head and of its target.

    Raises:
        HeadError: a size, the tapped layers or the rotary sections make no sense.
    """

    #: 0-based ids of the decoder layers whose outputs are tapped, strictly increasing
    target_layer_ids: tuple[int, ...]
    draft_vocab_size: int
    #: frequencies of time, height and width; () for places in line
    mrope_section: tuple[int, ...] = ()
    mrope_interleaved: bool = False
    image_stream: str = "pad_embed"
    #: the layer's first residual is the normed state, as some heads of speculators have it
    norm_before_residual: bool = False

    def __post_init__(self) -> None:
        super(Eagle3Config, self).__post_init__()  # slots make a class anew: name it
        taps = self.target_layer_ids
        if not taps or any(a >= b for a, b in pairwise((-1, *taps, self.num_target_layers))):
            raise HeadError(
                f"The head's tapped layers {list(taps)} must be strictly increasing and fit "
                f"{self.num_target_layers} target layers."
            )
        if not 1 <= self.draft_vocab_size <= self.vocab_size:
            raise HeadError(
                f"The head's draft_vocab_size {self.draft_vocab_size} does not fit a vocabulary "
                f"of {self.vocab_size}."
            )
        sections = self.mrope_section
        if sections and (len(sections) != 3 or 2 * sum(sections) != self.head_dim):
            raise HeadError(
                f"The head's mrope_section {list(sections)} does not share out half of its "
                f"head_dim {self.head_dim} among three axes."
            )
        if self.image_stream not in IMAGE_STREAMS:
            raise HeadError(
                f"The head's image_stream must be {' or '.join(IMAGE_STREAMS)}, "
                f"not {self.image_stream}."
            )

    def rope(self, positions: Tensor, dtype: torch.dtype) -> Rope:
        """cos and sin [..., rows, e] of positions [..., axes, rows]."""
        axes = frequency_axes(self.mrope_section, self.mrope_interleaved)
        return rotary(positions, self.head_dim, self.rope_theta, dtype, axes)


def eagle3_taps(num_layers: int) -> tuple[int, ...]:
    """The reference's choice of tapped layers, early, middle and late, for M target layers.

    Small targets, where those would coincide, give their first, middle and second-last.
    """
    if num_layers < 8:
        return 0, num_layers // 2 - 1, num_layers - 2
    return 1, num_layers // 2 - 1, num_layers - 4


class Eagle3Layer(nn.Module):
    """A Llama layer that reads embedding and state side by side, each with a norm of its own."""

    def __init__(self, config: Eagle3Config) -> None:
        super().__init__()
        d, eps = config.hidden_size, config.rms_norm_eps
        self.norm_before_residual = config.norm_before_residual
        self.input_layernorm = Norm(d, eps=eps)
        self.hidden_norm = Norm(d, eps=eps)
        self.self_attn = LlamaAttention(config, 2 * d)
        self.post_attention_layernorm = Norm(d, eps=eps)
        self.mlp = BlockMLP(d, config.intermediate_size)

    def forward(
        self, embeds: Tensor, states: Tensor, rope: Rope, attend: Attend, wanted: Rows = ALL
    ) -> Tensor:
        """Both [batch, rows, d] -> the next states of the rows wanted, before any norm."""
        normed = self.hidden_norm(states)
        x = torch.cat((self.input_layernorm(embeds), normed), dim=-1)
        before = normed if self.norm_before_residual else states
        x = before[:, wanted] + self.self_attn(x, rope, attend, wanted)
        return x + self.mlp(self.post_attention_layernorm(x))


class Eagle3Head(nn.Module):
    """fc, one layer, a norm and an lm_head; submodules named as the SpecForge layout.

    Attributes:
        d2t: [draft vocabulary] long; draft id + d2t[draft id] is the target's id.
        t2d: [V] bool; the target's tokens that the draft vocabulary has.
    """

    d2t: Tensor
    t2d: Tensor

    def __init__(self, config: Eagle3Config) -> None:
        super().__init__()
        d = config.hidden_size
        self.config = config
        self.fc = nn.Linear(len(config.target_layer_ids) * d, d, bias=False)
        self.midlayer = Eagle3Layer(config)
        self.norm = Norm(d, eps=config.rms_norm_eps)
        self.lm_head = nn.Linear(d, config.draft_vocab_size, bias=False)
        self.register_buffer("d2t", torch.zeros(config.draft_vocab_size, dtype=torch.long))
        self.register_buffer("t2d", torch.arange(config.vocab_size) < config.draft_vocab_size)

    def revision(self) -> str:
        """Short hash of the weights, as they are now."""
        return files.revision(self)

    def speak(self, token_ids: Tensor) -> None:
        """Take a draft vocabulary: ascending ids of the target, [draft vocabulary]."""
        self.d2t.copy_(token_ids - torch.arange(len(token_ids), device=token_ids.device))
        self.t2d.zero_()
        self.t2d[token_ids] = True

    def token_ids(self) -> Tensor:
        """The target's id of every draft token: [draft vocabulary]."""
        return torch.arange(len(self.d2t), device=self.d2t.device) + self.d2t

    def fuse(self, features: Tensor) -> Tensor:
        """States of tapped layers: [..., K, d] -> [..., d]."""
        return self.fc(features.flatten(-2))

    def forward(
        self, embeds: Tensor, states: Tensor, rope: Rope, attend: Attend, wanted: Rows = ALL
    ) -> Tensor:
        """Both [batch, rows, d] -> the next states of the rows wanted."""
        return self.midlayer(embeds, states, rope, attend, wanted)

    def logits(self, states: Tensor) -> Tensor:
        """[..., d] -> [..., draft vocabulary]."""
        return self.lm_head(self.norm(states))
