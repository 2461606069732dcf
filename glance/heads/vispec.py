"""The ViSpec head (arXiv 2509.15235): EAGLE-2 with an image adaptor in place of image tokens.

Two learned queries look at an image's embeddings. What the first finds enters the layer as the only
row of that image; what the second finds is mixed into the feature of every later row.

Pairs are those of `glance.heads.eagle2`: pair t is the target's state f_t and the embedding of
token t+1. So the pairs of an image are those whose *next* token is one of its placeholders.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import groupby

import torch
from torch import Tensor, nn
from torch.nn import functional as F

from glance.heads import files
from glance.heads.block import Rope
from glance.heads.llama_layer import ALL, Attend, LlamaLayer, Rows, SequentialConfig

Span = tuple[int, int]  # the first place and the one after the last


@dataclass(frozen=True, slots=True, kw_only=True)
class ViSpecConfig(SequentialConfig):
    """Sizes of a ViSpec head; with neither of its two parts it is an EAGLE-2 head.

    Raises:
        HeadError: a size makes no sense.
    """

    #: one learned row an image; without it a row for every image token, as in EAGLE-2
    adaptor: bool = True
    #: a learned vector of the latest image in the feature of every row after it
    global_vector: bool = True

    @property
    def queries(self) -> int:
        """How many vectors are made of an image."""
        return self.adaptor + self.global_vector


def image_spans(
    ids: Sequence[int],
    image_token_id: int,
    moments: Sequence[int],  # time of each place in M-RoPE, by which images side by side differ
) -> tuple[Span, ...]:
    """The pairs of each image, in order."""
    keys = [at if i == image_token_id else None for i, at in zip(ids, moments, strict=True)]
    spans, place = [], 0
    for key, run in groupby(keys):
        end = place + sum(1 for _ in run)
        if key is not None and end > 1:  # a first token is no pair's next
            spans.append((max(place - 1, 0), end - 1))
        place = end
    return tuple(spans)


@dataclass(frozen=True, slots=True)
class Layout:
    """The rows that a stream of pairs becomes; they keep their places, so there may be gaps."""

    spans: tuple[Span, ...]  # pairs of each image
    places: Tensor  # [R] long, ascending; also the rotary positions
    image: Tensor  # [R] long: the image that the row stands for, -1 for a pair
    latest: Tensor  # [R] long: the last image that ended before the row, -1 for none


def lay_out(pairs: int, spans: tuple[Span, ...], adaptor: bool, device: torch.device) -> Layout:
    """With the adaptor an image has one row, in the place of its last pair."""
    places = torch.arange(pairs, device=device)
    ends = torch.tensor([end for _, end in spans], dtype=torch.long, device=device)
    latest = torch.searchsorted(ends, places, right=True) - 1
    image = torch.full_like(places, -1)
    kept = torch.ones_like(places, dtype=torch.bool)
    if adaptor:
        for number, (first, end) in enumerate(spans):
            image[end - 1] = number
            kept[first : end - 1] = False
    return Layout(spans, places[kept], image[kept], latest[kept])


@dataclass(frozen=True, slots=True)
class Sight:
    """What was made of each image; both end with zeros, which index -1 finds: no image."""

    rows: Tensor  # [images + 1, d], for the layer
    vectors: Tensor  # [images + 1, d], global


class ImageAdaptor(nn.Module):
    """Learned queries attend to the embeddings of one image: no positions, norm or MLP."""

    def __init__(self, config: ViSpecConfig) -> None:
        super().__init__()
        d, h, e = config.hidden_size, config.num_attention_heads, config.head_dim
        self.q = nn.Parameter(torch.randn(config.queries, h, e) * e**-0.5)
        self.k_proj = nn.Linear(d, h * e, bias=config.attention_bias)
        self.v_proj = nn.Linear(d, h * e, bias=config.attention_bias)
        self.o_proj = nn.Linear(h * e, d, bias=False)

    def forward(self, image: Tensor) -> Tensor:
        """Embeddings [tokens, d] -> [queries, d]."""
        split = (len(image), *self.q.shape[1:])
        k = self.k_proj(image).view(split).transpose(0, 1)
        v = self.v_proj(image).view(split).transpose(0, 1)
        seen = F.scaled_dot_product_attention(self.q.transpose(0, 1).to(v.dtype), k, v)
        return self.o_proj(seen.transpose(0, 1).flatten(1))


class ViSpecHead(nn.Module):
    """EAGLE-2's fc and layer with the adaptor; submodules named as the ViSpec layout."""

    def __init__(self, config: ViSpecConfig) -> None:
        super().__init__()
        d = config.hidden_size
        self.config = config
        self.fc = nn.Linear(2 * d, d)
        self.layers = nn.ModuleList([LlamaLayer(config)])
        if config.queries:
            self.imadpt = ImageAdaptor(config)
        if config.global_vector:
            self.img_fc = nn.Linear(2 * d, d)
            nn.init.eye_(self.img_fc.weight[:, :d])  # features as they are, no image in them yet
            nn.init.zeros_(self.img_fc.weight[:, d:])
            nn.init.zeros_(self.img_fc.bias)

    def revision(self) -> str:
        """Short hash of the weights, as they are now."""
        return files.revision(self)

    def see(self, embeds: Tensor, spans: Sequence[Span]) -> Sight:
        """Look at every image. `embeds`: [n, d] of the tokens after each of n places."""
        c = self.config
        seen = [self.imadpt(embeds[first:end]) for first, end in spans] if c.queries else []
        none = embeds.new_zeros(1, embeds.shape[-1])
        rows = [found[:1] for found in seen] if c.adaptor else []
        vectors = [found[-1:] for found in seen] if c.global_vector else [none] * len(spans)
        return Sight(torch.cat([*rows, none]), torch.cat([*vectors, none]))

    def pairs(self, embeds: Tensor, features: Tensor, vectors: Tensor) -> Tensor:
        """Inputs [..., d] of the layer, all from [..., d]; `vectors` are global ones."""
        if self.config.global_vector:
            features = self.img_fc(torch.cat((features, vectors.expand_as(features)), dim=-1))
        return self.fc(torch.cat((embeds, features), dim=-1))

    def inputs(
        self,
        embeds: Tensor,  # [n, d] of the tokens after each of n places
        features: Tensor,  # [R, d] of the layout's rows; those of image rows are not used
        layout: Layout,
        sight: Sight,
    ) -> Tensor:
        """Inputs [R, d] of the layer for a stream that may have images in it."""
        x = self.pairs(embeds[layout.places], features, sight.vectors[layout.latest])
        return torch.where(layout.image[:, None] >= 0, sight.rows[layout.image], x)

    def forward(self, x: Tensor, rope: Rope, attend: Attend, wanted: Rows = ALL) -> Tensor:
        """Inputs [batch, rows, d] -> guessed features [batch, R, d] of the rows wanted."""
        return self.layers[0](x, rope, attend, wanted)
