"""grounding: how much the page decided each token of an answer, and where on it the token stands.

Measured after a run, by teacher forcing: the answer is read once behind the page and once behind
a blank page of the same size. A token's gain is what the page adds to its log-probability; its
place is the image patch that one attention head looks at most.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import torch
from torch import Tensor

from glance.attention import attention, taken_queries
from glance.entropy import at_least_float32
from glance.targets.base import Target
from glance.types import Prompt
from glance.verify import pass_mask

if TYPE_CHECKING:
    from glance.ground import Box
    from glance.localization import LocalizationHead


@dataclass(frozen=True, slots=True)
class Forced:
    """A teacher-forced pass over an answer of T tokens.

    It has T + 1 rows: the prompt's last token, then the answer. Row t predicts token t and is
    token t - 1's own.
    """

    log_p: Tensor  # [T] nats: log-probability of each answer token
    image: Tensor  # [P] long: columns of the image patches
    queries: dict[int, Tensor]  # by layer: [H, T + 1, e]
    keys: dict[int, Tensor]  # by layer: [G, n + T, e]

    def to_patches(self, layer: int) -> Tensor:
        """Attention of every head on the image patches: [H, T + 1, P]."""
        weights = attention(self.queries[layer], self.keys[layer])  # where the layer is
        return weights[..., self.image.to(weights.device)]


@dataclass(frozen=True, slots=True)
class PatchGrid:
    """The image patches of a page, row by row, each a cell of the page."""

    rows: int
    columns: int
    size: tuple[int, int]  # width and height of the page, px

    def box(self, patch: int) -> Box:
        """The cell of a patch, px."""
        row, column = divmod(patch, self.columns)
        width, height = self.size[0] / self.columns, self.size[1] / self.rows
        return [column * width, row * height, (column + 1) * width, (row + 1) * height]


@dataclass(frozen=True, slots=True)
class Grounding:
    """What grounds the T tokens of an answer; `boxes` and `shares` are None without places."""

    gains: list[float]  # log p(token | page) - log p(token | blank page), nats
    boxes: list[Box] | None  # the patch looked at most, px of the page
    shares: list[float] | None  # of the row's attention that goes to this patch


def grounding(
    target: Target,
    prompt: Prompt,
    blank: Prompt,  # the same question about a blank page of the same size
    ids: Sequence[int],  # the answer
    size: tuple[int, int],  # width and height of the page, px
    head: LocalizationHead | None,  # None: no places
) -> Grounding:
    """Ground an answer; there are places for one page on families that keep an image grid."""
    assert torch.equal(prompt.input_ids, blank.input_ids)
    grid = patch_grid(target, prompt, size)
    placed = head if grid else None
    seen = forced(target, prompt, ids, [placed.layer] if placed else [])
    gains = (seen.log_p - forced(target, blank, ids).log_p).tolist()
    if placed is None or grid is None:
        return Grounding(gains, None, None)
    shares, patches = placed.rows(seen.to_patches(placed.layer)[placed.head]).max(dim=-1)
    return Grounding(gains, [grid.box(patch) for patch in patches.tolist()], shares.tolist())


@torch.inference_mode()
def forced(
    target: Target, prompt: Prompt, ids: Sequence[int], layers: Sequence[int] = ()
) -> Forced:
    """Read a prompt and its answer in one go; `layers` are those whose attention is wanted."""
    before = prompt.input_ids.shape[1] - 1
    begin = replace(
        prompt,
        input_ids=prompt.input_ids[:, :before],
        model_inputs={
            key: value[:, :before] if value.shape == prompt.input_ids.shape else value
            for key, value in prompt.model_inputs.items()
        },
    )
    request, _, _ = target.prefill(begin)
    answer = torch.tensor(ids, device=target.device)
    rows = torch.cat([prompt.input_ids[0, before:], answer])
    causal = torch.ones(len(rows), len(rows), dtype=torch.bool, device=target.device).tril()
    depths = torch.arange(len(rows), device=target.device)
    mask = pass_mask(target, causal, depths, before)
    with taken_queries(target, layers) as queries:
        logits, _ = target.forward(request, rows, depths, mask)
    log_p = at_least_float32(logits[:-1]).log_softmax(dim=-1)
    return Forced(
        log_p=log_p.gather(1, answer[:, None])[:, 0],
        image=(prompt.input_ids[0] == target.model.config.image_token_id).nonzero()[:, 0],
        queries=queries,
        keys={layer: request.cache.layers[layer].keys[0] for layer in layers},
    )


def patch_grid(target: Target, prompt: Prompt, size: tuple[int, int]) -> PatchGrid | None:
    """The grid behind the image tokens of a prompt about one page; None where none is kept.

    Qwen2.5-VL and Qwen3-VL keep one. The other families cut, crop or pool the page, so their image
    tokens are no cells of it.
    """
    grid = prompt.model_inputs.get("image_grid_thw")
    if grid is None or len(grid) != 1:
        return None
    merge = target.model.config.vision_config.spatial_merge_size
    return PatchGrid(int(grid[0, 1]) // merge, int(grid[0, 2]) // merge, size)
