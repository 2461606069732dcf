"""Where a target lies: a folder on this machine, or a repository of the Hugging Face hub."""

from __future__ import annotations

import re
from collections.abc import Sequence
from pathlib import Path

from glance.targets.families import TargetError

#: All that is ever downloaded: no pickles and no code.
CONFIG = ("config.json",)
FILES = ("*.json", "*.jinja", "*.model", "*.txt", "*.safetensors")
_HUB_ID = re.compile(r"[\w.-]+/[\w.-]+")


def is_hub_id(given: str | Path) -> bool:
    """Whether this is OWNER/NAME of a repository; a folder of that name comes first."""
    return isinstance(given, str) and not Path(given).exists() and bool(_HUB_ID.fullmatch(given))


def fetched(repository: str, files: Sequence[str]) -> Path:
    """The hub's folder with these files of a repository, kept in the hub's cache.

    Raises:
        TargetError: it is not there, not open to this account, or the hub is out of reach.
    """
    from huggingface_hub import constants, snapshot_download
    from huggingface_hub.errors import GatedRepoError, RepositoryNotFoundError

    try:
        return Path(snapshot_download(repository, allow_patterns=list(files)))
    except GatedRepoError as error:
        raise TargetError(
            f"{repository} is gated: accept its licence on its page of the hub, log in with "
            "`hf auth login`, and try again."
        ) from error
    except RepositoryNotFoundError as error:
        raise TargetError(
            f"There is no folder {repository} here and no such model on the Hugging Face hub, or "
            "it is private and needs `hf auth login`."
        ) from error
    except (OSError, ValueError) as error:
        if constants.HF_HUB_OFFLINE:
            raise TargetError(
                f"{repository} is not on this machine and downloads are switched off: set "
                "HF_HUB_OFFLINE=0 in the environment to fetch it, or name a folder."
            ) from error
        raise TargetError(
            f"The Hugging Face hub is out of reach and {repository} is not in its cache here: "
            "check the connection, or name a folder."
        ) from error
