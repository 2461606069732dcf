"""Every registered drafter through `audit` and `bench`, with heads of random weights on disk.

Run: python -m pytest tests/unit/test_all_drafters.py
"""

import json
from pathlib import Path
from shutil import rmtree

import pytest
from PIL import Image

from glance.budget import CostProfile
from glance.cli.main import main
from glance.clock import FakeClock
from glance.config import MOST_NODES
from glance.drafters.base import Drafter
from glance.drafters.grown import TreeShape
from glance.drafters.load import NAMES, PLAIN, load_drafter
from glance.drafters.presets import PAPER
from glance.heads.block import BlockHead
from glance.heads.config import HeadConfig
from glance.heads.formats import write_head
from glance.heads.formats_eagle import write_eagle2, write_eagle3
from glance.heads.formats_hivis import write_hivis
from glance.heads.formats_vispec import write_vispec
from glance.heads.hivis import HiViSConfig, HiViSHead
from glance.heads.medusa import MedusaConfig, MedusaHead, write_medusa
from glance.heads.vispec import ViSpecConfig, ViSpecHead
from glance.profiling import measure_costs
from glance.targets.base import Target
from glance.trace import read_trace
from tests.eagle_heads import drawn, eagle2_head, eagle3_head, sizes
from tests.reading_target import reading_target

DRAFTING = [name for name in NAMES if name != PLAIN]


@pytest.fixture(scope="module")
def tiny() -> Target:
    return reading_target(layers=3)


