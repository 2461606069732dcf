"""Whether a page looks like those a target was trained on.

Two measures, each with a limit that few validation pages pass. How far the vision tower's output
is from that of training pages: mean and deviation over the visual tokens, under a Gaussian with
full variance along a few axes and one variance for all the rest. And how much of what could be
letters stands in lines, which tells print from photos and handwriting.

The measures hold for one set of weights, whose revision the file names.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import torch
from safetensors import safe_open
from safetensors.torch import save_file
from torch import Tensor

from glance.documents.legibility import share_in_lines

if TYPE_CHECKING:
    from PIL.Image import Image

    from glance.targets.base import Target
    from glance.types import Prompt

FILE = "likeness.safetensors"
AXES = 64
TRAIN, VALIDATION = 600, 400  # pages
PASSED = 0.005  # share of validation pages that pass each limit: one page in a hundred in all


class LikenessError(ValueError):
    """The file beside the weights cannot be used; the message is one plain sentence."""


@dataclass(frozen=True, slots=True)
class Likeness:
    """Training pages in numbers; d is the width of a visual token."""

    mean: Tensor  # [2d]
    scale: Tensor  # [2d]
    axes: Tensor  # [K, 2d], of unit length
    variances: Tensor  # [K + 1]: along the axes, then along any other direction
    limits: Tensor  # [2]: largest distance, smallest share of letters in lines

    def distance(self, features: Tensor) -> Tensor:
        """Squared distance from the training pages: [n] of [n, 2d]."""
        x = (features - self.mean) / self.scale
        along = x @ self.axes.T
        rest = x.square().sum(-1) - along.square().sum(-1)
        return (along.square() / self.variances[:-1]).sum(-1) + rest / self.variances[-1]

    def unlike(self, target: Target, prompt: Prompt) -> bool:
        """Whether the page of a prompt is unlike those that the target was trained on."""
        farthest, fewest = self.limits.tolist()
        if share_in_lines(prompt.images[0]) < fewest:
            return True
        return float(self.distance(_features(target, prompt)[None])) > farthest


def fit(target: Target, train: Iterable[Image], validation: Iterable[Image]) -> Likeness:
    """Fit to training pages, with limits from validation pages; all RGB, more than `AXES`."""
    seen = torch.stack([_features(target, target.prompt(image, "?")) for image in train])
    mean, scale = seen.mean(0), seen.std(0) + 1e-6
    _, spread, axes = torch.linalg.svd((seen - mean) / scale, full_matrices=False)
    variances = spread.square() / len(seen)
    rest = variances[AXES:].sum() / (seen.shape[1] - AXES)
    likeness = Likeness(
        mean,
        scale,
        axes[:AXES].contiguous(),
        torch.cat([variances[:AXES], rest[None]]),
        limits=torch.zeros(2),
    )
    prompts = [target.prompt(image, "?") for image in validation]
    distances = likeness.distance(torch.stack([_features(target, each) for each in prompts]))
    shares = torch.tensor([share_in_lines(each.images[0]) for each in prompts])
    likeness.limits[0] = distances.quantile(1 - PASSED)
    likeness.limits[1] = shares.quantile(PASSED)
    return likeness


def fit_folder(folder: Path) -> None:
    """Fit to the weights in a target's folder and write the file beside them; takes minutes."""
    from glance.documents.dataset import page
    from glance.targets.load import load_target  # which reads what is written here

    target = load_target(folder)
    likeness = fit(
        target,
        (page("train", index).image for index in range(TRAIN)),
        (page("validation", index).image for index in range(VALIDATION)),
    )
    save(likeness, folder, target.revision)


def save(likeness: Likeness, folder: Path, revision: str) -> None:
    """Write `likeness.safetensors`, for weights of this revision."""
    tensors = {name: getattr(likeness, name) for name in Likeness.__slots__}
    save_file(tensors, folder / FILE, metadata={"revision": revision})


def load(folder: Path, revision: str) -> Likeness | None:
    """What was fitted to weights of this revision; None where the folder has no such file.

    Raises:
        LikenessError: the file is damaged, or was fitted to other weights.
    """
    path = folder / FILE
    if not path.is_file():
        return None
    try:
        with safe_open(path, framework="pt") as file:
            fitted_to = (file.metadata() or {}).get("revision", "")
            tensors = {name: file.get_tensor(name) for name in Likeness.__slots__}
    except Exception as error:  # the reader's own class of error has no public name
        raise LikenessError(f"{path} is damaged, so pages are not compared with it.") from error
    if fitted_to != revision:
        raise LikenessError(
            f"{path} belongs to weights {fitted_to or 'without a name'}, but these are {revision}: "
            "pages are not compared with it until it is fitted again."
        )
    return Likeness(**tensors)


def _features(target: Target, prompt: Prompt) -> Tensor:  # [2d]
    inputs = prompt.model_inputs
    out = target.model.get_image_features(inputs["pixel_values"], inputs["image_grid_thw"])
    tokens = torch.cat(tuple(out.pooler_output)).float().cpu()
    return torch.cat([tokens.mean(0), tokens.std(0)])
