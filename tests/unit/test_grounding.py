"""How much the page decided each token, and where it stands: against plain passes of the models.

python -m pytest tests/unit/test_grounding.py
"""

from dataclasses import replace

import pytest
import torch
from torch import Tensor

from glance import grounding as module
from glance.attention import attention
from glance.grounding import Forced, PatchGrid, forced, grounding, patch_grid
from glance.localization import LocalizationHead
from glance.targets.base import Target
from glance.types import Prompt
from tests.tiny_models import FAMILIES, MROPE, prompt, target

IDS = [17, 3, 99, 3, 42]
SIZE = (120, 80)
DOUBLE = torch.float64


def plain_pass(tiny: Target, ask: Prompt, **more: bool):
    """The model's own output over prompt and answer, without a cache."""
    whole = torch.cat([ask.input_ids, torch.tensor([IDS])], dim=1)
    inputs = dict(ask.model_inputs)
    if "mm_token_type_ids" in inputs:
        kinds = torch.zeros_like(whole)
        kinds[:, : ask.input_ids.shape[1]] = inputs["mm_token_type_ids"]
        inputs["mm_token_type_ids"] = kinds
    longer = replace(ask, input_ids=whole, model_inputs=inputs)
    positions, _ = tiny.family.prompt_positions(tiny.model, longer)
    mask = torch.ones_like(whole)
    return tiny.model(whole, attention_mask=mask, position_ids=positions, **inputs, **more)


def log_p(tiny: Target, ask: Prompt) -> Tensor:
    logits = plain_pass(tiny, ask).logits[0]
    rows = logits[ask.input_ids.shape[1] - 1 : -1].log_softmax(-1)
    return rows[torch.arange(len(IDS)), torch.tensor(IDS)]


@pytest.mark.parametrize("family", FAMILIES)
@torch.inference_mode()
def test_a_gain_is_the_difference_of_two_passes(family: str) -> None:
    tiny = target(family, DOUBLE)
    page, blank = prompt(family, 0, DOUBLE), prompt(family, 0, DOUBLE)
    pixels = torch.zeros_like(page.model_inputs["pixel_values"])
    blank = replace(blank, model_inputs={**blank.model_inputs, "pixel_values": pixels})
    found = grounding(tiny, page, blank, IDS, SIZE, None)
    wanted = log_p(tiny, page) - log_p(tiny, blank)
    assert wanted.abs().max() > 0.1
    assert found.gains == pytest.approx(wanted.tolist(), abs=1e-9)
    assert (found.boxes, found.shares) == (None, None)


@pytest.mark.parametrize("family", FAMILIES)
def test_a_blank_page_adds_nothing_to_itself(family: str) -> None:
    tiny, blank = target(family, DOUBLE), prompt(family, 0, DOUBLE)
    assert grounding(tiny, blank, blank, IDS, SIZE, None).gains == [0.0] * len(IDS)


@pytest.mark.parametrize("family", FAMILIES)
@pytest.mark.parametrize("kind", ["sdpa", "eager"])
@torch.inference_mode()
def test_attention_is_what_the_model_computes(family: str, kind: str) -> None:
    ask = prompt(family, 0, DOUBLE)
    wanted = plain_pass(target(family, DOUBLE, "eager"), ask, output_attentions=True).attentions
    tiny = target(family, DOUBLE, kind)
    found = forced(tiny, ask, IDS, range(tiny.num_layers))
    for layer in range(tiny.num_layers):
        rows = wanted[layer][0, :, -len(IDS) - 1 :]  # eager attention has a float32 softmax
        weights = attention(found.queries[layer], found.keys[layer])
        assert torch.allclose(weights, rows.double(), atol=1e-6)
        assert torch.equal(found.to_patches(layer), weights[..., found.image])
    assert len(found.image) == ask.image_tokens


def test_no_hook_is_left_behind() -> None:
    tiny, ask = target("qwen3_vl"), prompt("qwen3_vl")

    def hooks() -> list[int]:
        return [len(m._forward_pre_hooks) for m in tiny.model.modules()]

    before = hooks()
    forced(tiny, ask, IDS, [0, 2])
    assert hooks() == before


def test_a_hand_built_attention_gives_its_patch_and_box(monkeypatch: pytest.MonkeyPatch) -> None:
    """Row t of head 1 looks at patch [5, 0, 7, 2][t]; head 0, which shares its keys, does not."""
    tiny, ask = target("qwen3_vl"), prompt("qwen3_vl")
    looked = [5, 0, 7, 2]
    keys = torch.eye(14)[None]  # columns 2 to 9 are the patches, the last four the rows' own
    queries = torch.zeros(2, 4, 14)
    for row, patch in enumerate(looked):
        queries[1, row, 2 + patch] = 4.0
    built = Forced(torch.zeros(3), torch.arange(2, 10), {1: queries}, {1: keys})
    monkeypatch.setattr(module, "forced", lambda *_given: built)
    monkeypatch.setattr(module, "patch_grid", lambda *given: PatchGrid(2, 4, given[-1]))

    def place(patch: int) -> list[float]:
        row, column = divmod(patch, 4)
        return [30.0 * column, 40.0 * row, 30.0 * column + 30, 40.0 * row + 40]

    for own, patches in ((False, looked[:3]), (True, looked[1:])):
        found = grounding(tiny, ask, ask, [1, 2, 3], SIZE, LocalizationHead(1, 1, own))
        assert found.boxes == [place(patch) for patch in patches]
        e = float(torch.tensor(4.0).exp())
        first = 1 if own else 0
        seen = [10 + 1 + row for row in range(first, first + 3)]  # a row sees itself and before
        assert found.shares == pytest.approx([e / (e + n - 1) for n in seen], rel=1e-5)
        assert found.gains == [0.0] * 3


@pytest.mark.parametrize("family", FAMILIES)
def test_places_need_an_image_grid(family: str) -> None:
    tiny, ask = target(family), prompt(family)
    found = grounding(tiny, ask, ask, IDS, SIZE, LocalizationHead(1, 0, own=False))
    grid = patch_grid(tiny, ask, SIZE)
    if family not in MROPE:
        assert (grid, found.boxes, found.shares) == (None, None, None)
        return
    assert grid == PatchGrid(4, 6, SIZE)  # 8 x 12, merged two by two
    assert grid.box(7) == [20.0, 20.0, 40.0, 40.0]
    assert found.boxes is not None
    assert found.shares is not None
    assert all(box in [grid.box(patch) for patch in range(24)] for box in found.boxes)
    assert all(0.0 < share <= 1.0 for share in found.shares)


def test_a_prompt_of_two_pages_has_no_places() -> None:
    ask = prompt("qwen3_vl")
    two = torch.cat([ask.model_inputs["image_grid_thw"]] * 2)
    both = replace(ask, model_inputs={**ask.model_inputs, "image_grid_thw": two})
    assert patch_grid(target("qwen3_vl"), both, SIZE) is None
