"""Tiny random-weight models of every supported family, and prompts with an image for them.

Built from unmodified Hugging Face classes in milliseconds; no files, no network.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache

import torch
from torch import Tensor
from transformers import (
    AutoModelForImageTextToText,
    Gemma3Config,
    Idefics3Config,
    InternVLConfig,
    LlavaConfig,
    LlavaNextConfig,
    PreTrainedConfig,
    Qwen2_5_VLConfig,
    Qwen3VLConfig,
    Qwen3VLMoeConfig,
    SmolVLMConfig,
)

from glance.targets.base import Target
from glance.targets.load import make_target
from glance.types import Prompt

VOCAB = 160
IMAGE, VIDEO, VISION_START, VISION_END, PAD, EOS = 150, 151, 152, 153, 154, 155
GRID = (1, 8, 12)  # patches: time, rows, columns; merged two by two: 24 image tokens
#: one of every kind of positions, projector and text layers: what most tests run on
FAMILIES = ("qwen3_vl", "qwen2_5_vl", "smolvlm", "llava")
#: the others, each with a contract of its own in tests/contract/test_families.py
MORE = ("qwen3_vl_moe", "idefics3", "llava_next", "internvl", "gemma3")
ALL = FAMILIES + MORE
MROPE = ("qwen3_vl", "qwen2_5_vl", "qwen3_vl_moe")
WINDOW = 16  # of Gemma 3's sliding layers, shorter than any prompt


class PlainTokenizer:
    """Enough of a tokenizer for ids that stand for characters from U+0100 on."""

    all_special_tokens = ("<|image_pad|>", "<|im_end|>")

    def get_added_vocab(self) -> dict[str, int]:
        """Special strings and their ids."""
        return {"<|image_pad|>": IMAGE, "<|im_end|>": EOS}

    def decode(self, ids: Sequence[int], skip_special_tokens: bool = False, **_: object) -> str:
        """One character an id; ids from 150 on are special."""
        return "".join(
            chr(0x100 + token_id) if token_id < IMAGE else f"<{token_id}>"
            for token_id in ids
            if token_id < IMAGE or not skip_special_tokens
        )


def _text(**changes: object) -> dict[str, object]:
    text = {
        "vocab_size": VOCAB,
        "hidden_size": 64,
        "intermediate_size": 128,
        "num_hidden_layers": 3,
        "num_attention_heads": 4,
        "num_key_value_heads": 2,
        "head_dim": 16,
        "max_position_embeddings": 512,
        "tie_word_embeddings": False,
        "bos_token_id": PAD,
        "eos_token_id": EOS,
        "pad_token_id": PAD,
    }
    return {**text, **changes}


def config(family: str) -> PreTrainedConfig:
    """A small config of the family."""
    return CONFIGS[family]()


_TOKENS = {
    "image_token_id": IMAGE,
    "video_token_id": VIDEO,
    "vision_start_token_id": VISION_START,
    "vision_end_token_id": VISION_END,
}
_ROPE = {"rope_type": "default", "rope_theta": 10000.0, "mrope_section": [4, 2, 2]}
_LLAMA = {"model_type": "llama", **_text()}
_TOWER = {
    "hidden_size": 32,
    "intermediate_size": 64,
    "num_hidden_layers": 2,
    "num_attention_heads": 2,
    "image_size": 64,
    "patch_size": 16,
}
_CLIP = {"model_type": "clip_vision_model", "projection_dim": 32, **_TOWER}
_QWEN3_TOWER = {
    "depth": 2,
    "hidden_size": 32,
    "num_heads": 2,
    "intermediate_size": 64,
    "out_hidden_size": 64,
    "patch_size": 16,
    "num_position_embeddings": 256,
    "deepstack_visual_indexes": [0, 1],
}


def _qwen3_vl() -> PreTrainedConfig:
    return Qwen3VLConfig(
        text_config=_text(rope_parameters=_ROPE), vision_config=_QWEN3_TOWER, **_TOKENS
    )


def _qwen3_vl_moe() -> PreTrainedConfig:
    experts = {"moe_intermediate_size": 48, "num_experts": 4, "num_experts_per_tok": 2}
    text = _text(rope_parameters=_ROPE, **experts)
    return Qwen3VLMoeConfig(text_config=text, vision_config=_QWEN3_TOWER, **_TOKENS)


def _qwen2_5_vl() -> PreTrainedConfig:
    vision = {
        "depth": 2,
        "hidden_size": 32,
        "num_heads": 2,
        "intermediate_size": 64,
        "out_hidden_size": 64,
        "patch_size": 14,
        "window_size": 56,
        "fullatt_block_indexes": [1],
    }
    return Qwen2_5_VLConfig(
        text_config=_text(rope_parameters=_ROPE), vision_config=vision, **_TOKENS
    )


def _idefics(kind: type[PreTrainedConfig]) -> PreTrainedConfig:
    return kind(
        text_config=_LLAMA,
        vision_config=_TOWER,
        image_token_id=IMAGE,
        scale_factor=2,
        pad_token_id=PAD,
    )


def _llava() -> PreTrainedConfig:
    return LlavaConfig(
        text_config=_LLAMA, vision_config=_CLIP, image_token_id=IMAGE, image_seq_length=16
    )


def _llava_next() -> PreTrainedConfig:
    return LlavaNextConfig(
        text_config=_LLAMA,
        vision_config=_CLIP,
        image_token_index=IMAGE,
        image_grid_pinpoints=[[64, 128], [128, 64]],
    )


def _internvl() -> PreTrainedConfig:
    return InternVLConfig(
        text_config={"model_type": "qwen2", **_text()},
        vision_config={**_TOWER, "image_size": [64, 64], "patch_size": [16, 16]},
        image_token_id=IMAGE,
        tie_word_embeddings=False,
    )


def _gemma3() -> PreTrainedConfig:
    kinds = ["sliding_attention", "full_attention", "sliding_attention"]
    return Gemma3Config(
        text_config=_text(sliding_window=WINDOW, layer_types=kinds, query_pre_attn_scalar=16),
        vision_config={"model_type": "siglip_vision_model", **_TOWER},
        mm_tokens_per_image=4,
        image_token_index=IMAGE,
        boi_token_index=VISION_START,
        eoi_token_index=VISION_END,
        tie_word_embeddings=False,
    )


CONFIGS = {
    "qwen3_vl": _qwen3_vl,
    "qwen2_5_vl": _qwen2_5_vl,
    "smolvlm": lambda: _idefics(SmolVLMConfig),
    "llava": _llava,
    "qwen3_vl_moe": _qwen3_vl_moe,
    "idefics3": lambda: _idefics(Idefics3Config),
    "llava_next": _llava_next,
    "internvl": _internvl,
    "gemma3": _gemma3,
}


@cache
def target(family: str, dtype: torch.dtype = torch.float32, attention: str = "sdpa") -> Target:
    """A random target of the family, the same weights in every dtype and attention.

    Weights are drawn wider than at initialisation: attention is then sharp and the greedy text
    varied, so that a wrong mask or position shows in the tokens.
    """
    torch.manual_seed(0)
    model = AutoModelForImageTextToText.from_config(
        config(family), attn_implementation=attention, dtype=torch.float32
    )
    generator = torch.Generator().manual_seed(SEEDS[family])
    with torch.no_grad():
        for parameter in model.parameters():
            if parameter.dim() > 1:
                # experts are stacked; of all else the first axis is what comes out
                fan_in = parameter.shape[-1] if parameter.dim() == 3 else parameter[0].numel()
                noise = torch.randn(parameter.shape, generator=generator)
                parameter.copy_(noise * 1.5 / fan_in**0.5)
    model.get_input_embeddings().weight.data.mul_(8.0)
    model.get_output_embeddings().weight.data[IMAGE:] = 0.0  # special ids are never the best
    model = model.to(dtype)
    if family == "qwen3_vl_moe" and dtype == torch.float64:
        model.set_experts_implementation("eager")  # the grouped product has no float64
    model.generation_config.eos_token_id = EOS
    model.generation_config.pad_token_id = PAD
    return make_target(family, model, tokenizer=PlainTokenizer())


#: Idefics3 and SmolVLM differ in nothing but this, or one would be no evidence beside the other
SEEDS = {**dict.fromkeys(ALL, 0), "idefics3": 1}


def prompt(
    family: str, seed: int = 0, dtype: torch.dtype = torch.float32, images: int = 1
) -> Prompt:
    """A prompt of random words around one random image, or several with words between them."""
    generator = torch.Generator().manual_seed(seed)
    before, after = torch.randint(100, (2, 8), generator=generator).tolist()
    pixels, each, block, extra = _pictures(family, images, generator)
    ids = [*before, *block]
    for _ in range(images - 1):
        ids += [*torch.randint(100, (3,), generator=generator).tolist(), *block]
    ids += after
    kinds = torch.tensor([[int(token_id == IMAGE) for token_id in ids]])
    if family in MROPE:
        extra["mm_token_type_ids"] = kinds
    if family == "gemma3":
        extra["token_type_ids"] = kinds
    return Prompt(
        input_ids=torch.tensor([ids]),
        model_inputs={"pixel_values": pixels.to(dtype), **extra},
        question="",
        image_tokens=each * images,
    )


def _pictures(
    family: str, images: int, generator: torch.Generator
) -> tuple[Tensor, int, list[int], dict[str, Tensor]]:
    """Pixels of all images, tokens of each, its ids with what stands around them, other inputs."""

    def drawn(*shape: int) -> Tensor:
        return torch.randn(*shape, generator=generator)

    if family in MROPE:
        patch = 14 if family == "qwen2_5_vl" else 16
        pixels = drawn(images * GRID[1] * GRID[2], 3 * 2 * patch * patch)
        each = GRID[1] * GRID[2] // 4
        extra = {"image_grid_thw": torch.tensor([GRID] * images)}
        return pixels, each, [VISION_START, *[IMAGE] * each, VISION_END], extra
    if family in ("smolvlm", "idefics3"):
        whole = torch.ones(1, images, 64, 64, dtype=torch.bool)
        return drawn(1, images, 3, 64, 64), 4, [IMAGE] * 4, {"pixel_attention_mask": whole}
    if family == "llava_next":  # the whole and two tiles: 4 x 4 and 4 x 8, with an end of line each
        sizes = torch.tensor([[64, 128]] * images)
        return drawn(images, 3, 3, 64, 64), 52, [IMAGE] * 52, {"image_sizes": sizes}
    if family == "internvl":  # two tiles an image
        return drawn(images * 2, 3, 64, 64), 8, [VISION_START, *[IMAGE] * 8, VISION_END], {}
    each = 4 if family == "gemma3" else 16
    return drawn(images, 3, 64, 64), each, [IMAGE] * each, {}
