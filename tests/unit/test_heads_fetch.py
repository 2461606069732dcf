"""Heads from folders and from the hub; nothing is downloaded here.

Run: python -m pytest tests/unit/test_heads_fetch.py
"""

from pathlib import Path
from typing import Any

import huggingface_hub
import pytest
from huggingface_hub import constants
from huggingface_hub.errors import LocalEntryNotFoundError

from glance.heads.config import HeadError
from glance.heads.files import head_folder


@pytest.fixture
def asked(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> list[dict[str, Any]]:
    """What the hub is asked for; it has one head."""
    found: list[dict[str, Any]] = []

    def snapshot_download(repo_id: str, **options: Any) -> str:
        found.append({"repo_id": repo_id, **options})
        if repo_id != "z-lab/a-head":
            raise LocalEntryNotFoundError("Cannot reach the hub.\nCheck your connection.")
        return str(tmp_path / "cache")

    monkeypatch.setattr(huggingface_hub, "snapshot_download", snapshot_download)
    monkeypatch.chdir(tmp_path)
    return found


def test_a_repository_is_fetched_without_pickles_or_code(
    asked: list[dict[str, Any]], tmp_path: Path
) -> None:
    assert head_folder(Path("z-lab/a-head")) == tmp_path / "cache"
    assert asked == [{"repo_id": "z-lab/a-head", "allow_patterns": ["*.json", "*.safetensors"]}]


def test_a_folder_comes_first(asked: list[dict[str, Any]], tmp_path: Path) -> None:
    (tmp_path / "z-lab" / "a-head").mkdir(parents=True)
    for given in ("z-lab/a-head", "./here", "/z-lab/a-head", "runs/glance/head", "head"):
        assert head_folder(given) == Path(given)
    assert not asked


@pytest.mark.parametrize(
    ("offline", "said"),
    [(True, "z-lab/none .* downloads are switched off"), (False, "z-lab/none is not in its cache")],
)
def test_what_cannot_be_fetched_is_one_sentence(
    asked: list[dict[str, Any]], monkeypatch: pytest.MonkeyPatch, offline: bool, said: str
) -> None:
    monkeypatch.setattr(constants, "HF_HUB_OFFLINE", offline)
    with pytest.raises(HeadError, match=said) as caught:
        head_folder("z-lab/none")
    assert "\n" not in str(caught.value)
    assert len(asked) == 1
