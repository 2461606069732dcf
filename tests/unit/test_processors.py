"""Processors without torchvision, and how many pixels of an image each family sees."""

from types import SimpleNamespace

import numpy as np
import pytest
from PIL import Image
from transformers import PreTrainedTokenizerFast
from transformers.models.clip.image_processing_pil_clip import CLIPImageProcessorPil
from transformers.models.gemma3.image_processing_pil_gemma3 import Gemma3ImageProcessorPil
from transformers.models.got_ocr2.image_processing_pil_got_ocr2 import GotOcr2ImageProcessorPil
from transformers.models.idefics3.image_processing_pil_idefics3 import Idefics3ImageProcessorPil
from transformers.models.llava_next.image_processing_pil_llava_next import (
    LlavaNextImageProcessorPil,
)
from transformers.models.qwen2_vl.image_processing_pil_qwen2_vl import Qwen2VLImageProcessorPil
from transformers.models.smolvlm.image_processing_pil_smolvlm import SmolVLMImageProcessorPil

from glance.targets import processors
from glance.targets.base import conversation
from glance.targets.embedded import IMAGE, build_tokenizer
from glance.targets.families import FAMILIES
from glance.targets.processors import (
    InternVLImages,
    Qwen25VLImages,
    SmolVLMImages,
    load_processor,
)

PAGE = Image.fromarray(np.full((3000, 3000, 3), 255, np.uint8))


def internvl_tokenizer() -> PreTrainedTokenizerFast:
    names = {"start_image_token": "<|vision_start|>", "end_image_token": "<|vision_end|>"}
    names |= {"context_image_token": "<|image_pad|>", "video_token": "<|video_pad|>"}
    core = build_tokenizer()._tokenizer
    return PreTrainedTokenizerFast(tokenizer_object=core, extra_special_tokens=names)


def test_qwen2_5_vl_needs_no_torchvision(tmp_path, monkeypatch):
    monkeypatch.setattr(processors, "find_spec", lambda _name: None)
    images = Qwen2VLImageProcessorPil(patch_size=14, merge_size=2)
    tokenizer = build_tokenizer()
    Qwen25VLImages(images, tokenizer, "{{ 'template' }}").save_pretrained(tmp_path)
    read = load_processor(tmp_path, "qwen2_5_vl")
    assert read.chat_template == "{{ 'template' }}"
    batch = read(text=["<|image_pad|>?"], images=[PAGE.resize((280, 140))], return_tensors="pt")
    assert int((batch["input_ids"] == IMAGE).sum()) == 10 * 5
    assert batch["mm_token_type_ids"].sum() == 10 * 5
    assert batch["image_grid_thw"].tolist() == [[1, 10, 20]]


def test_internvl_needs_no_torchvision(tmp_path, monkeypatch):
    monkeypatch.setattr(processors, "find_spec", lambda _name: None)
    images = GotOcr2ImageProcessorPil(size={"height": 64, "width": 64}, max_patches=6)
    InternVLImages(images, internvl_tokenizer(), 4).save_pretrained(tmp_path)
    read = load_processor(tmp_path, "internvl")
    assert read.image_seq_length == 4
    batch = read(text=["<|image_pad|>?"], images=[PAGE.resize((128, 64))], return_tensors="pt")
    tiles = len(batch["pixel_values"])
    assert tiles == 3  # two and the whole
    assert int((batch["input_ids"] == IMAGE).sum()) == 4 * tiles


def test_smolvlm_needs_neither_torchvision_nor_num2words(tmp_path, monkeypatch):
    monkeypatch.setattr(processors, "find_spec", lambda _name: None)
    names = {"fake_image_token": "<|vision_start|>", "global_image_token": "<|vision_end|>"}
    names |= {"image_token": "<|image_pad|>", "end_of_utterance_token": "<|im_end|>"}
    core = build_tokenizer()._tokenizer
    tokenizer = PreTrainedTokenizerFast(tokenizer_object=core, extra_special_tokens=names)
    images = SmolVLMImageProcessorPil(
        size={"longest_edge": 64}, max_image_size={"longest_edge": 32}, resample=2
    )
    template = "{% for part in messages[0]['content'] %}{{ part['type'] }} {% endfor %}"
    SmolVLMImages(images, tokenizer, 4, template).save_pretrained(tmp_path)
    read = load_processor(tmp_path, "smolvlm")
    assert read.image_seq_len == 4
    assert read.apply_chat_template(conversation(1, "?")) == "image text "
    batch = read(text=["<|image_pad|>?"], images=[PAGE.resize((64, 64))], return_tensors="pt")
    tiles = batch["pixel_values"].shape[1]
    assert tiles == 5  # four and the whole
    assert int((batch["input_ids"] == IMAGE).sum()) == 4 * tiles


@pytest.mark.parametrize("kind", [ImportError, OSError, AttributeError])
def test_a_missing_package_is_one_sentence(tmp_path, monkeypatch, kind):
    def missing(*_args: object, **_options: object) -> None:
        raise kind("\nPackage `num2words` is required.\nInstall it.\n")

    monkeypatch.setattr(processors.AutoProcessor, "from_pretrained", missing)
    with pytest.raises(processors.TargetError, match=r"loaded: Package `num2words` is required\. "):
        load_processor(tmp_path, "idefics3")


SEEN = {
    "qwen3_vl": (
        Qwen2VLImageProcessorPil(
            patch_size=16, size={"shortest_edge": 65536, "longest_edge": 1 << 20}
        ),
        lambda out: int(out["image_grid_thw"].prod()) * 16**2,
    ),
    "smolvlm": (
        Idefics3ImageProcessorPil(size={"longest_edge": 1456}),
        # all tiles but the last, which is the whole once more
        lambda out: (out["pixel_values"].shape[1] - 1) * 364**2,
    ),
    "llava": (
        CLIPImageProcessorPil(size={"shortest_edge": 336}, crop_size={"height": 336, "width": 336}),
        lambda out: out["pixel_values"].shape[-1] * out["pixel_values"].shape[-2],
    ),
    "llava_next": (
        LlavaNextImageProcessorPil(
            size={"shortest_edge": 336},
            crop_size={"height": 336, "width": 336},
            image_grid_pinpoints=[[336, 672], [672, 336], [672, 672]],
        ),
        lambda out: (out["pixel_values"].shape[1] - 1) * 336**2,
    ),
    "internvl": (
        GotOcr2ImageProcessorPil(
            size={"height": 448, "width": 448}, max_patches=9, crop_to_patches=True
        ),
        lambda out: (len(out["pixel_values"]) - 1) * 448**2,
    ),
    "gemma3": (
        Gemma3ImageProcessorPil(size={"height": 896, "width": 896}),
        lambda out: out["pixel_values"].shape[-1] * out["pixel_values"].shape[-2],
    ),
}


@pytest.mark.parametrize("family", SEEN)
def test_a_large_square_is_seen_at_the_limit(family):
    images, pixels = SEEN[family]
    most = FAMILIES[family].most_pixels(SimpleNamespace(image_processor=images))
    seen = pixels(images([PAGE], return_tensors="pt"))
    assert 0.95 * most < seen <= most


def test_fixed_sizes_cannot_be_limited():
    for family in ("smolvlm", "llava", "llava_next", "internvl", "gemma3"):
        images = SimpleNamespace(image_processor=SEEN[family][0])
        assert not FAMILIES[family].limit_pixels(images, 1000)
