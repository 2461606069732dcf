"""Positions count depth, and images move them by their grid."""

import pytest
import torch

from glance.targets.positions import mrope_positions, token_positions
from glance.types import Prompt
from tests.tiny_models import IMAGE, MROPE, VISION_END, VISION_START, target

DEPTHS = torch.tensor([0, 1, 1, 2])


def test_rows_of_equal_depth_share_a_position():
    assert token_positions(7, DEPTHS).tolist() == [[7, 8, 8, 9]]
    assert mrope_positions(7, DEPTHS).tolist() == [[[7, 8, 8, 9]]] * 3


def image_prompt(grid: tuple[int, int, int], images: int = 1) -> Prompt:
    one = [VISION_START, *[IMAGE] * (grid[1] * grid[2] // 4), VISION_END]
    ids = [1, 2, *one * images, 3, 4]
    return Prompt(
        input_ids=torch.tensor([ids]),
        model_inputs={
            "image_grid_thw": torch.tensor([grid] * images),
            "mm_token_type_ids": torch.tensor([[int(token_id == IMAGE) for token_id in ids]]),
        },
        question="",
        image_tokens=ids.count(IMAGE),
    )


@pytest.mark.parametrize("family", MROPE)
@pytest.mark.parametrize(("grid", "images"), [((1, 8, 12), 1), ((1, 60, 80), 1), ((1, 8, 12), 2)])
def test_next_position_is_the_grids_not_the_token_count(family, grid, images):
    tiny = target(family)
    prompt = image_prompt(grid, images)
    positions, delta = tiny.family.prompt_positions(tiny.model, prompt)
    n = prompt.input_ids.shape[1]
    text = n - prompt.image_tokens
    assert positions.shape == (3, 1, n)
    # text counts one each; an image counts as its longer merged side
    assert n + delta == text + images * max(grid[1], grid[2]) // 2
    assert int(positions.max()) + 1 == n + delta


@pytest.mark.parametrize("family", MROPE)
def test_text_alone_has_no_delta(family):
    tiny = target(family)
    ids = torch.tensor([[1, 2, 3, 4]])
    prompt = Prompt(ids, {"mm_token_type_ids": torch.zeros_like(ids)}, "", 0)
    positions, delta = tiny.family.prompt_positions(tiny.model, prompt)
    assert delta == 0
    assert positions[:, 0].tolist() == [[0, 1, 2, 3]] * 3


@pytest.mark.parametrize("family", MROPE)
def test_asking_for_positions_leaves_the_models_state_alone(family):
    tiny = target(family)
    before = tiny.model.model.rope_deltas
    tiny.family.prompt_positions(tiny.model, image_prompt((1, 8, 12)))
    assert tiny.model.model.rope_deltas is before


@pytest.mark.parametrize("family", ["smolvlm", "llava"])
def test_one_axis_counts_tokens(family):
    tiny = target(family)
    prompt = Prompt(torch.tensor([[1, IMAGE, IMAGE, 2]]), {}, "", 2)
    positions, delta = tiny.family.prompt_positions(tiny.model, prompt)
    assert (positions.tolist(), delta) == ([[0, 1, 2, 3]], 0)
