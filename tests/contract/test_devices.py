"""Layers that lie elsewhere: as far as a machine without a GPU can show it.

What lies on disk is nowhere between two passes and runs on the CPU, by the same hooks that carry
rows from one graphics card to the next. Several cards are in tests/gpu.

Run: python -m pytest tests/contract/test_devices.py
"""

from __future__ import annotations

import copy
from pathlib import Path

import pytest
import torch
from accelerate import dispatch_model

from glance.config import DecodeConfig
from glance.decode import Decoder
from glance.drafters.block import BlockDrafter
from glance.grounding import forced
from glance.targets.base import Target
from glance.targets.load import make_target
from tests.contract.lossless import random_head, reference
from tests.eagle_heads import drafter as eagle_drafter
from tests.tiny_models import prompt, target

FAMILY = "qwen3_vl"


@pytest.fixture(scope="module")
def spread(tmp_path_factory: pytest.TempPathFactory) -> Target:
    """The tiny target, its vision tower and every second layer on disk."""
    tiny = target(FAMILY)
    text = "model.language_model"
    places = {"model.visual": "disk", f"{text}.embed_tokens": "cpu", f"{text}.rotary_emb": "cpu"}
    for layer in range(tiny.num_layers):
        places[f"{text}.layers.{layer}"] = "disk" if layer % 2 else "cpu"
    places |= {f"{text}.norm": "disk", "lm_head": "disk"}
    folder: Path = tmp_path_factory.mktemp("offloaded")
    model = dispatch_model(copy.deepcopy(tiny.model), places, offload_dir=str(folder))
    assert next(model.parameters()).is_meta
    return make_target("spread", model, tokenizer=tiny.tokenizer)


def test_input_goes_where_passes_run(spread):
    assert spread.device == torch.device("cpu")
    hidden = torch.randn(3, spread.hidden_size, generator=torch.Generator().manual_seed(0))
    plain = target(FAMILY)
    assert torch.equal(spread.final_norm(hidden), plain.final_norm(hidden))
    assert torch.equal(spread.lm_head(hidden), plain.lm_head(hidden))


@pytest.mark.parametrize("name", ["ar", "glance", "eagle2"])
def test_the_answer_is_the_same(spread, name):
    expected = reference(FAMILY, torch.float32, "sdpa").ids
    draft = None
    if name == "glance":
        head = random_head(FAMILY, torch.float32, "sdpa", chain=False).head
        draft = BlockDrafter(copy.deepcopy(head), spread)
    elif name == "eagle2":
        draft = eagle_drafter("eagle2", spread)
    config = DecodeConfig(node_budget=7, max_new_tokens=len(expected))
    assert Decoder(spread, draft, config).generate(prompt(FAMILY)).ids == expected


def test_attention_is_seen_in_layers_that_lie_elsewhere(spread):
    ids, layer = reference(FAMILY, torch.float32, "sdpa").ids[:8], 1
    ours, theirs = (forced(one, prompt(FAMILY), ids, [layer]) for one in (spread, target(FAMILY)))
    torch.testing.assert_close(ours.to_patches(layer), theirs.to_patches(layer))
