"""The height of an image's text: on paper, screens and photos, and none where there is none."""

import numpy as np
import pytest
from PIL import Image, ImageFilter, ImageOps

from glance.documents.dataset import page
from glance.documents.legibility import share_in_lines, text_height, text_length
from tests.printed import PAPER, print_of


def noisy(image: Image.Image) -> Image.Image:
    drawn = np.random.default_rng(0).normal(0, 18, (image.height, image.width, 1))
    return Image.fromarray((np.asarray(image) + drawn).clip(0, 255).astype(np.uint8))


def turned(image: Image.Image) -> Image.Image:
    return image.rotate(3, Image.Resampling.BICUBIC, fillcolor=PAPER)


@pytest.mark.parametrize("px", [8, 10, 16, 24, 40])
def test_the_font_size_is_found(px: int) -> None:
    assert text_height(print_of(px)) == pytest.approx(px, rel=0.25)


@pytest.mark.parametrize(
    "spoil",
    [
        turned,
        noisy,
        ImageOps.invert,
        lambda image: image.convert("L"),
        lambda image: image.filter(ImageFilter.GaussianBlur(1)),
        lambda image: ImageOps.colorize(image.convert("L"), (20, 30, 60), (230, 200, 120)),
    ],
    ids=["turned", "noisy", "inverted", "grey", "blurred", "coloured"],
)
def test_the_font_size_is_found_on_a_bad_copy(spoil) -> None:
    assert text_height(spoil(print_of(14))) == pytest.approx(14, rel=0.25)


@pytest.mark.parametrize("px", [14, 60])
def test_small_and_large_text_of_a_large_photo(px: int) -> None:
    assert text_height(print_of(px, (3200, 2400))) == pytest.approx(px, rel=0.25)


@pytest.mark.parametrize("size", [(28, 28), (28, 1400), (60, 3000), (2600, 56), (1000, 1000)])
def test_no_text_on_blank_paper_of_any_shape(size: tuple[int, int]) -> None:
    assert text_height(Image.new("RGB", size, PAPER)) is None
    assert share_in_lines(Image.new("RGB", size, PAPER)) == 0.0
    assert text_length(Image.new("RGB", size, PAPER)) == 0


def test_no_text_in_noise_and_texture() -> None:
    drawn = np.random.default_rng(1)
    for grain in (1, 3, 9):
        pixels = drawn.integers(0, 256, (420 // grain, 420 // grain, 3), dtype=np.uint8)
        image = Image.fromarray(pixels).resize((420, 420), Image.Resampling.BICUBIC)
        assert text_height(image) is None
        assert share_in_lines(image) < 0.2
        assert text_length(image) == 0


def test_generated_pages() -> None:
    pages = [page("validation", index) for index in range(24)]
    found = [(text_height(each.image) or 0.0) / each.size for each in pages]
    assert np.median(np.abs(np.array(found) - 1)) < 0.08
    assert np.mean(np.abs(np.array(found) - 1) < 0.25) > 0.85


def test_the_length_of_the_text_of_generated_pages() -> None:
    pages = [page("validation", index) for index in range(24)]
    written = [sum(not glyph.char.isspace() for glyph in each.glyphs) * 1.2 for each in pages]
    found = np.array([text_length(each.image) for each in pages]) / np.array(written)
    assert np.median(np.abs(found - 1)) < 0.1
    assert np.mean(np.abs(found - 1) < 0.3) > 0.8