@pytest.fixture
def heads(tiny: Target, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The target in place of the shipped one, and a folder with a head for it a drafter."""
    folder = tmp_path / "models"
    common = sizes(tiny)
    block = HeadConfig(
        **common,
        num_hidden_layers=1,
        mask_token_id=8,
        target_layer_ids=(0, 1, 2),
        block_size=8,
    )
    medusa = MedusaConfig(64, tiny.vocab_size, tiny.num_layers, target_revision=tiny.revision)
    made = {
        "glance": (BlockHead(block), write_head),
        "eagle3": (eagle3_head(tiny), write_eagle3),
        "eagle2": (eagle2_head(tiny), write_eagle2),
        "medusa": (MedusaHead(medusa), write_medusa),
        "vispec": (ViSpecHead(ViSpecConfig(**common)), write_vispec),
        "hivis": (HiViSHead(HiViSConfig(**common)), write_hivis),
    }
    assert {*made, "glance-chain", "ngram"} == set(DRAFTING)
    for name, (head, write) in made.items():
        drawn(head)
        write(head, folder / name)
    monkeypatch.setattr("glance.drafters.load.MODELS", folder)
    monkeypatch.setattr("glance.targets.load.load_target", lambda _: tiny)
    return folder


@pytest.mark.usefixtures("heads")
def test_audit_all(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    result = tmp_path / "audit.json"
    options = ["--n", "2", "--max-tokens", "22", "--json", str(result)]
    assert main(["audit", "--drafters", "all", *options]) == 0
    said = capsys.readouterr()
    assert "left out" not in said.err
    saved = json.loads(result.read_text("utf-8"))
    assert [row["lane"] for row in saved["rows"]] == ["control", PLAIN, *DRAFTING]
    assert all(row["identical"] == row["prompts"] == 2 for row in saved["rows"])


def test_what_has_no_head_is_left_out_by_all_and_refused_by_name(
    heads: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    elsewhere = (heads / "medusa").rename(tmp_path / "elsewhere")
    for name in ("glance", "vispec"):
        rmtree(heads / name)
    options = ["audit", "--n", "1", "--max-tokens", "2", "--head", f"medusa={elsewhere}"]
    assert main(options) == 0
    said = capsys.readouterr()
    assert "no head for them here: glance, glance-chain, vispec\n" in said.err
    lanes = [line.split()[0] for line in said.out.splitlines()[2:-1]]
    assert lanes == ["eagle3", "eagle2", "medusa", "hivis", "ngram"]
    assert main([*options, "--drafters", "glance-chain"]) == 2
    refusal = capsys.readouterr().err
    assert "No head for glance-chain ships with this" in refusal
    assert refusal.endswith("--head glance=FOLDER.\n")


GROWING = [name for name in DRAFTING if PAPER[name].depth]


@pytest.mark.usefixtures("heads")
@pytest.mark.parametrize("name", GROWING)
@pytest.mark.parametrize("budget", [15, MOST_NODES, 70])
def test_trees_have_as_many_nodes_as_the_budget(name: str, budget: int, tmp_path: Path) -> None:
    """And not only as many as the paper keeps."""
    trace = tmp_path / "run.jsonl"
    Image.new("RGB", (96, 96), "white").save(tmp_path / "page.png")
    asked = ["ask", str(tmp_path / "page.png"), "What?", "--drafter", name, "--max-tokens", "4"]
    assert main([*asked, "--budget", str(budget), "--trace", str(trace)]) == 0
    built = [line["tree"]["id"] for line in read_trace(trace) if line["kind"] == "build"]
    assert {len(ids) - 1 for ids in built} == {budget}


@pytest.mark.usefixtures("heads")
@pytest.mark.parametrize(("budget", "kept"), [(15, MOST_NODES), (100, 100)])
def test_probes_and_traces_get_trees_that_are_large_enough(
    budget: int, kept: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    shapes = []

    def loaded(*given):
        shapes.append(given[3])
        return load_drafter(*given)

    monkeypatch.setattr("glance.drafters.load.load_drafter", loaded)
    options = ["--drafter", "vispec", "--n", "1", "--tasks", "docvqa", "--max-tokens", "4"]
    options += ["--budget", str(budget)]
    assert main(["probe", "budget", *options]) == 0
    assert main(["record", "--out", str(tmp_path), *options]) == 0
    assert shapes == [TreeShape(3, 8, kept), TreeShape(3, 8, budget)]


@pytest.mark.usefixtures("heads")
def test_each_lane_of_ask_has_costs_of_its_own(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    traces = [tmp_path / "run.jsonl", tmp_path / "again.jsonl"]
    Image.new("RGB", (96, 96), "white").save(tmp_path / "page.png")
    asked = ["ask", str(tmp_path / "page.png"), "What?", "--max-tokens", "6"]
    for name in ("ar", "glance", "ngram"):
        asked += ["--drafter", name]

    measured: list[str] = []

    def measure(_target: Target, drafter: Drafter) -> CostProfile:
        measured.append(drafter.name)
        return CostProfile((64,), (0, MOST_NODES), ((9.0, 30.0),), (float(len(measured)),))

    monkeypatch.setattr("glance.profiling.measure_costs", measure)
    assert main([*asked, "--budget", "auto", "--trace", str(traces[0])]) == 0
    assert main([*asked, "--profile", str(traces[0]), "--trace", str(traces[1])]) == 0
    assert measured == ["glance", "ngram"]
    first, again = (read_trace(trace)[0]["settings"] for trace in traces)
    assert first == again
    own = first["lane_costs"]
    assert {name: one["draft_ms"] for name, one in own.items()} == {"glance": [1.0], "ngram": [2.0]}
    assert first["costs"] == own["glance"]


@pytest.fixture
def found(heads: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Where a search keeps what it found; few settings and no times, so that it is quick."""
    found = heads.parent / "results" / "presets.json"
    monkeypatch.setattr("os.getloadavg", lambda: (0.0, 0.0, 0.0))
    monkeypatch.setattr("glance.bench_search.FOUND", found)
    monkeypatch.setattr("glance.bench_search.DEPTHS", (1, 2))
    monkeypatch.setattr("glance.cli.bench.cores", lambda: 1)

    def measured(*given):
        return measure_costs(*given, clock=FakeClock(), repeats=1)

    monkeypatch.setattr("glance.profiling.measure_costs", measured)
    monkeypatch.setattr("glance.bench.measure_costs", measured)
    return found


def test_search_then_bench_all(
    found: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    options = ["bench", "--n", "1", "--tasks", "docvqa", "--max-tokens", "5"]
    assert main([*options, "--search"]) == 0
    table = capsys.readouterr().out.splitlines()[1:-1]
    assert [line.split()[0] for line in table] == DRAFTING
    saved = json.loads(found.read_text("utf-8"))
    assert (saved["split"], saved["n"], saved["tasks"]) == ("validation", 1, ["docvqa"])
    presets = saved["presets"]
    assert list(presets) == DRAFTING
    growing = {name for name, one in presets.items() if one["depth"]}
    assert growing == {"eagle3", "eagle2", "vispec", "hivis"}

    result = tmp_path / "bench.json"
    assert main([*options, "--json", str(result), "--widths", "3", "63"]) == 0
    said = capsys.readouterr()
    assert "no best setting" not in said.err
    saved = json.loads(result.read_text("utf-8"))
    by_name = {one["name"]: one for one in saved["drafters"]}
    expected = {name: [name, f"{name}-best"] for name in DRAFTING}
    expected["eagle3"].append("eagle3-chain")
    assert list(by_name) == [lane for lanes in expected.values() for lane in lanes]
    for name, preset in PAPER.items():
        own = by_name[name]
        assert (own["setting"], own["node_budget"]) == ("paper", preset.node_budget)
        assert (own["depth"], own["width"]) == (preset.depth, preset.width)
    for name in DRAFTING:
        own = by_name[f"{name}-best"]
        assert (own["drafter"], own["setting"]) == (name, "best")
        assert own["node_budget"] == presets[name]["node_budget"]
        assert own["depth"] == presets[name]["depth"]
    rows = {row["drafter"]: row for row in saved["rows"]}
    assert list(rows) == ["bare", PLAIN, "generate", *by_name, "oracle"]
    assert saved["mismatches"] == []
    assert rows["eagle3"]["nodes"] == 59.0
    assert rows["eagle3-chain"]["nodes"] == 4.0
    assert rows["vispec"]["nodes"] == 29.0
    assert [one["task"] for one in saved["matched"]] == ["docvqa", "pooled"]
    assert "tau of glance over that of eagle3-chain, 63 nodes at most" in said.out
    assert "the pooled ratio is 2.73" in said.out
    assert [one["budget"] for one in saved["widths"]] == [3, 63]


def test_the_best_setting_of_a_head_is_that_heads_alone(
    found: Path, tiny: Target, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    options = ["bench", "--n", "1", "--tasks", "docvqa", "--max-tokens", "3"]
    options += ["--drafters", "medusa"]
    assert main([*options, "--search"]) == 0
    kept = found.read_text("utf-8")

    other = MedusaHead(MedusaConfig(64, tiny.vocab_size, tiny.num_layers))
    write_medusa(other, tmp_path / "other")
    own = ["--head", f"medusa={tmp_path / 'other'}"]
    result = tmp_path / "result.json"
    capsys.readouterr()
    assert main([*options, *own, "--json", str(result)]) == 0
    assert "no best setting is known here of medusa: " in capsys.readouterr().err
    lanes = json.loads(result.read_text("utf-8"))["drafters"]
    assert [one["name"] for one in lanes] == ["medusa"]

    assert main([*options, *own, "--search", "--json", str(result)]) == 0
    assert "not kept in presets.json" in capsys.readouterr().err
    assert found.read_text("utf-8") == kept
    tried = json.loads(result.read_text("utf-8"))["tried"]["medusa"]
    assert {one["revision"] for one in tried} == {lanes[0]["revision"]}
    assert json.loads(kept)["presets"]["medusa"]["revision"] != lanes[0]["revision"]


@pytest.mark.usefixtures("heads")
def test_equal_node_budgets_and_a_grown_tree_beside_its_chain(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("os.getloadavg", lambda: (0.0, 0.0, 0.0))
    monkeypatch.setattr("glance.cli.bench.cores", lambda: 1)
    result = tmp_path / "bench.json"
    options = ["--n", "1", "--tasks", "docvqa", "--max-tokens", "4", "--json", str(result)]
    options += ["--drafters", "eagle3", "glance", "--budget", "70", "--widths", "2", "80"]
    assert main(["bench", *options]) == 0
    saved = json.loads(result.read_text("utf-8"))
    rows = {row["drafter"]: row for row in saved["rows"]}
    assert rows["eagle3"]["nodes"] == rows["glance"]["nodes"] == 70.0
    assert {one["setting"] for one in saved["drafters"]} == {"given"}
    assert [one["budget"] for one in saved["widths"]] == [2, 80]
    assert saved["matched"] == []
