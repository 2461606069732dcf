"""Pages against those a target was trained on: fitted, saved, tied to its weights."""

import logging
from pathlib import Path

import pytest
import torch
from PIL import Image

from glance import likeness
from glance.documents.dataset import page
from glance.targets.base import Target
from glance.targets.embedded import build_model, build_processor
from glance.targets.load import load_target, weights_revision

PAGES = 80


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A tiny target, and what was fitted to it."""
    path = tmp_path_factory.mktemp("embedded")
    torch.manual_seed(0)
    build_model(layers=1, width=64, vision_layers=1).save_pretrained(path)
    build_processor().save_pretrained(path)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(likeness, "TRAIN", PAGES)
        patch.setattr(likeness, "VALIDATION", PAGES)
        likeness.fit_folder(path)
    return path


@pytest.fixture(scope="module")
def target(folder: Path) -> Target:
    return load_target(folder)


def unlike(target: Target, image: Image.Image) -> bool:
    assert target.likeness is not None
    return target.likeness.unlike(target, target.prompt(image, "?"))


def test_few_validation_pages_are_unlike(target: Target) -> None:
    assert sum(unlike(target, page("validation", i).image) for i in range(PAGES)) <= 2


@pytest.mark.parametrize(
    "image",
    [
        Image.effect_noise((420, 336), 90).convert("RGB"),
        Image.effect_mandelbrot((420, 336), (-2, -1.2, 1, 1.2), 90).convert("RGB"),
        Image.new("RGB", (420, 336), (120, 160, 90)),
    ],
    ids=["noise", "picture", "colour"],
)
def test_what_is_no_page_is_unlike(target: Target, image: Image.Image) -> None:
    assert unlike(target, image)


def test_the_distance_counts_beside_the_lines(target: Target) -> None:
    assert target.likeness is not None
    image = page("validation", 3).image
    assert not unlike(target, image)
    farther = likeness.Likeness(
        target.likeness.mean + 9 * target.likeness.scale,
        target.likeness.scale,
        target.likeness.axes,
        target.likeness.variances,
        target.likeness.limits,
    )
    assert farther.unlike(target, target.prompt(image, "?"))


def test_the_file_is_small_and_no_part_of_the_weights(folder: Path, target: Target) -> None:
    assert (folder / likeness.FILE).stat().st_size < 300_000
    assert target.revision == weights_revision(folder)
    fitted = likeness.load(folder, target.revision)
    assert fitted is not None
    assert torch.equal(fitted.mean, target.likeness.mean)


def test_a_folder_without_the_file_is_not_compared(tmp_path: Path) -> None:
    assert likeness.load(tmp_path, "abc") is None


def test_a_damaged_file_is_told(tmp_path: Path) -> None:
    (tmp_path / likeness.FILE).write_bytes(b"nothing of the kind")
    with pytest.raises(likeness.LikenessError, match="is damaged"):
        likeness.load(tmp_path, "abc")


def test_the_file_of_other_weights_is_left_aside_and_told(
    folder: Path, target: Target, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    build_model(layers=1, width=64, vision_layers=1).save_pretrained(tmp_path)
    build_processor().save_pretrained(tmp_path)
    (tmp_path / likeness.FILE).write_bytes((folder / likeness.FILE).read_bytes())
    with caplog.at_level(logging.ERROR):
        assert load_target(tmp_path).likeness is None
    assert f"belongs to weights {target.revision}" in caplog.text
