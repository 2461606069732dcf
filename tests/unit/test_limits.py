"""What is said before an answer, and when."""

import re
from random import Random

import pytest
from PIL import Image

from glance.limits import Limits, limits_of
from glance.targets.embedded import build_processor
from tests.printed import print_of

EMBEDDED = limits_of("embedded")


def of_page(image) -> list[str]:
    return texts(EMBEDDED.of_text(EMBEDDED.text_seen(image)))


def texts(notices) -> list[str]:
    return [notice.text for notice in notices]


@pytest.mark.parametrize(("px", "side", "about"), [(7, 448, 7), (20, 1344, 7), (14, 2240, 3)])
def test_small_text_is_told_in_pixels_after_resizing(px: int, side: int, about: int) -> None:
    (said,) = of_page(print_of(px, (side, side)))
    told = re.fullmatch(
        r"Text will be about (\d) px after resizing; this model needs 10 or more\.", said
    )
    assert told is not None
    assert int(told[1]) == pytest.approx(about, abs=1)


@pytest.mark.parametrize(("px", "side"), [(12, 448), (12, 224), (48, 1344)])
def test_large_enough_text_is_no_matter(px: int, side: int) -> None:
    assert of_page(print_of(px, (side, side))) == []


def test_a_page_without_text_is_no_matter() -> None:
    assert EMBEDDED.text_seen(Image.new("RGB", (3000, 2000), "white")) is None
    assert EMBEDDED.of_text(None) == ()


@pytest.mark.parametrize("question", ["What is the total?", "Où est l'hôtel? £5 – 3²", "¿Año? ﬁn…"])
def test_latin_questions(question: str) -> None:
    assert EMBEDDED.of_question(question) == ()


@pytest.mark.parametrize("question", ["Сколько?", "What is 合計?", "total λ", "ما المجموع؟"])
def test_other_letters_in_the_question(question: str) -> None:
    assert texts(EMBEDDED.of_question(question)) == ["This model reads Latin letters only."]


def test_other_targets_have_no_limits() -> None:
    other = limits_of("Qwen3-VL-2B-Instruct")
    assert other == Limits()
    assert other.of_text(other.text_seen(print_of(7))) == ()
    assert other.of_question("Сколько?") == ()
    assert other.remark is None


def test_the_size_that_is_told_is_the_size_that_the_processor_makes() -> None:
    processor = build_processor().image_processor
    sizes = [(28, 28), (28, 1400), (40, 50), (448, 448), (455, 441), (1653, 2339), (8000, 5000)]
    random = Random(0)
    sizes += [(random.randint(28, 3000), random.randint(60, 1400)) for _ in range(20)]
    for size in sizes:
        grid = processor(images=[Image.new("L", size).convert("RGB")])["image_grid_thw"][0]
        width, height = EMBEDDED.geometry.resized(size)
        assert (height // 14, width // 14) == tuple(map(int, grid[1:])), size
        assert EMBEDDED.geometry.visual_tokens(size) == int(grid.prod()), size
