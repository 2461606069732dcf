"""The embedded target: a tiny, unmodified Qwen3-VL, its tokenizer and its processor.

Built here with random weights (training, tests) or read from an ordinary Hugging Face folder.
Neither way needs torchvision: the processor is the stock class without its video part.

Geometry: one visual token is one 14 x 14 px cell of the page (patch 14, no merging), about two
characters of 14 to 24 px text. One text token is one character; other scripts fall back to bytes.
"""

from pathlib import Path

from PIL import Image
from tokenizers import AddedToken, Tokenizer
from tokenizers import decoders as token_decoders
from tokenizers.models import BPE
from transformers import (
    AutoTokenizer,
    PreTrainedTokenizerFast,
    Qwen3VLConfig,
    Qwen3VLForConditionalGeneration,
)
from transformers.models.qwen2_vl.image_processing_pil_qwen2_vl import Qwen2VLImageProcessorPil
from transformers.models.qwen3_vl.processing_qwen3_vl import Qwen3VLProcessor

from glance.targets.processors import Qwen3VLImages

CELL = 14  # px a visual token
LARGEST_PIXELS = 448 * 448  # a page is scaled down to at most this many pixels
SMALLEST_PIXELS = 56 * 56

SPECIALS = (
    "<|pad|>",
    "<|end|>",
    "<|user|>",
    "<|assistant|>",
    "<|vision_start|>",
    "<|vision_end|>",
    "<|image_pad|>",
    "<|video_pad|>",
    "<|mask|>",  # the block head's mask token; never produced by the target
)
PAD, END, USER, ASSISTANT, VISION_START, VISION_END, IMAGE, VIDEO, MASK = range(len(SPECIALS))
_RESERVED = 7  # unused ids, so that the bytes start at 16
CHARACTERS = "\n" + "".join(map(chr, range(32, 127))) + "£€"
FIRST_CHARACTER = 16 + 256
VOCABULARY = 384

TEMPLATE = (
    "{% for message in messages %}"
    "{{ '<|user|>' if message['role'] == 'user' else '<|assistant|>' }}"
    "{% if message['content'] is string %}{{ message['content'] }}{% else %}"
    "{% for part in message['content'] %}"
    "{% if part['type'] == 'image' %}<|vision_start|><|image_pad|><|vision_end|>"
    "{% else %}{{ part['text'] }}{% endif %}{% endfor %}{% endif %}"
    "{% if message['role'] != 'user' %}<|end|>{% endif %}"
    "{% endfor %}{% if add_generation_prompt %}<|assistant|>{% endif %}"
)


def build_config(layers: int = 8, width: int = 256, vision_layers: int = 4) -> Qwen3VLConfig:
    """The shipped shape by default; tests ask for smaller ones."""
    return Qwen3VLConfig(
        vision_config={
            "depth": vision_layers,
            "hidden_size": 192,
            "num_heads": 4,
            "intermediate_size": 512,
            "patch_size": CELL,
            "spatial_merge_size": 1,
            "temporal_patch_size": 1,
            "out_hidden_size": width,
            "num_position_embeddings": 32 * 32,
            "deepstack_visual_indexes": [],
        },
        text_config={
            "vocab_size": VOCABULARY,
            "hidden_size": width,
            "intermediate_size": width * 5 // 2,
            "num_hidden_layers": layers,
            "num_attention_heads": 4,
            "num_key_value_heads": 2,
            "head_dim": width // 4,
            "max_position_embeddings": 4096,
            "pad_token_id": PAD,
            "bos_token_id": USER,
            "eos_token_id": END,
            "tie_word_embeddings": True,
            "rope_parameters": {
                "rope_type": "default",
                "rope_theta": 1000.0,
                "mrope_section": _sections(width // 8),
                "mrope_interleaved": True,
            },
        },
        image_token_id=IMAGE,
        video_token_id=VIDEO,
        vision_start_token_id=VISION_START,
        vision_end_token_id=VISION_END,
        tie_word_embeddings=True,
    )


def _sections(half: int) -> list[int]:
    """Rotary pairs for time, height, width: as even as interleaving allows."""
    third = half // 3
    return [half - 2 * third, third, third]


def build_model(
    layers: int = 8, width: int = 256, vision_layers: int = 4
) -> Qwen3VLForConditionalGeneration:
    """A randomly initialised model in float32 (seed torch first for repeatable weights)."""
    model = Qwen3VLForConditionalGeneration(build_config(layers, width, vision_layers))
    model.generation_config.eos_token_id = END
    model.generation_config.pad_token_id = PAD
    model.generation_config.bos_token_id = USER
    return model.eval()


def build_tokenizer() -> PreTrainedTokenizerFast:
    """One token a character, UTF-8 bytes for every other character, ids fixed by this file."""
    reserved = [f"<|reserved_{i}|>" for i in range(_RESERVED)]
    pieces = [*SPECIALS, *reserved, *(f"<0x{b:02X}>" for b in range(256)), *CHARACTERS]
    pieces += [f"<|unused_{i}|>" for i in range(VOCABULARY - len(pieces))]
    vocabulary = {piece: i for i, piece in enumerate(pieces)}
    core = Tokenizer(BPE(vocab=vocabulary, merges=[], byte_fallback=True, fuse_unk=False))
    core.decoder = token_decoders.Sequence([token_decoders.ByteFallback(), token_decoders.Fuse()])
    core.add_special_tokens([AddedToken(s, special=True, normalized=False) for s in SPECIALS])
    tokenizer = PreTrainedTokenizerFast(
        tokenizer_object=core,
        pad_token="<|pad|>",
        eos_token="<|end|>",
        bos_token="<|user|>",
        mask_token="<|mask|>",
        extra_special_tokens={
            "image_token": "<|image_pad|>",
            "video_token": "<|video_pad|>",
            "vision_start_token": "<|vision_start|>",
            "vision_end_token": "<|vision_end|>",
        },
        clean_up_tokenization_spaces=False,
        model_max_length=4096,
    )
    tokenizer.chat_template = TEMPLATE
    return tokenizer


def build_processor(tokenizer: PreTrainedTokenizerFast | None = None) -> Qwen3VLProcessor:
    """Tokenizer plus the stock Pillow image processor: dynamic size, values in -1..1."""
    tokenizer = tokenizer or build_tokenizer()
    images = Qwen2VLImageProcessorPil(
        patch_size=CELL,
        merge_size=1,
        temporal_patch_size=1,
        size={"shortest_edge": SMALLEST_PIXELS, "longest_edge": LARGEST_PIXELS},
        image_mean=[0.5] * 3,
        image_std=[0.5] * 3,
        resample=Image.Resampling.BICUBIC,
    )
    return Qwen3VLImages(images, tokenizer, chat_template=tokenizer.chat_template)


def load_embedded_processor(folder: Path) -> Qwen3VLProcessor:
    """The processor of a saved folder, with or without torchvision on the machine."""
    tokenizer = AutoTokenizer.from_pretrained(folder, local_files_only=True)
    images = Qwen2VLImageProcessorPil.from_pretrained(folder, local_files_only=True)
    template = (Path(folder) / "chat_template.jinja").read_text()
    return Qwen3VLImages(images, tokenizer, chat_template=template)
