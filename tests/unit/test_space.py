"""Whether a Hugging Face Space can be made of this repository as it is. No network."""

from __future__ import annotations

import re
import subprocess
from importlib.metadata import PackageNotFoundError, distribution
from pathlib import Path, PurePosixPath

import pytest
import yaml
from packaging.markers import default_environment
from packaging.requirements import Requirement
from packaging.specifiers import SpecifierSet
from packaging.utils import canonicalize_name

ROOT = Path(__file__).parents[2]
OURS = ["app", "assets", "docs", "glance", "tests"]  # folders of the repository
LARGEST = 10_000_000  # bytes of a file that the Hub takes into git itself

#: what ZeroGPU offers; https://huggingface.co/docs/hub/spaces-zerogpu
ZEROGPU_TORCH = ("2.8.0", "2.9.1", "2.10.0", "2.11.0")
PYTHONS = ("3.11", "3.12")
COLOURS = {"red", "yellow", "green", "blue", "indigo", "purple", "pink", "gray"}


def requirements(name: str = "requirements.txt") -> dict[str, Requirement]:
    rows = (ROOT / name).read_text(encoding="utf-8").splitlines()
    found = [Requirement(row) for row in rows if row and not row.startswith("#")]
    return {canonicalize_name(each.name): each for each in found}


@pytest.fixture(scope="module")
def front() -> dict:
    text = (ROOT / "README.md").read_text(encoding="utf-8")
    _, block, _ = text.split("---\n", 2)
    return yaml.safe_load(block)


def test_the_front_matter_is_whole(front):
    assert front["sdk"] == "gradio"
    assert (ROOT / front["app_file"]).is_file()
    assert front["title"]
    assert {front["colorFrom"], front["colorTo"]} <= COLOURS
    assert len(front["short_description"]) <= 60
    assert front["license"] == "mit"
    assert front["suggested_hardware"] == "cpu-basic"
    assert front["tags"]
    assert front["pinned"] is False


def test_the_space_has_the_gradio_and_the_python_that_are_tested(front):
    assert str(requirements()["gradio"].specifier) == f"=={front['sdk_version']}"
    assert front["python_version"] in PYTHONS  # a number in YAML would lose the nought of 3.10


def test_no_model_is_named_that_does_not_run_here(front):
    """The weights are in the repository; naming another model would be untrue."""
    assert front.get("models", []) == []


def files() -> list[PurePosixPath]:
    below = [path for folder in OURS for path in (ROOT / folder).rglob("*")]
    found = [path for path in (*below, *ROOT.iterdir()) if path.is_file()]
    ours = [path for path in found if "__pycache__" not in path.parts]  # these come and go
    return [PurePosixPath(path.relative_to(ROOT).as_posix()) for path in ours]


def test_every_file_is_small_or_goes_through_lfs():
    rows = (ROOT / ".gitattributes").read_text(encoding="utf-8").splitlines()
    patterns = [row.split()[0] for row in rows if "filter=lfs" in row]
    large = [path for path in files() if (ROOT / path).stat().st_size > LARGEST]
    assert large  # the target's weights
    for path in large:
        assert any(path.match(pattern) for pattern in patterns), path


def test_torch_of_a_space_is_one_that_zerogpu_offers():
    (pin,) = requirements("pre-requirements.txt")["torch"].specifier
    assert pin.operator == "=="
    assert pin.version in ZEROGPU_TORCH
    assert requirements()["torch"].specifier.contains(pin.version)


def demands(python: str) -> list[tuple[str, Requirement]]:
    """What everything that is installed for this repository requires, under one Python."""
    environment = {
        **default_environment(),
        "python_version": python,
        "python_full_version": f"{python}.0",
        "extra": "",
    }
    found: list[tuple[str, Requirement]] = []
    waiting = [("requirements.txt", each) for each in requirements().values()]
    seen: set[str] = set()
    while waiting:
        asker, each = waiting.pop()
        if each.marker and not each.marker.evaluate(environment):
            continue
        found.append((asker, each))
        name = canonicalize_name(each.name)
        if name not in seen:
            seen.add(name)
            try:
                needs = distribution(name).requires or []
            except PackageNotFoundError:  # of another platform, or of another Python
                continue
            waiting += [(name, Requirement(row)) for row in needs]
    return found


@pytest.mark.parametrize("python", PYTHONS)
def test_what_is_installed_is_what_everything_requires(python):
    """So there is a set of versions that fits, of which this very one has been tested."""
    asked = demands(python)
    assert len(asked) > 50
    for asker, each in asked:
        try:
            found = distribution(each.name)
        except PackageNotFoundError:
            assert python != f"{default_environment()['python_version']}", f"{asker}: {each}"
            continue
        assert each.specifier.contains(found.version, prereleases=True), f"{asker}: {each}"
        allowed = SpecifierSet(found.metadata["Requires-Python"] or "")
        assert allowed.contains(f"{python}.9"), f"{each.name} is not for Python {python}"


@pytest.mark.parametrize("version", [ZEROGPU_TORCH[0], ZEROGPU_TORCH[-1]])
@pytest.mark.parametrize("python", PYTHONS)
def test_every_requirement_of_torch_takes_what_zerogpu_offers(python, version):
    askers = [pair for pair in demands(python) if canonicalize_name(pair[1].name) == "torch"]
    assert {asker for asker, _ in askers} >= {"requirements.txt", "accelerate"}
    for asker, each in askers:
        assert each.specifier.contains(version), f"{asker}: {each}"


def test_the_commands_that_push_name_what_is_there():
    text = (ROOT / "docs" / "spaces.md").read_text(encoding="utf-8")
    assert re.search(r"hf upload \S+ \. \. --type space", text)
    assert "git lfs" in text


def test_a_push_puts_every_binary_file_into_lfs():
    listed = subprocess.run(["git", "ls-files", "-z"], cwd=ROOT, capture_output=True, text=True)
    if listed.returncode:
        pytest.skip("this is no git checkout")
    tracked = [path for path in listed.stdout.split("\0") if (ROOT / path).is_file()]
    binary = [path for path in tracked if b"\0" in (ROOT / path).read_bytes()]
    text = (ROOT / "docs" / "spaces.md").read_text(encoding="utf-8")
    [patterns] = re.findall(r"^ +git lfs track (.+)$", text, re.MULTILINE)
    named = [pattern.strip('"') for pattern in patterns.split()]
    assert [path for path in binary if not any(PurePosixPath(path).match(p) for p in named)] == []
    for pattern in named:  # none is left over
        assert any(PurePosixPath(path).match(pattern) for path in tracked), pattern
