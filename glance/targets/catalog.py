"""Public targets and the heads that fit them: the one table that a list of models is made from.

Ids are those of the Hugging Face hub. No torch: nothing is loaded or looked up here.
"""

from __future__ import annotations

from dataclasses import dataclass

BYTES = 2  # a parameter in bfloat16


@dataclass(frozen=True, slots=True)
class Head:
    """A published head."""

    hub_id: str
    drafter: str  # name, as `load_drafter` takes it
    note: str  # what it was trained on
    licence: str = "see its page"  # as its page of the hub names it, where that is known


@dataclass(frozen=True, slots=True)
class PublicTarget:
    """A published model of a supported family."""

    hub_id: str
    family: str  # `model_type` of transformers
    billions: float  # parameters, vision tower included
    licence: str  # as its page of the hub names it
    heads: tuple[Head, ...] = ()

    @property
    def memory_gib(self) -> float:
        """Weights in bfloat16; the context comes on top (`glance.targets.memory`)."""
        return self.billions * 1e9 * BYTES / (1 << 30)


#: the first one is the pair to begin with: its head saw text only, and is trained to follow the
#: language model that this target was made from
TARGETS = (
    PublicTarget(
        "Qwen/Qwen3-VL-8B-Instruct",
        "qwen3_vl",
        8.77,
        "apache-2.0",
        (Head("z-lab/Qwen3-8B-DFlash-b16", "glance", "text, for Qwen3-8B"),),
    ),
    PublicTarget(
        "Qwen/Qwen3-VL-4B-Instruct",
        "qwen3_vl",
        4.44,
        "apache-2.0",
        (Head("z-lab/Qwen3-4B-DFlash-b16", "glance", "text, for Qwen3-4B; not tried on images"),),
    ),
    PublicTarget("Qwen/Qwen3-VL-30B-A3B-Instruct", "qwen3_vl_moe", 31.1, "apache-2.0"),
    PublicTarget(
        "Qwen/Qwen2.5-VL-7B-Instruct",
        "qwen2_5_vl",
        8.29,
        "apache-2.0",
        (Head("Rayzl/qwen2.5-vl-7b-eagle3-sgl", "eagle3", "for this target"),),
    ),
    PublicTarget("HuggingFaceTB/SmolVLM-256M-Instruct", "idefics3", 0.26, "apache-2.0"),
    PublicTarget("HuggingFaceTB/SmolVLM2-2.2B-Instruct", "smolvlm", 2.25, "apache-2.0"),
    PublicTarget("llava-hf/llava-1.5-7b-hf", "llava", 7.06, "llama2"),
    PublicTarget("llava-hf/llava-v1.6-mistral-7b-hf", "llava_next", 7.57, "apache-2.0"),
    PublicTarget("OpenGVLab/InternVL3-8B-hf", "internvl", 7.94, "qwen"),
    PublicTarget("google/gemma-3-4b-it", "gemma3", 4.3, "gemma"),
)
