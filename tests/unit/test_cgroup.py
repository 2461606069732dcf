"""A container's memory limit counts. Run: python -m pytest tests/unit/test_cgroup.py"""

from pathlib import Path

import pytest

from glance import cgroup
from glance.targets import memory


@pytest.fixture
def groups(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setattr(cgroup, "ROOT", tmp_path / "root")
    monkeypatch.setattr(cgroup, "OWN", tmp_path / "own")
    return tmp_path


def group(folder: Path, names: tuple[str, str, str], most: object, used: int, spare: int) -> None:
    folder.mkdir(parents=True, exist_ok=True)
    (folder / names[0]).write_text(f"{most}\n")
    (folder / names[1]).write_text(f"{used}\n")
    (folder / "memory.stat").write_text(f"anon 5\n{names[2]} {spare}\n")


def test_the_nearest_limit_counts_without_what_is_given_up(groups: Path) -> None:
    (groups / "own").write_text("0::/a/b\n")
    group(groups / "root/a/b", cgroup.SECOND, "max", 10, 0)
    group(groups / "root/a", cgroup.SECOND, 1000, 700, 100)
    group(groups / "root", cgroup.SECOND, 5000, 700, 0)
    assert cgroup.memory_left() == 400
    assert memory.free_memory("cpu") == 400


def test_the_first_version_has_other_names(groups: Path) -> None:
    (groups / "own").write_text("4:cpu:/x\n3:blkio,memory:/docker/unseen\n")
    group(groups / "root/memory", cgroup.FIRST, 1000, 300, 50)
    assert cgroup.memory_left() == 750


def test_no_limit_leaves_what_the_machine_has(groups: Path) -> None:
    assert cgroup.memory_left() is None
    (groups / "own").write_text("0::/\n")
    group(groups / "root", cgroup.SECOND, "max", 10, 0)
    assert cgroup.memory_left() is None
    assert memory.free_memory("cpu") > 1000
