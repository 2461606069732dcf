"""What the repository rests on: its requirements, its imports, its assets, its own README.

python -m pytest tests/contract/test_provenance.py
"""

import ast
import re
import sys
from collections.abc import Iterator
from importlib.metadata import packages_distributions, requires
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
FOLDERS = ("app", "assets", "docs", "glance", "tests", ".ci")
TEXT = {".py", ".md", ".txt", ".toml", ".json", ".jsonl", ".js", ".css", ".yaml", ".svg", ""}
DRAWING = {"matplotlib", "reportlab"}  # of the foreign pages
PLATFORM = {"spaces"}  # a Space on ZeroGPU has it, and nobody else needs it
TESTS_ONLY = {"pytest", "hypothesis", "playwright", "axe-playwright-python", "dflash"} | DRAWING


def files() -> Iterator[Path]:
    """Every file of the repository, made by hand or by its own commands."""
    yield from (path for path in ROOT.iterdir() if path.is_file())
    for folder in FOLDERS:
        for path in (ROOT / folder).rglob("*"):
            if path.is_file() and "__pycache__" not in path.parts:
                yield path


def sources(*folders: str) -> dict[str, ast.Module]:
    paths = [path for folder in folders for path in (ROOT / folder).rglob("*.py")]
    if "app" in folders:
        paths.append(ROOT / "app.py")
    return {str(path.relative_to(ROOT)): ast.parse(path.read_text("utf-8")) for path in paths}


def package(requirement: str) -> str:
    """`Some_Package[extra]>=1.0` -> `some-package`."""
    name = re.match(r"[A-Za-z0-9._-]+", requirement)
    assert name, requirement
    return re.sub(r"[-_.]+", "-", name.group()).lower()


def requirements() -> list[str]:
    lines = (ROOT / "requirements.txt").read_text().splitlines()
    return [line for line in lines if line and not line.startswith("#")]


def imported(tree: ast.Module) -> set[str]:
    names: set[str] = set()
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            names.update(alias.name.partition(".")[0] for alias in node.names)
        elif isinstance(node, ast.ImportFrom) and node.module and not node.level:
            names.add(node.module.partition(".")[0])
    return names - set(sys.stdlib_module_names) - {"glance", "app", "tests"}


def test_requirements_have_a_floor_and_a_ceiling() -> None:
    for line in requirements():
        assert "==" in line or (">=" in line and ",<" in line), line


@pytest.mark.parametrize("folder", ["glance", "app", "tests"])
def test_every_import_comes_with_a_requirement(folder: str) -> None:
    direct = {package(line) for line in requirements()}
    allowed = set(direct)
    for name in direct - TESTS_ONLY:  # numpy, safetensors, tokenizers come with transformers
        allowed |= {package(need) for need in requires(name) or () if "extra ==" not in need}
    allowed = allowed | TESTS_ONLY if folder == "tests" else allowed - TESTS_ONLY
    homes = packages_distributions()
    for path, tree in sources(folder).items():
        for module in imported(tree):
            names = {package(home) for home in homes.get(module, [module])}
            assert names & allowed or module in PLATFORM, (
                f"{path} imports {module}, which no requirement brings"
            )


def test_no_remote_code_no_pickled_weights() -> None:
    for path, tree in sources("glance", "app").items():
        for node in ast.walk(tree):
            if isinstance(node, ast.keyword):
                assert node.arg != "trust_remote_code", path
            if isinstance(node, ast.Constant):
                assert node.value != "trust_remote_code", path
            if isinstance(node, ast.Call) and ast.unparse(node.func) == "torch.load":
                safe = {keyword.arg: ast.unparse(keyword.value) for keyword in node.keywords}
                assert safe.get("weights_only") == "True", path
        assert not imported(tree) & {"pickle", "cPickle", "dill", "joblib"}, path
    pickled = {".bin", ".pt", ".pth", ".pkl", ".pickle", ".ckpt", ".npy"}
    assert [path for path in (ROOT / "assets").rglob("*") if path.suffix in pickled] == []


def test_the_page_never_uses_gradios_own_plot() -> None:
    for path, tree in sources("app").items():
        for node in ast.walk(tree):
            if isinstance(node, ast.Attribute):
                assert ast.unparse(node) not in ("gr.Plot", "gradio.Plot"), path


def test_no_file_names_the_machine_it_was_made_on() -> None:
    siblings = [path.name for path in ROOT.parent.iterdir() if path.is_dir() and path != ROOT]
    folders = [folder for folder in (ROOT, Path.home()) if folder != Path(folder.anchor)]
    places = [re.escape(f"{folder}/") for folder in folders]
    places += [re.escape(f"../{name}") + r"(?![\w-])" for name in siblings]
    pattern = re.compile(rf"(?<![\w.])({'|'.join(places)})|\bissue #?\d", re.IGNORECASE)
    for path in files():
        if path.suffix in TEXT:
            found = pattern.search(path.read_text("utf-8"))
            assert not found, f"{path.relative_to(ROOT)} says {found and found.group()!r}"


def test_every_face_comes_with_its_licence() -> None:
    fonts = [path for path in (ROOT / "assets" / "fonts").iterdir() if path.suffix == ".ttf"]
    assert fonts
    for font in fonts:
        licences = [path for path in font.parent.glob("LICENSE-*") if path.stat().st_size > 500]
        families = [path.stem.removeprefix("LICENSE-") for path in licences]
        assert any(font.stem.startswith(family) for family in families), font.name


def front_matter() -> dict[str, str]:
    _, block, _ = (ROOT / "README.md").read_text("utf-8").split("---\n", 2)
    return {
        key.strip(): value.strip().strip('"')
        for key, _, value in (line.partition(":") for line in block.splitlines())
    }


def test_the_readmes_front_matter_fits_the_requirements() -> None:
    fields = front_matter()
    assert fields["sdk"] == "gradio"
    assert f"gradio=={fields['sdk_version']}" in requirements()
    assert (ROOT / fields["app_file"]).is_file()
    assert fields["license"] == "mit"
    assert len(fields["short_description"]) <= 60  # the host's limit


def test_ci_runs_the_readmes_own_test_command() -> None:
    readme = (ROOT / "README.md").read_text("utf-8")
    commands = [line for line in readme.splitlines() if "-r requirements.txt &&" in line]
    assert [command.split()[-1] for command in commands] == ["app.py", "pytest"]
    assert commands[1] in (ROOT / ".ci" / "run").read_text("utf-8").splitlines()


def test_files_the_readme_points_to_exist() -> None:
    readme = (ROOT / "README.md").read_text("utf-8")
    help_text = (ROOT / "glance" / "cli" / "main.py").read_text("utf-8")
    links = re.findall(r"\]\(([^)#:]+)\)", readme)
    links += re.findall(r"assets/samples/[\w./-]+", readme + help_text)
    for link in links:
        assert (ROOT / link).exists(), link
