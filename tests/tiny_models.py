"""Tiny random-weight models of every supported family, and prompts with an image for them.

Built from unmodified Hugging Face classes in milliseconds; no files, no network.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache

import torch
from transformers import (
    AutoModelForImageTextToText,
    LlavaConfig,
    PreTrainedConfig,
    Qwen2_5_VLConfig,
    Qwen3VLConfig,
    SmolVLMConfig,
)

from glance.targets.base import Target
from glance.targets.load import make_target
from glance.types import Prompt

VOCAB = 160
IMAGE, VIDEO, VISION_START, VISION_END, PAD, EOS = 150, 151, 152, 153, 154, 155
GRID = (1, 8, 12)  # patches: time, rows, columns; merged two by two: 24 image tokens
FAMILIES = ("qwen3_vl", "qwen2_5_vl", "smolvlm", "llava")
MROPE = ("qwen3_vl", "qwen2_5_vl")


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
    tokens = {
        "image_token_id": IMAGE,
        "video_token_id": VIDEO,
        "vision_start_token_id": VISION_START,
        "vision_end_token_id": VISION_END,
    }
    rope = {"rope_type": "default", "rope_theta": 10000.0, "mrope_section": [4, 2, 2]}
    if family == "qwen3_vl":
        vision = {
            "depth": 2,
            "hidden_size": 32,
            "num_heads": 2,
            "intermediate_size": 64,
            "out_hidden_size": 64,
            "patch_size": 16,
            "num_position_embeddings": 256,
            "deepstack_visual_indexes": [0, 1],
        }
        return Qwen3VLConfig(
            text_config=_text(rope_parameters=rope), vision_config=vision, **tokens
        )
    if family == "qwen2_5_vl":
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
            text_config=_text(rope_parameters=rope), vision_config=vision, **tokens
        )
    if family == "smolvlm":
        return SmolVLMConfig(
            text_config={"model_type": "llama", **_text()},
            vision_config={
                "hidden_size": 32,
                "intermediate_size": 64,
                "num_hidden_layers": 2,
                "num_attention_heads": 2,
                "image_size": 64,
                "patch_size": 16,
            },
            image_token_id=IMAGE,
            scale_factor=2,
            pad_token_id=PAD,
        )
    return LlavaConfig(
        text_config={"model_type": "llama", **_text()},
        vision_config={
            "model_type": "clip_vision_model",
            "hidden_size": 32,
            "intermediate_size": 64,
            "num_hidden_layers": 2,
            "num_attention_heads": 2,
            "image_size": 64,
            "patch_size": 16,
            "projection_dim": 32,
        },
        image_token_id=IMAGE,
        image_seq_length=16,
    )


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
                fan_in = parameter[0].numel()
                noise = torch.randn(parameter.shape, generator=generator)
                parameter.copy_(noise * 1.5 / fan_in**0.5)
    model.get_input_embeddings().weight.data.mul_(8.0)
    model.get_output_embeddings().weight.data[IMAGE:] = 0.0  # special ids are never the best
    model = model.to(dtype)
    model.generation_config.eos_token_id = EOS
    model.generation_config.pad_token_id = PAD
    return make_target(family, model, tokenizer=PlainTokenizer())


SEEDS = {"qwen3_vl": 0, "qwen2_5_vl": 0, "smolvlm": 0, "llava": 0}


def prompt(family: str, seed: int = 0, dtype: torch.dtype = torch.float32) -> Prompt:
    """A prompt of random words around one random image."""
    generator = torch.Generator().manual_seed(seed)
    before, after = torch.randint(100, (2, 8), generator=generator).tolist()
    if family in MROPE:
        patch = 16 if family == "qwen3_vl" else 14
        image_tokens = GRID[1] * GRID[2] // 4
        ids = [*before, VISION_START, *[IMAGE] * image_tokens, VISION_END, *after]
        pixels = torch.randn(GRID[1] * GRID[2], 3 * 2 * patch * patch, generator=generator)
        kinds = torch.tensor([[int(token_id == IMAGE) for token_id in ids]])
        extra = {"image_grid_thw": torch.tensor([GRID]), "mm_token_type_ids": kinds}
    elif family == "smolvlm":
        image_tokens = 4
        ids = [*before, *[IMAGE] * image_tokens, *after]
        pixels = torch.randn(1, 1, 3, 64, 64, generator=generator)
        extra = {"pixel_attention_mask": torch.ones(1, 1, 64, 64, dtype=torch.bool)}
    else:
        image_tokens = 16
        ids = [*before, *[IMAGE] * image_tokens, *after]
        pixels = torch.randn(1, 3, 64, 64, generator=generator)
        extra = {}
    return Prompt(
        input_ids=torch.tensor([ids]),
        model_inputs={"pixel_values": pixels.to(dtype), **extra},
        question="",
        image_tokens=image_tokens,
    )
