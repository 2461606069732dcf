"""load_target: a model folder becomes a Target. Explicit families, no guessing from names."""

from __future__ import annotations

import hashlib
import json
import logging
from pathlib import Path
from typing import Any

import torch
from transformers import AutoModelForImageTextToText, AutoProcessor

from glance import likeness, localization
from glance.targets.base import Family, Target
from glance.targets.counted import Llava, SmolVLM
from glance.targets.qwen_vl import QwenVL

EMBEDDED = Path(__file__).resolve().parents[2] / "assets" / "models" / "embedded"

FAMILIES: dict[str, Family] = {
    "qwen2_5_vl": QwenVL(),
    "qwen3_vl": QwenVL(),
    "smolvlm": SmolVLM(),
    "idefics3": SmolVLM(),
    "llava": Llava(),
}

#: recurrent state cannot be rolled back to an accepted prefix, and a tree has no single past
HYBRIDS = {"qwen3_5": "Qwen3.5", "qwen3_5_moe": "Qwen3.5-MoE", "qwen3_next": "Qwen3-Next"}


log = logging.getLogger(__name__)


class TargetError(ValueError):
    """The model cannot serve as a target; the message is one plain sentence."""


def load_target(
    name_or_folder: str | Path = "embedded",
    dtype: torch.dtype = torch.float32,
    device: str = "cpu",
    attention: str = "sdpa",
) -> Target:
    """Load a target from a folder on this machine.

    Args:
        name_or_folder: "embedded" for the shipped one, else a Hugging Face model folder.
        dtype: float32 is the dtype of the identity claim; half precision may differ at near ties.
        device: a torch device.
        attention: "sdpa" or "eager", the two that take a four-dimensional mask.

    Raises:
        TargetError: no model there, or a family that cannot be decoded losslessly.
    """
    embedded = name_or_folder == "embedded"
    folder = EMBEDDED if embedded else Path(name_or_folder)
    config_file = folder / "config.json"
    if not config_file.is_file():
        raise TargetError(f"There is no model in {folder}: it has no config.json.")
    model_type = json.loads(config_file.read_text(encoding="utf-8")).get("model_type", "")
    find_family(model_type)  # refuse before the weights are read
    model = AutoModelForImageTextToText.from_pretrained(
        folder,
        dtype=dtype,
        attn_implementation=attention,
        local_files_only=True,
        use_safetensors=True,
    ).to(device)
    target = make_target(
        "embedded" if embedded else folder.name,
        model,
        processor=_processor(folder, model_type),
        revision=weights_revision(folder),
    )
    try:
        target.likeness = likeness.load(folder, target.revision)
    except likeness.LikenessError as error:  # the answers do not rest on it
        log.error("%s", error)
    try:
        target.localization = localization.load(folder, target.revision)
    except localization.LocalizationError as error:  # nor on this
        log.error("%s", error)
    return target


def make_target(
    name: str,
    model: Any,  # a transformers PreTrainedModel for image-text-to-text
    processor: Any = None,
    tokenizer: Any = None,  # when there is no processor that holds one
    revision: str = "",
) -> Target:
    """Wrap a model that is already in memory.

    Raises:
        TargetError: the family is unknown, or its layers keep more than plain keys and values.
    """
    family = find_family(model.config.model_type)
    text = model.config.get_text_config()
    kinds = set(getattr(text, "layer_types", None) or ["full_attention"])
    if kinds != {"full_attention"}:
        named = ", ".join(sorted(kinds - {"full_attention"}))
        raise TargetError(f"{name} has {named} layers; only full attention can be rolled back.")
    if text._attn_implementation not in ("sdpa", "eager"):
        raise TargetError(
            f"{name} uses {text._attn_implementation} attention, which takes no tree mask; "
            "load it with sdpa or eager."
        )
    tokenizer = tokenizer if tokenizer is not None else processor.tokenizer
    return Target(name, model, family, tokenizer, processor, revision)


def find_family(model_type: str) -> Family:
    """The adapter of a transformers model type.

    Raises:
        TargetError: refused by name, or not known.
    """
    if model_type in HYBRIDS:
        raise TargetError(
            f"{HYBRIDS[model_type]} mixes recurrent layers with attention; their state cannot be "
            "rolled back to an accepted prefix, so it is refused."
        )
    if model_type not in FAMILIES:
        known = ", ".join(FAMILIES)
        raise TargetError(f"Models of type {model_type!r} are not supported; known are {known}.")
    return FAMILIES[model_type]


def weights_revision(folder: Path) -> str:
    """Short sha256 over the folder's weight files, so that a trace names what it ran."""
    digest = hashlib.sha256()
    for path in sorted(folder.glob("*.safetensors")):
        if path.name == likeness.FILE:  # made of the weights, no part of them
            continue
        with path.open("rb") as file:
            while chunk := file.read(1 << 20):
                digest.update(chunk)
    return digest.hexdigest()[:12]


def _processor(folder: Path, model_type: str) -> Any:
    if model_type == "qwen3_vl" and not _reads_video(folder):
        from glance.targets.embedded import load_embedded_processor

        return load_embedded_processor(folder)
    return AutoProcessor.from_pretrained(folder, local_files_only=True)


def _reads_video(folder: Path) -> bool:
    """Whether the processor has a video part, which needs torchvision to load."""
    whole = folder / "processor_config.json"
    if whole.is_file() and "video_processor" in json.loads(whole.read_text(encoding="utf-8")):
        return True
    return (folder / "video_preprocessor_config.json").is_file()
