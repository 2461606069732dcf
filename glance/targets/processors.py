"""The processor of a model folder, also where no torchvision is installed."""

from __future__ import annotations

import json
from importlib.util import find_spec
from pathlib import Path
from typing import Any

from transformers import AutoProcessor
from transformers.models.internvl.processing_internvl import InternVLProcessor
from transformers.models.qwen2_5_vl.processing_qwen2_5_vl import Qwen2_5_VLProcessor
from transformers.models.qwen3_vl.processing_qwen3_vl import Qwen3VLProcessor
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


IMAGE_ONLY: dict[str, Any] = {
    "qwen3_vl": Qwen3VLImages,
    "qwen3_vl_moe": Qwen3VLImages,
    "qwen2_5_vl": Qwen25VLImages,
    "internvl": InternVLImages,
}
for _own, _stock in (
    (Qwen3VLImages, Qwen3VLProcessor),
    (Qwen25VLImages, Qwen2_5_VLProcessor),
    (InternVLImages, InternVLProcessor),
):
    # saved folders then name the standard class
    _own.__name__ = _own.__qualname__ = _stock.__name__


def load_processor(folder: Path, model_type: str) -> Any:
    """The stock processor where it can be had; without torchvision, the same for images only.

    Raises:
        TargetError: a package is missing that neither can do without.
    """
    if model_type == "qwen3_vl" and not _reads_video(folder):
        from glance.targets.embedded import load_embedded_processor

        return load_embedded_processor(folder)
    try:
        if model_type in IMAGE_ONLY and find_spec("torchvision") is None:
            return IMAGE_ONLY[model_type].from_pretrained(folder, local_files_only=True)
        return AutoProcessor.from_pretrained(folder, local_files_only=True)
    except ImportError as error:
        reason = " ".join(str(error).split())
        raise TargetError(f"The processor of {folder.name} cannot be loaded: {reason}") from error


def _reads_video(folder: Path) -> bool:
    """Whether the processor has a video part, which needs torchvision to load."""
    whole = folder / "processor_config.json"
    if whole.is_file() and "video_processor" in json.loads(whole.read_text(encoding="utf-8")):
        return True
    return (folder / "video_preprocessor_config.json").is_file()
