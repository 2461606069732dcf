"""The HiViS-style head: EAGLE-2 that reads no image tokens and corrects its own guesses.

After the ideas of HiViS (arXiv 2509.23928), which has no public code: a design of this project, not
a reproduction. The target's states of the text have seen the image already, so only text has rows.
Guesses stray from what the target's features would have been, the further the deeper a draft is: a
learned vector for each step is added to them before the next row reads them.
"""

from __future__ import annotations

from dataclasses import dataclass

import torch
from torch import Tensor, nn

from glance.heads import files
from glance.heads.block import Rope
from glance.heads.config import HeadError
from glance.heads.llama_layer import ALL, Attend, LlamaLayer, Rows, SequentialConfig


@dataclass(frozen=True, slots=True, kw_only=True)
class HiViSConfig(SequentialConfig):
    """Sizes of a HiViS-style head; with image tokens and no residuals it is an EAGLE-2 head.

    Raises:
        HeadError: a size makes no sense.
    """

    #: steps with a residual of their own, later ones share the last; 0 for guesses as they are
    residual_steps: int = 5
    #: a row for every image token, as in EAGLE-2; else for text alone
    image_tokens: bool = False
    #: rows count on as if nothing were hidden between them; else they keep their places in line
    compact_positions: bool = False

    def __post_init__(self) -> None:
        super(HiViSConfig, self).__post_init__()  # slots make a class anew: name it
        if self.residual_steps < 0:
            raise HeadError(
                f"The head's residual_steps must not be negative, but is {self.residual_steps}."
            )


@dataclass(frozen=True, slots=True)
class Layout:
    """The rows that a stream becomes: the state of a place, the embedding of the next one kept."""

    places: Tensor  # [R] long, ascending: of the states
    reads: Tensor  # [R] long: the embedding, among those of the tokens after each of n places
    positions: Tensor  # [R] long, rotary


def lay_out(image: Tensor, config: HiViSConfig) -> Layout:
    """Rows of n places, after the last of which a token of text comes.

    image: bool [n], whether an image token stands there.
    """
    places = torch.arange(len(image), device=image.device)
    if not config.image_tokens:
        places = places[~image]
    reads = torch.cat((places[1:], places.new_tensor([len(image)]))) - 1
    positions = torch.arange(len(places), device=image.device)
    return Layout(places, reads, positions if config.compact_positions else places)


class HiViSHead(nn.Module):
    """EAGLE-2's fc and layer, and the residuals."""

    def __init__(self, config: HiViSConfig) -> None:
        super().__init__()
        self.config = config
        self.fc = nn.Linear(2 * config.hidden_size, config.hidden_size)
        self.layers = nn.ModuleList([LlamaLayer(config)])
        if config.residual_steps:
            self.residual = nn.Parameter(torch.zeros(config.residual_steps, config.hidden_size))

    def revision(self) -> str:
        """Short hash of the weights, as they are now."""
        return files.revision(self)

    def corrected(self, features: Tensor, step: int) -> Tensor:
        """Features [..., d] as rows of a step read them; those of step 0 are the target's."""
        last = self.config.residual_steps
        if step == 0 or last == 0:
            return features
        return features + self.residual[min(step, last) - 1]

    def forward(
        self,
        embeds: Tensor,  # [batch, rows, d] of the tokens after the features'
        features: Tensor,  # [batch, rows, d] the target's at step 0, then those of the step before
        step: int,
        rope: Rope,
        attend: Attend,
        wanted: Rows = ALL,
    ) -> Tensor:
        """Guessed features [batch, R, d] of the rows wanted."""
        pairs = torch.cat((embeds, self.corrected(features, step)), dim=-1)
        return self.layers[0](self.fc(pairs), rope, attend, wanted)
