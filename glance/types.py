"""The values that pass between the verbs. Tensors appear in annotations only: no torch here.

Letters used in shapes, here and everywhere:

    B  block size (root token + drafted offsets)   L  = B - 1, drafted offsets
    N  node budget, root not counted               rows = N + 1, packed rows of a verify pass
    n  prompt tokens                               S  committed context length
    d  hidden size       V  vocabulary             K  tapped layers       m  newly committed rows

Batch is 1 throughout.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from PIL.Image import Image
    from torch import Tensor

#: tap id of what enters the first decoder layer: the input embeddings, image features in place
INPUT = -1


class PromptError(ValueError):
    """The prompt cannot be decoded; the message is one plain sentence for the person asking."""


@dataclass(frozen=True, slots=True)
class Prompt:
    """A question about images, as the target reads it."""

    input_ids: Tensor  # [1, n] long
    #: what prefill needs besides the ids: pixel_values, image_grid_thw, mm_token_type_ids, ...
    model_inputs: dict[str, Tensor]
    question: str
    #: how many of the n tokens stand for image patches
    image_tokens: int
    #: the images as processed: the resized pixels that the target sees
    images: tuple[Image, ...] = ()


@dataclass(frozen=True, slots=True)
class DraftBlock:
    """One pass of a block drafter: a distribution for each drafted offset."""

    logits: Tensor  # [L, V] float
    #: build only the chain of per-offset argmaxes (tree width one), not a best-first tree
    chain: bool = False


@dataclass(frozen=True, slots=True)
class CandidateTree:
    """A prefix-closed tree of proposed continuations as parallel arrays, one entry a node.

    Node 0 is the root token. Parents stand before their children, so every path is ascending.
    """

    token_ids: tuple[int, ...]
    parents: tuple[int, ...]  # parents[0] == -1
    depths: tuple[int, ...]  # depths[0] == 0
    ranks: tuple[int, ...]  # rank of the token among those of its offset; 0 for the root
    #: draft probability of the node's own token at its depth; 1.0 for the root
    p_draft: tuple[float, ...]

    def __len__(self) -> int:
        """Number of rows: drafted nodes and the root."""
        return len(self.token_ids)


@dataclass(frozen=True, slots=True)
class Verdict:
    """What the target made of a tree."""

    path: tuple[int, ...]  # accepted node indices, root included, ascending
    bonus: int  # the target's own token after the path

    @property
    def accepted(self) -> int:
        """Accepted drafted tokens (a)."""
        return len(self.path) - 1
