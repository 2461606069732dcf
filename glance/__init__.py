"""GLANCE: lossless block-draft decoding of vision-language models, with every round on record.

The public nouns load on first use, so that `import glance` costs no torch. A whole question, from
document to trace, is `glance.ask.ask`.
"""

from __future__ import annotations

from importlib import import_module
from typing import Any

__version__ = "0.1.0"

_PUBLIC = {
    "Decoder": "glance.decode",
    "DecodeConfig": "glance.config",
    "load_target": "glance.targets.load",
    "load_drafter": "glance.drafters.load",
}

__all__ = ["DecodeConfig", "Decoder", "load_drafter", "load_target"]


def __getattr__(name: str) -> Any:
    if name not in _PUBLIC:
        raise AttributeError(f"module 'glance' has no attribute {name!r}")
    return getattr(import_module(_PUBLIC[name]), name)
