"""Which models can be targets, and which cannot and why. Explicit, no guessing from names."""

from __future__ import annotations

from glance.targets.base import Family
from glance.targets.gemma3 import Gemma3
from glance.targets.internvl import InternVL
from glance.targets.llava import Llava
from glance.targets.llava_next import LlavaNext
from glance.targets.qwen2_5_vl import Qwen25VL
from glance.targets.qwen3_vl import Qwen3VL
from glance.targets.smolvlm import SmolVLM

#: adapters by the `model_type` of transformers
FAMILIES: dict[str, Family] = {
    "qwen3_vl": Qwen3VL(),
    "qwen3_vl_moe": Qwen3VL(),
    "qwen2_5_vl": Qwen25VL(),
    "smolvlm": SmolVLM(),
    "idefics3": SmolVLM(),
    "llava": Llava(),
    "llava_next": LlavaNext(),
    "internvl": InternVL(),
    "gemma3": Gemma3(),
}

#: the reason for hybrids, as transformers names their layers: state beside keys and values
RECURRENT_KINDS = frozenset({"linear_attention", "conv", "hybrid", "hybrid_sliding"})
RECURRENT = (
    "mixes recurrent layers with attention; their state cannot be rolled back to an accepted "
    "prefix, and a tree has no single past, so it is refused."
)

#: name and reason of those that can be taken for supported, by `model_type`
REFUSED: dict[str, tuple[str, str]] = {
    "qwen3_5": ("Qwen3.5", RECURRENT),
    "qwen3_5_moe": ("Qwen3.5-MoE", RECURRENT),
    "qwen3_next": ("Qwen3-Next", RECURRENT),
    "qwen4_exp": ("Qwen4-Exp", RECURRENT),
    "lfm2_vl": ("LFM2-VL", RECURRENT),
    "mllama": (
        "Llama 3.2 Vision",
        "reads the image through cross-attention, beside the tokens that a tree is made of; that "
        "path is not tested, so it is refused.",
    ),
    "gemma3n": (
        "Gemma 3n",
        "shares keys and values between layers and feeds each layer embeddings of its own; that "
        "is not tested, so it is refused.",
    ),
    "internvl_chat": (
        "This InternVL checkpoint",
        "needs code from the hub, which is never run: take the one whose name ends in -hf.",
    ),
}


class TargetError(ValueError):
    """The model cannot serve as a target; the message is one plain sentence."""


def find_family(model_type: str) -> Family:
    """The adapter of a transformers model type.

    Raises:
        TargetError: refused by name, or not known.
    """
    if model_type in REFUSED:
        raise TargetError(" ".join(REFUSED[model_type]))
    if model_type not in FAMILIES:
        known = ", ".join(FAMILIES)
        raise TargetError(f"Models of type {model_type!r} are not supported; known are {known}.")
    return FAMILIES[model_type]
