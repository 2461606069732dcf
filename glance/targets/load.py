"""load_target: a model folder, or a repository of the hub, becomes a Target."""

from __future__ import annotations

import hashlib
import json
import logging
from pathlib import Path
from typing import Any

import torch
from transformers import AutoConfig, AutoModelForImageTextToText

from glance import likeness, localization
from glance.certificate import HALF, self_check
from glance.heads.layout import lay_by_input
from glance.hub import fetched, is_hub_id
from glance.targets.base import Family, Target, kinds_of_layers
from glance.targets.families import (
    FAMILIES,
    RECURRENT,
    RECURRENT_KINDS,
    TargetError,
    find_family,
)
from glance.targets.memory import free_memory, gib, memory_need
from glance.targets.processors import load_processor

__all__ = ["FAMILIES", "TargetError", "find_family", "load_target", "make_target"]

#: all that is ever downloaded: no pickles and no code
CONFIG = ("config.json",)
FILES = ("*.json", "*.jinja", "*.model", "*.txt", "*.safetensors")

EMBEDDED = Path(__file__).resolve().parents[2] / "assets" / "models" / "embedded"

log = logging.getLogger(__name__)


def load_target(
    name_or_folder: str | Path = "embedded",
    dtype: torch.dtype = torch.float32,
    device: str = "cpu",
    attention: str = "sdpa",
    device_map: str | dict[str, Any] | None = None,
    max_pixels: int | None = None,
) -> Target:
    """Load a target; what it takes in memory is logged first, and refused where it does not fit.

    Args:
        name_or_folder: "embedded" for the shipped one, else a Hugging Face model folder, or
            OWNER/NAME of a repository of the hub, which is downloaded once: safetensors only,
            and never any code.
        dtype: float32 is the dtype of the identity claim; half precision may differ at near ties.
        device: a torch device; has no effect beside a device map.
        attention: "sdpa" or "eager", the two that take a four-dimensional mask.
        device_map: as accelerate takes it: "auto" spreads the layers over all graphics cards and,
            where they are too small, into main memory.
        max_pixels: images are scaled down to so many; the processor's own limit by default.

    Raises:
        TargetError: no model there, no memory for it, or a family that cannot be decoded
            losslessly.
    """
    embedded = name_or_folder == "embedded"
    hub = is_hub_id(name_or_folder)
    if hub:
        folder = fetched(str(name_or_folder), CONFIG, TargetError)
    else:
        folder = EMBEDDED if embedded else Path(name_or_folder)
    name = folder.name if not hub and not embedded else str(name_or_folder)
    model_type = _model_type(name, folder)
    family = find_family(model_type)  # refuse before the weights are fetched or read
    config = AutoConfig.from_pretrained(folder, local_files_only=True)
    _check_layers(name, config.get_text_config(), family)
    if not embedded:
        _check_memory(name, folder, dtype, None if device_map else device)
    if hub:
        folder = fetched(str(name_or_folder), FILES, TargetError)
    if not any(folder.glob("*.safetensors")):
        raise TargetError(f"{name} has no safetensors files, and other weights are never read.")
    processor = load_processor(folder, model_type)
    if max_pixels is not None and not family.limit_pixels(processor, max_pixels):
        raise TargetError(f"{name} sees images at fixed sizes: max_pixels cannot change them.")
    model = AutoModelForImageTextToText.from_pretrained(
        folder,
        dtype=dtype,
        attn_implementation=attention,
        device_map=device_map,
        local_files_only=True,
        use_safetensors=True,
    )
    if device_map is None:
        model = model.to(device)
        for layer in family.text_layers(model):
            lay_by_input(layer)
    target = make_target(
        name,
        model,
        processor,
        # the hub keeps a snapshot under its commit
        revision=folder.name[:12] if hub else weights_revision(folder),
    )
    if dtype in HALF:
        target.certificate = self_check(target)
    try:
        target.likeness = likeness.load(folder, target.revision)
    except likeness.LikenessError as error:  # the answers do not rest on it
        log.error("%s", error)
    try:
        target.localization = localization.load(folder, target.revision)
    except localization.LocalizationError as error:  # nor on this
        log.error("%s", error)
    return target


def _model_type(name: str, folder: Path) -> str:
    file = folder / "config.json"
    if not file.is_file():
        raise TargetError(f"There is no model in {folder}: it has no config.json.")
    config = json.loads(file.read_text(encoding="utf-8"))
    if "quantization_config" in config:
        raise TargetError(f"{name} is quantised, which is not tested here: take the plain weights.")
    return config.get("model_type", "")


def _check_layers(name: str, text: Any, family: Family) -> None:
    """Of a text config: kinds of layers that the family does not answer for are refused."""
    strange = kinds_of_layers(text) - family.layer_kinds
    if strange & RECURRENT_KINDS:
        raise TargetError(f"{name} {RECURRENT}")
    if strange:
        raise TargetError(
            f"{name} has {', '.join(sorted(strange))} layers; of its family only "
            f"{' and '.join(sorted(family.layer_kinds))} can be verified and rolled back."
        )


def _check_memory(name: str, folder: Path, dtype: torch.dtype, device: str | None) -> None:
    need, free = memory_need(folder, dtype), free_memory(device)
    where = device or "all devices together"
    log.info("%s: %s; free on %s: %s", name, need, where, gib(free))
    if need.total > free:
        ways = ["a smaller model"]
        if dtype == torch.float32:
            ways.append("dtype bfloat16")
        if device is not None:
            ways.append('device_map="auto"')
        raise TargetError(
            f"{name} does not fit: its {need}, but {where} has {gib(free)} free; "
            f"take {' or '.join(ways)}."
        )


def make_target(
    name: str,
    model: Any,  # a transformers PreTrainedModel for image-text-to-text
    processor: Any = None,
    tokenizer: Any = None,  # when there is no processor that holds one
    revision: str = "",
) -> Target:
    """Wrap a model that is already in memory.

    Raises:
        TargetError: the family is unknown, or has layers that cannot be verified.
    """
    family = find_family(model.config.model_type)
    text = model.config.get_text_config()
    _check_layers(name, text, family)
    if text._attn_implementation not in ("sdpa", "eager"):
        raise TargetError(
            f"{name} uses {text._attn_implementation} attention, which takes no tree mask; "
            "load it with sdpa or eager."
        )
    tokenizer = tokenizer if tokenizer is not None else processor.tokenizer
    return Target(name, model, family, tokenizer, processor, revision)


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
