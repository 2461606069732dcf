"""What the decoder takes for granted of every target."""

from types import SimpleNamespace

import pytest
import torch

from glance.targets.base import BEFORE_DEEPSTACK, LAYER_OUTPUT, conversation, kinds_of_layers
from glance.targets.load import TargetError, find_family, load_target, make_target
from glance.types import INPUT, Prompt, PromptError
from tests.tiny_models import ALL, IMAGE, MROPE, PlainTokenizer, config, prompt, target


@pytest.mark.parametrize("family", ALL)
@torch.inference_mode()
def test_taps_are_the_outputs_of_their_layers(family):
    tiny, ask = target(family), prompt(family)
    request, _, features = tiny.prefill(ask, taps=(0, 2))
    assert features is not None
    assert features.shape == (ask.input_ids.shape[1], 2, tiny.hidden_size)
    assert request.length == ask.input_ids.shape[1] == request.cache.get_seq_length()

    ids, depths = torch.tensor([5]), torch.tensor([0])
    _, step = tiny.forward(request, ids, depths, taps=(0, 1, 2))
    assert step is not None
    plain, _, _ = tiny.prefill(ask)
    out = tiny.model(
        input_ids=ids[None],
        position_ids=tiny.family.step_positions(plain.length + plain.rope_delta, depths),
        cache=plain.cache,
        output_hidden_states=True,
    )
    for layer in (0, 1):
        assert torch.equal(step[:, layer], out.hidden_states[layer + 1][0])
    # the last entry of hidden_states is normed, the tap is not
    assert not torch.allclose(step[:, 2], out.hidden_states[-1][0])
    assert torch.allclose(tiny.final_norm(step[:, 2]), out.hidden_states[-1][0], atol=1e-6)


@pytest.mark.parametrize("family", ALL)
@torch.inference_mode()
def test_the_input_tap_is_the_embedding_with_the_image_in_place(family):
    tiny, ask = target(family), prompt(family)
    request, _, features = tiny.prefill(ask, taps=(INPUT, 0))
    assert features is not None
    image = ask.input_ids[0] == IMAGE
    words = tiny.embed(ask.input_ids[0])
    assert torch.equal(features[~image, 0], words[~image])
    assert not torch.isclose(features[image, 0], words[image]).all(-1).any()
    assert request.positions is not None
    assert request.positions.shape == (3 if family in MROPE else 1, ask.input_ids.shape[1])
    assert int(request.positions[0, -1]) + 1 == request.length + request.rope_delta
    ids = torch.tensor([5])
    _, step = tiny.forward(request, ids, torch.tensor([0]), taps=(INPUT,))
    assert step is not None
    assert torch.equal(step[:, 0], tiny.embed(ids))


def _hooks(tiny):
    layers = tiny.family.text_layers(tiny.model)
    return [[*layer._forward_hooks, *layer._forward_pre_hooks] for layer in layers]


@pytest.mark.parametrize("family", ALL)
def test_no_hook_is_left_behind(family):
    tiny, ask = target(family), prompt(family)
    before = _hooks(tiny)  # transformers may keep hooks of its own
    tiny.prefill(ask, taps=(INPUT, 0, 1))
    assert _hooks(tiny) == before
    broken = Prompt(ask.input_ids, {"pixel_values": torch.zeros(1)}, "", 0)
    with pytest.raises((RuntimeError, ValueError, TypeError, KeyError, IndexError)):
        tiny.prefill(broken, taps=(INPUT, 0, 1))
    assert _hooks(tiny) == before


@pytest.mark.parametrize("family", ALL)
@torch.inference_mode()
def test_head_and_embedding_are_the_targets(family):
    tiny, ask = target(family), prompt(family)
    request, logits, _ = tiny.prefill(ask)
    _, features = tiny.forward(request, torch.tensor([5]), torch.tensor([0]), taps=(2,))
    plain, _, _ = tiny.prefill(ask)
    row, _ = tiny.forward(plain, torch.tensor([5]), torch.tensor([0]))
    assert features is not None
    assert torch.allclose(tiny.lm_head(tiny.final_norm(features[:, 0])), row, atol=1e-5)
    assert tiny.embed(torch.tensor([[1, 2]])).shape == (1, 2, tiny.hidden_size)
    assert logits.shape == (tiny.vocab_size,)


@pytest.mark.parametrize("family", MROPE)
@torch.inference_mode()
def test_prefill_leaves_the_models_position_state_alone(family):
    tiny = target(family)
    tiny.model.model.rope_deltas = None
    request, _, _ = tiny.prefill(prompt(family))
    assert tiny.model.model.rope_deltas is None
    assert request.rope_delta < 0


