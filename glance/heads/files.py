"""What every kind of head does with files: a JSON config, and weights read by name and shape.

No pickles, no remote code. A head that does not match its config is refused, never half loaded.
"""

from __future__ import annotations

import hashlib
import json
from pathlib import Path
from typing import Any

import torch
from safetensors import SafetensorError
from safetensors.torch import load_file, save_file
from torch import Tensor, nn

from glance.heads.config import HeadError
from glance.hub import fetched, is_hub_id

#: How weights are named that only unpickling could read.
PICKLES = ("*.bin", "*.pt", "*.pth", "*.ckpt")
#: All that is ever downloaded: no pickles and no code.
FETCHED = ("*.json", "*.safetensors")


def head_folder(given: str | Path) -> Path:
    """The folder of a head; what is not here is looked for on the hub and kept in its cache.

    Args:
        given: a folder, or OWNER/NAME of a repository. A folder of that name comes first.

    Raises:
        HeadError: neither is there, or the hub is out of reach.
    """
    named = str(given)  # command lines hand on hub ids as paths
    return fetched(named, FETCHED, HeadError) if is_hub_id(named) else Path(given)


def read_config(folder: Path) -> dict[str, Any]:
    """The folder's `config.json`.

    Raises:
        HeadError: there is none, or it is broken.
    """
    path = folder / "config.json"
    if not path.is_file():
        raise HeadError(f"There is no head in {folder}: it has no config.json.")
    try:
        raw = json.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError) as error:
        raise HeadError(f"{path} cannot be read: {error}.") from error
    if not isinstance(raw, dict):
        raise HeadError(f"{path} is not a JSON object.")
    return raw


def rope_entries(raw: dict[str, Any]) -> dict[str, Any]:
    """What a config says of rotary positions; newer transformers renamed the entry."""
    return {**(raw.get("rope_parameters") or {}), **(raw.get("rope_scaling") or {})}


def write_config(folder: Path, raw: dict[str, Any]) -> None:
    """Write `config.json` into `folder`, made if missing."""
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "config.json").write_text(json.dumps(raw, indent=2) + "\n", encoding="utf-8")


def read_tensors(path: Path) -> dict[str, Tensor]:
    """All tensors of a safetensors file.

    Raises:
        HeadError: it is missing or broken, or there are only pickles in its place.
    """
    if not path.is_file():
        pickles = sorted(p.name for pattern in PICKLES for p in path.parent.glob(pattern))
        if pickles:
            raise HeadError(
                f"The weights in {path.parent} are a pickle ({pickles[0]}), which can run code "
                f"when it is read: convert it to {path.name} first."
            )
        raise HeadError(
            f"There are no weights in {path.parent}: it has no {path.name}, and pickles "
            "are never read."
        )
    try:
        return load_file(path)
    except (OSError, SafetensorError) as error:
        raise HeadError(f"The head's weights {path} cannot be read: {error}.") from error


def write_tensors(module: nn.Module, path: Path, dtype: torch.dtype) -> None:
    """Write the weights of `module`, stored as `dtype`; whole numbers stay what they are."""
    stored = {
        name: t.detach().to("cpu", dtype if t.is_floating_point() else None).contiguous()
        for name, t in module.state_dict().items()
    }
    save_file(stored, path, metadata={"format": "pt"})


def load_strictly(module: nn.Module, weights: dict[str, Tensor], path: Path) -> None:
    """Give `module` the weights, as float32; whole numbers stay what they are.

    Raises:
        HeadError: a tensor is missing, unknown or misshapen; `path` says where they are from.
    """
    wanted = {name: tuple(t.shape) for name, t in module.state_dict().items()}
    missing = sorted(wanted.keys() - weights.keys())
    unknown = sorted(weights.keys() - wanted.keys())
    if missing or unknown:
        raise HeadError(f"{path} holds the wrong tensors: missing {missing}, unknown {unknown}.")
    for name, shape in wanted.items():
        if tuple(weights[name].shape) != shape:
            found = list(weights[name].shape)
            raise HeadError(f"In {path}, {name} has shape {found}, expected {list(shape)}.")
    module.load_state_dict(
        {name: t.float() if t.is_floating_point() else t for name, t in weights.items()}
    )


def revision(module: nn.Module) -> str:
    """Short hash of the weights, as they are now."""
    digest = hashlib.sha256()
    for name, tensor in sorted(module.state_dict().items()):
        digest.update(name.encode())
        digest.update(tensor.detach().cpu().float().numpy().tobytes())
    return digest.hexdigest()[:12]
