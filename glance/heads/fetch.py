"""Where a head lies: a folder on this machine, or a repository of the Hugging Face hub."""

from __future__ import annotations

import re
from pathlib import Path

from glance.heads.config import HeadError

#: All that is ever downloaded: no pickles and no code.
FETCHED = ("*.json", "*.safetensors")
HUB_ID = re.compile(r"\w[\w.-]*/\w[\w.-]*")


def head_folder(given: str | Path) -> Path:
    """The folder of a head; what is not here is looked for on the hub and kept in its cache.

    Args:
        given: a folder, or OWNER/NAME of a repository. A folder of that name comes first.

    Raises:
        HeadError: neither is there, or the hub is out of reach.
    """
    folder = Path(given)
    if folder.exists() or not HUB_ID.fullmatch(str(given)):
        return folder  # readers say what it lacks
    from huggingface_hub import snapshot_download

    try:
        return Path(snapshot_download(str(given), allow_patterns=list(FETCHED)))
    except (OSError, ValueError) as error:
        reason = str(error).strip().split("\n", 1)[0].rstrip(".")
        raise HeadError(
            f"There is no folder {given} here, and no such head could be fetched from the "
            f"Hugging Face hub: {reason}."
        ) from error
