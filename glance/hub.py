"""The Hugging Face hub: what is a repository's name there, and its files in the hub's own cache."""

from __future__ import annotations

import re
from collections.abc import Sequence
from pathlib import Path

_ID = re.compile(r"\w[\w.-]*/\w[\w.-]*")


def is_hub_id(given: str | Path) -> bool:
    """Whether this is OWNER/NAME of a repository: a Path is not, and a folder comes first."""
    return isinstance(given, str) and not Path(given).exists() and bool(_ID.fullmatch(given))


def fetched(repository: str, files: Sequence[str], refused: type[ValueError]) -> Path:
    """The hub's folder with these files of a repository, downloaded unless they are here.

    Args:
        repository: OWNER/NAME.
        files: patterns of their names; safetensors and texts only, no pickles and no code.
        refused: what is raised, with one plain sentence, where it is not there, not open to this
            account, or the hub is out of reach.
    """
    from huggingface_hub import constants, snapshot_download
    from huggingface_hub.errors import GatedRepoError, RepositoryNotFoundError

    try:
        return Path(snapshot_download(repository, allow_patterns=list(files)))
    except GatedRepoError as error:
        raise refused(
            f"{repository} is gated: accept its licence on its page of the hub, log in with "
            "`hf auth login`, and try again."
        ) from error
    except RepositoryNotFoundError as error:
        raise refused(
            f"There is no folder {repository} here and nothing of that name on the Hugging Face "
            "hub, or it is private and needs `hf auth login`."
        ) from error
    except (OSError, ValueError) as error:
        if constants.HF_HUB_OFFLINE:
            raise refused(
                f"{repository} is not on this machine and downloads are switched off: set "
                "HF_HUB_OFFLINE=0 in the environment to fetch it, or name a folder."
            ) from error
        raise refused(
            f"The Hugging Face hub is out of reach and {repository} is not in its cache here: "
            "check the connection, or name a folder."
        ) from error
