"""Who may import whom, and no cycles. Read from the source, nothing is run."""

import ast
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
TORCH_FREE = (
    "types",
    "config",
    "cgroup",
    "trace",
    "replay",
    "compare",
    "copying",
    "localization",
    "metrics",
    "prefix_cache",
    "ground",
    "clock",
    "budget",
    "machine",
    "law",
    "law_checks",
    "law_pages",
    "law_picture",
    "law_rounds",
    "rounds_csv",
    "bench_rows",
    "markdown",
    "probes",
    "report",
    "report_bars",
    "targets.catalog",
)


def modules() -> dict[str, Path]:
    """Every module of the project by its dotted name."""
    found = {}
    for package in ("glance", "app"):
        for path in sorted((ROOT / package).rglob("*.py")):
            name = ".".join(path.relative_to(ROOT).with_suffix("").parts)
            found[name.removesuffix(".__init__")] = path
    return found


def imports(path: Path, everywhere: bool = False) -> set[str]:
    """Names a module imports when it loads; with `everywhere`, inside functions too."""
    tree = ast.parse(path.read_text(encoding="utf-8"))
    nodes = list(ast.walk(tree)) if everywhere else list(_at_load(tree.body))
    names: set[str] = set()
    for node in nodes:
        if isinstance(node, ast.Import):
            names |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom):
            assert node.level == 0, f"{path}: imports are absolute"
            names |= {node.module or ""} | {f"{node.module}.{alias.name}" for alias in node.names}
    return names


def _at_load(body: list[ast.stmt]):
    for node in body:
        if isinstance(node, ast.If) and "TYPE_CHECKING" in ast.dump(node.test):
            continue
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
            continue
        yield node
        for field in ("body", "orelse", "finalbody"):
            yield from _at_load(getattr(node, field, []))


def tops(names: set[str]) -> set[str]:
    return {name.split(".")[0] for name in names}


ALL = modules()


def layer(prefix: str) -> list[str]:
    return [name for name in ALL if name == prefix or name.startswith(prefix + ".")]


def test_there_is_something_to_check():
    assert len(layer("glance")) > 20
    assert layer("app")


@pytest.mark.parametrize("name", layer("glance"))
def test_the_decoder_knows_no_page(name):
    found = imports(ALL[name], everywhere=True)
    if name == "glance.cli.replay":  # the one command that writes a page
        found -= {"app.replay_file", "app.replay_file.replay_html"}
    assert not tops(found) & {"gradio", "plotly", "app"}


def test_the_command_that_writes_a_page_reaches_for_it_only_then():
    assert "app" not in tops(imports(ALL["glance.cli.replay"]))


@pytest.mark.parametrize("name", layer("app.views"))
def test_views_are_pure(name):
    found = imports(ALL[name], everywhere=True)
    assert not tops(found) & {"torch", "gradio", "transformers"}
    ours = {n for n in found if n.startswith("glance.")}
    assert all(n.split(".")[1] in TORCH_FREE for n in ours), ours


@pytest.mark.parametrize("name", [n for n in layer("app") if n != "app.session"])
def test_only_the_session_reaches_the_decoder(name):
    found = imports(ALL[name], everywhere=True)
    assert "torch" not in tops(found)
    if name == "app.models":  # shows the catalogue, a table that loads nothing
        found = {n for n in found if not n.startswith("glance.targets.catalog")}
    reached = {n.split(".")[1] for n in found if n.startswith("glance.")}
    assert not reached & {"decode", "ask", "targets", "drafters", "verify", "training"}


@pytest.mark.parametrize("name", layer("glance.drafters"))
def test_losslessness_never_rests_on_drafter_code(name):
    ours = {n for n in imports(ALL[name]) if n.startswith("glance.")}
    # glance.config has the bounds of settings, and nothing that decodes
    allowed = ("glance.types", "glance.heads", "glance.drafters", "glance.config")
    assert all(n.startswith(allowed) for n in ours), ours


def test_no_import_cycles():
    graph = {name: imports(path) & set(ALL) - {name} for name, path in ALL.items()}
    done: set[str] = set()

    def visit(name: str, trail: tuple[str, ...]) -> None:
        assert name not in trail, " -> ".join((*trail, name))
        if name not in done:
            for other in graph[name]:
                visit(other, (*trail, name))
            done.add(name)

    for name in ALL:
        visit(name, ())


def test_the_page_and_the_trace_load_without_torch():
    wanted = [f"glance.{name}" for name in TORCH_FREE] + layer("app.views") + ["glance"]
    code = f"import sys, {', '.join(wanted)}; sys.exit('torch' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", code], cwd=ROOT, check=False).returncode == 0