def test_attributes():
    tiny = target("qwen3_vl", torch.float64, "eager")
    assert (tiny.dtype, tiny.device.type, tiny.attention) == (torch.float64, "cpu", "eager")
    assert (tiny.vocab_size, tiny.num_layers, tiny.hidden_size) == (160, 3, 64)
    assert tiny.eos_ids == (155,)
    assert tiny.max_context == 512


def test_images_go_with_the_first_question_of_a_dialogue():
    """Lists of parts in every turn: templates of some families take nothing else."""
    first, told, last = conversation(2, "c", [("a", "b")])
    image = {"type": "image"}
    assert first == {"role": "user", "content": [image, image, {"type": "text", "text": "a"}]}
    assert told == {"role": "assistant", "content": [{"type": "text", "text": "b"}]}
    assert last == {"role": "user", "content": [{"type": "text", "text": "c"}]}
    alone = {"role": "user", "content": [image, {"type": "text", "text": "c"}]}
    assert conversation(1, "c") == [alone]


def test_prompts_that_do_not_fit_are_refused_in_words():
    tiny = target("llava")
    long = Prompt(torch.zeros(1, 512, dtype=torch.long), {}, "", 0)
    with pytest.raises(PromptError, match=r"512 tokens.*at most 512.*smaller image"):
        tiny.check_length(long, 1)
    nearly = Prompt(torch.zeros(1, 500, dtype=torch.long), {}, "", 0)
    tiny.check_length(nearly, 12)
    with pytest.raises(PromptError, match=r"room for 12 of the 13"):
        tiny.check_length(nearly, 13)


def test_hybrids_are_refused_by_name():
    with pytest.raises(TargetError, match=r"Qwen3\.5 mixes recurrent layers"):
        find_family("qwen3_5")
    with pytest.raises(TargetError, match=r"Gemma 3n shares keys and values between layers"):
        find_family("gemma3n")
    with pytest.raises(TargetError, match=r"code from the hub, which is never run.*-hf"):
        find_family("internvl_chat")
    with pytest.raises(TargetError, match=r"'blip-2' are not supported; known are qwen3_vl,"):
        find_family("blip-2")


def test_layers_that_keep_more_than_keys_and_values_are_refused():
    tiny = target("qwen3_vl")
    text = tiny.model.config.get_text_config()
    text.layer_types = ["full_attention", "sliding_attention", "full_attention"]
    try:
        with pytest.raises(TargetError, match="sliding_attention"):
            make_target("x", tiny.model, tokenizer=PlainTokenizer())
    finally:
        text.layer_types = None


def test_a_window_over_all_layers_is_seen_without_a_list_of_kinds():
    text = SimpleNamespace(sliding_window=4096)  # as Mistral's configs have it
    assert kinds_of_layers(text) == {"sliding_attention"}
    text.sliding_window = None
    assert kinds_of_layers(text) == {"full_attention"}


@pytest.mark.parametrize("family", ALL)
@torch.inference_mode()
def test_taps_stand_where_the_adapter_says(family):
    """At what the layer returns, which is what the next one gets; but for DeepStack's addition."""
    tiny, ask = target(family), prompt(family)
    entered: list[torch.Tensor] = []
    after = tiny.family.text_layers(tiny.model)[1]
    hook = after.register_forward_pre_hook(lambda _module, args: entered.append(args[0][0]))
    _, _, features = tiny.prefill(ask, taps=(0,))
    hook.remove()
    added = (entered[0] - features[:, 0]).abs().amax(-1) > 0
    image = ask.input_ids[0] == IMAGE
    if family.startswith("qwen3_vl"):
        assert tiny.family.tap_point == BEFORE_DEEPSTACK
        assert torch.equal(added, image)
    else:
        assert tiny.family.tap_point == LAYER_OUTPUT
        assert not added.any()


def test_attention_that_takes_no_tree_mask_is_refused():
    tiny = target("qwen3_vl")
    text = tiny.model.config.get_text_config()
    try:
        text._attn_implementation = "flash_attention_2"
        with pytest.raises(TargetError, match="sdpa or eager"):
            make_target("x", tiny.model, tokenizer=PlainTokenizer())
    finally:
        text._attn_implementation = "sdpa"


def test_a_folder_without_a_model_is_refused(tmp_path):
    with pytest.raises(TargetError, match=r"no config\.json"):
        load_target(tmp_path)
    (tmp_path / "config.json").write_text('{"model_type": "qwen3_next"}')
    with pytest.raises(TargetError, match="Qwen3-Next"):
        load_target(tmp_path)


def test_configs_are_the_families_own():
    assert [config(family).model_type for family in ALL] == list(ALL)
