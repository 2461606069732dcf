"""The processor of a model folder, also where a package for videos is missing."""

from __future__ import annotations

import json
from importlib.util import find_spec
from pathlib import Path
from typing import Any

from transformers import AutoProcessor
from transformers.models.internvl.processing_internvl import InternVLProcessor
from transformers.models.qwen2_5_vl.processing_qwen2_5_vl import Qwen2_5_VLProcessor
from transformers.models.qwen3_vl.processing_qwen3_vl import Qwen3VLProcessor
from transformers.models.smolvlm.processing_smolvlm import SmolVLMProcessor
from transformers.processing_utils import ProcessorMixin

from glance.targets.families import TargetError


class _WithoutVideo(ProcessorMixin):
    """Takes the parts that a stock class hands up, and leaves the video part out."""

    def __init__(self, image_processor: Any, tokenizer: Any, _video: Any, **rest: Any) -> None:
        super().__init__(image_processor, tokenizer, **rest)


class Qwen3VLImages(Qwen3VLProcessor, _WithoutVideo):
    """Qwen3-VL's processor without its video part, which needs torchvision."""

    def __init__(self, image_processor=None, tokenizer=None, chat_template=None) -> None:
        super().__init__(image_processor, tokenizer, None, chat_template=chat_template)


class Qwen25VLImages(Qwen2_5_VLProcessor, _WithoutVideo):
    """Qwen2.5-VL's processor without its video part."""

    def __init__(self, image_processor=None, tokenizer=None, chat_template=None) -> None:
        super().__init__(image_processor, tokenizer, None, chat_template=chat_template)


class InternVLImages(InternVLProcessor, _WithoutVideo):
    """InternVL's processor without its video part."""

    def __init__(
        self, image_processor=None, tokenizer=None, image_seq_length=256, chat_template=None
    ) -> None:
        super().__init__(
            image_processor,
            tokenizer,
            None,
            image_seq_length=image_seq_length,
            chat_template=chat_template,
        )


SMOLVLM_TOKENS = {
    "fake_image_token": "<fake_token_around_image>",
    "image_token": "<image>",
    "end_of_utterance_token": "<end_of_utterance>",
    "global_image_token": "<global-img>",
    "video_token": "<video>",
}


class SmolVLMImages(SmolVLMProcessor, _WithoutVideo):
    """SmolVLM's processor without its video part, which needs num2words too."""

    def __init__(
        self, image_processor=None, tokenizer=None, image_seq_len=169, chat_template=None
    ) -> None:
        # the stock class does the same, but asks for num2words in between
        for name, usual in SMOLVLM_TOKENS.items():
            setattr(self, name, getattr(tokenizer, name, usual))
        self.image_token_id = tokenizer.convert_tokens_to_ids(self.image_token)
        self.image_seq_len = image_seq_len
        _WithoutVideo.__init__(self, image_processor, tokenizer, None, chat_template=chat_template)

    def apply_chat_template(self, *args: Any, **kwargs: Any) -> Any:
        """As all processors do; the stock class asks its video part for a number of frames."""
        return ProcessorMixin.apply_chat_template(self, *args, **kwargs)


IMAGE_ONLY: dict[str, Any] = {
    "qwen3_vl": Qwen3VLImages,
    "qwen3_vl_moe": Qwen3VLImages,
    "qwen2_5_vl": Qwen25VLImages,
    "internvl": InternVLImages,
    "smolvlm": SmolVLMImages,
}
for _own, _stock in (
    (Qwen3VLImages, Qwen3VLProcessor),
    (Qwen25VLImages, Qwen2_5_VLProcessor),
    (InternVLImages, InternVLProcessor),
    (SmolVLMImages, SmolVLMProcessor),
):
    # saved folders then name the standard class
    _own.__name__ = _own.__qualname__ = _stock.__name__


#: what the video parts need
VIDEO_PACKAGES = ("torchvision", "num2words")


def load_processor(folder: Path, model_type: str) -> Any:
    """The stock processor where it can be had; else, the same for images only.

    Raises:
        TargetError: a package or a file is missing that neither can do without.
    """
    if model_type == "qwen3_vl" and not _reads_video(folder):
        from glance.targets.embedded import load_embedded_processor

        return load_embedded_processor(folder)
    try:
        if model_type in IMAGE_ONLY and not all(map(find_spec, VIDEO_PACKAGES)):
            return IMAGE_ONLY[model_type].from_pretrained(folder, local_files_only=True)
        return AutoProcessor.from_pretrained(folder, local_files_only=True)
    except (ImportError, OSError, AttributeError) as error:  # parts raise what they like
        reason = " ".join(str(error).split())
        raise TargetError(f"The processor of {folder.name} cannot be loaded: {reason}") from error


def _reads_video(folder: Path) -> bool:
    """Whether the processor has a video part, which needs torchvision to load."""
    whole = folder / "processor_config.json"
    if whole.is_file() and "video_processor" in json.loads(whole.read_text(encoding="utf-8")):
        return True
    return (folder / "video_preprocessor_config.json").is_file()
