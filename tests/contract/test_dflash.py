"""Our heads in the class that the layout comes from: `dflash` of z-lab loads and runs them.

pip install -e ".[dflash]" && python -m pytest tests/contract/test_dflash.py

Without the package there is nothing to compare with, and every test is skipped.
"""

from dataclasses import dataclass
from pathlib import Path

import pytest
import torch
from torch import Tensor

from glance.documents.dataset import page
from glance.drafters.block import BlockDrafter
from glance.drafters.load import MODELS
from glance.heads.block import BlockHead
from glance.heads.config import HeadConfig
from glance.heads.formats import read_head, write_head
from glance.targets.base import Target
from glance.targets.embedded import build_model, build_processor
from glance.targets.load import load_target, make_target
from glance.training.recipe_glance import head_config
from glance.types import Prompt

dflash = pytest.importorskip("dflash.model", reason="the package dflash is not installed")

#: share of the largest logit; their rotary angles are float32 products, ours float64 ones
LOGIT_BOUND = 2e-5


@dataclass(frozen=True)
class Case:
    """A head on disk, the target it belongs to, and a question about a page."""

    folder: Path
    target: Target
    prompt: Prompt

    def theirs(self) -> torch.nn.Module:
        """Their model, float32, on the CPU."""
        model = dflash.DFlashDraftModel.from_pretrained(self.folder, dtype=torch.float32)
        return model.eval().requires_grad_(False)

    def features(self, taps: tuple[int, ...]) -> Tensor:
        """Tapped hidden states of the prompt [n, K, d]."""
        _, _, features = self.target.prefill(self.prompt, taps)
        assert features is not None
        return features


def question(target: Target) -> Prompt:
    drawn = page("test", 0)
    return target.prompt(drawn.image.convert("RGB"), drawn.questions[1].question)


def shipped() -> Case:
    target = load_target("embedded")
    return Case(MODELS / "glance", target, question(target))


def unusual(folder: Path) -> Case:
    """Random weights, with no size at a value that either side would take by default."""
    torch.manual_seed(0)
    model = build_model(layers=6, width=64, vision_layers=1)
    target = make_target("tiny", model, build_processor(), revision="tiny")
    config = HeadConfig(
        hidden_size=64,
        intermediate_size=88,
        num_hidden_layers=3,
        num_attention_heads=6,
        num_key_value_heads=2,
        head_dim=24,
        vocab_size=target.vocab_size,
        num_target_layers=6,
        mask_token_id=target.tokenizer.mask_token_id,
        target_layer_ids=(0, 3),
        block_size=7,
        rope_theta=3000.0,
        rms_norm_eps=1e-4,
        max_position_embeddings=target.max_context,
        target_revision="tiny",
    )
    head = BlockHead(config)
    for name, weight in head.named_parameters():
        if "norm" in name:  # they start as ones, which would hide one in another's place
            torch.nn.init.uniform_(weight, 0.5, 1.5)
    write_head(head, folder, dtype=torch.float32)
    return Case(folder, target, question(target))


@pytest.fixture(scope="module", params=["shipped", "unusual"])
def case(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Case:
    return shipped() if request.param == "shipped" else unusual(tmp_path_factory.mktemp("head"))


def test_every_tensor_is_loaded_and_no_other(case: Case) -> None:
    model, info = dflash.DFlashDraftModel.from_pretrained(
        case.folder, dtype=torch.float32, output_loading_info=True
    )
    assert not any(info.values()), info
    ours, theirs = read_head(case.folder).state_dict(), model.state_dict()
    assert ours.keys() == theirs.keys()
    for name, tensor in ours.items():
        assert torch.equal(tensor, theirs[name]), name


def test_the_config_says_the_same_to_both(case: Case) -> None:
    ours, theirs = read_head(case.folder).config, case.theirs()
    assert theirs.block_size == ours.block_size
    assert theirs.mask_token_id == ours.mask_token_id
    assert tuple(theirs.target_layer_ids) == ours.target_layer_ids
    assert theirs.config.vocab_size == ours.vocab_size
    assert theirs.config.num_target_layers == ours.num_target_layers
    assert theirs.config.rope_parameters == {
        "rope_type": "default",
        "rope_theta": ours.rope_theta,
    }
    assert not any(layer.self_attn.is_causal for layer in theirs.layers)


def test_three_rounds_are_drafted_the_same(case: Case) -> None:
    """Context comes in pieces, as rounds commit it; their cache is cropped as their loop does."""
    theirs, target = case.theirs(), case.target
    drafter = BlockDrafter(read_head(case.folder), target)
    size = drafter.block_size
    features = case.features(drafter.taps)
    ids = case.prompt.input_ids[0].tolist()
    state, cache = drafter.start(ids), dflash._make_cache(theirs.config)
    block = torch.full((1, size), theirs.mask_token_id)
    begin = 0
    for end in (len(ids) - 9, len(ids) - 8, len(ids) - 1):  # what follows is the root token
        new = features[begin:end]
        ours = drafter.draft(state, ids[: end + 1], new).logits
        block[0, 0] = ids[end]
        hidden = theirs(
            target_hidden=new.flatten(1)[None],
            noise_embedding=target.embed(block),
            position_ids=torch.arange(begin, end + size)[None],
            past_key_values=cache,
            use_cache=True,
        )
        dflash._crop_to(cache, end)
        logits = theirs.compute_logits(hidden[:, 1:], target.model.get_output_embeddings())[0]
        assert (ours - logits).abs().max() < LOGIT_BOUND * logits.abs().max()
        begin = end


def test_their_taps_are_our_taps(case: Case) -> None:
    """They read a layer's output from `hidden_states`, where the last one is normed."""
    model, prompt = case.target.model, case.prompt
    taps = head_config(case.target).target_layer_ids
    positions, _ = case.target.family.prompt_positions(model, prompt)
    out = model(
        input_ids=prompt.input_ids,
        attention_mask=torch.ones_like(prompt.input_ids),
        position_ids=positions,
        output_hidden_states=True,
        **prompt.model_inputs,
    )
    theirs = dflash.extract_context_feature(out.hidden_states, list(taps))
    assert torch.equal(theirs[0], case.features(taps).flatten(1))


def test_their_loop_runs_on_our_head(case: Case) -> None:
    """Their loop takes text alone; it writes what the target writes without a drafter."""
    ids = case.target.tokenizer("the total is ", return_tensors="pt")["input_ids"]
    plain = case.target.model.generate(
        input_ids=ids,
        attention_mask=torch.ones_like(ids),
        max_new_tokens=24,
        do_sample=False,
        eos_token_id=-1,  # none: the shipped target has nothing to say without an image
    )
    drafted = case.theirs().spec_generate(case.target.model, ids, 24, None)
    assert drafted.tolist() == plain.tolist()
