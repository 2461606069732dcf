"""The report of a bench: the block in the README and the picture."""

import json
import re
import subprocess
import sys
from copy import deepcopy
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import pytest

from glance.bench_rows import GROUNDED
from glance.cli.main import main
from glance.cli.report import PICTURE
from glance.drafters.load import NAMES
from glance.report import BEGIN, END, ReportError, block, rewrite
from glance.report_bars import COLOURS, draw

ROOT = Path(__file__).resolve().parents[2]
SVG = "{http://www.w3.org/2000/svg}"


def row(task: str, drafter: str, speedup: float | None, **changes: Any) -> dict[str, Any]:
    known = speedup is not None
    return {
        "task": task,
        "drafter": drafter,
        "n": 12,
        "tau": 4.714 if known else None,
        "chars_per_round": 4.5 if known else None,
        "target_passes": 1390 if known else None,
        "speedup": speedup,
        "speedup_ci": [speedup - 0.2, speedup + 0.2] if known else None,
        "speedup_e2e": 1.1 if known else None,
        **changes,
    }


@pytest.fixture
def bench() -> dict[str, Any]:
    drafted = {"glance": 1.5, "glance-chain": 1.25, "oracle": 6.0}
    mean = {"grounded_tau": 4.0, "grounded_speedup": 1.5, "grounded_speedup_ci": [1.4, 1.6]}
    mean["nodes"] = 14.5
    setting = {"setting": "given", "node_budget": 15}
    return {
        "target": {"dtype": "float32"},
        "drafters": [{"name": n, "drafter": n, **setting} for n in ("glance", "glance-chain")],
        "settings": {"n": 99, "split": "test", "data": None},  # n: the most that were wanted
        "load": 0.3,
        "rows": [
            one
            for task in (*GROUNDED, "caption")
            for one in (
                row(task, "ar", 1.0, target_passes=6500),
                *(row(task, name, speedup) for name, speedup in drafted.items()),
            )
        ],
        "means": [{"drafter": name, **mean} for name in drafted],
        "matched": [],
        "provenance": {"machine": {"cpu": "A Processor", "cores": 2}},
    }


def test_the_table_has_the_first_drafter_and_its_mean(bench: dict[str, Any]) -> None:
    text = block(bench, "docs/bench.svg")
    first, _picture, _rest = text.partition("![")
    lines = [line for line in first.splitlines() if line.startswith("|")]
    assert len(lines) == 2 + 5 + 1
    assert "node budget 15, 12 answers a task, pages of the test split, on" in text
    assert "| transcribe | 12 | 4.71 | 4.50 | 1,390, 6,500 | 1.50 (1.30 to 1.70) | 1.10 |" in lines
    assert lines[-1].startswith("| mean of transcribe, docvqa, infovqa, chartqa |  | 4.00 |")
    assert len({line.count("|") for line in lines}) == 1
    assert "](docs/bench.svg)" in text
    assert "2 cores of A Processor" in text
    assert "busy" not in text


def test_a_data_file_is_named_and_its_answers_are_counted(bench: dict[str, Any]) -> None:
    bench["settings"].update(split=None, data="/home/someone/own.jsonl")
    bench["rows"] = [{**one, "n": 3 if one["task"] == "caption" else 12} for one in bench["rows"]]
    text = block(bench, "x.svg")
    assert "node budget 15, 3 to 12 answers a task, questions of `own.jsonl`, on 2" in text
    assert "someone" not in text
    assert "None" not in text


def test_all_lanes_stand_beside_the_papers_figures(bench: dict[str, Any]) -> None:
    lane = {"drafter": "glance", "setting": "best", "node_budget": "auto"}
    bench["drafters"].append({**lane, "name": "glance-best"})
    bench["rows"] += [row(task, "glance-best", 2.0, tau=5.0) for task in ("docvqa", "caption")]
    text = block(bench, "x.svg")
    assert "node budget auto" in text  # the best setting is what is shown first
    assert "arxiv.org/abs/2609.00355" in text
    _, _, after = text.partition("](x.svg)")
    heads, _, *lines = [line for line in after.splitlines() if line.startswith("|")]
    assert heads == "| lane | nodes | caption | textvqa | infovqa | docvqa | chartqa |"
    assert lines == [
        "| `glance` | 14.50 | 4.71 (3.09) | – (3.46) | 4.71 (3.75) | 4.71 (3.76) | 4.71 (5.12) |",
        "| `glance-chain` | 14.50 | 4.71 | – | 4.71 | 4.71 | 4.71 |",
        "| `glance-best` | – | 5.00 | – | – | 5.00 | – |",
    ]


def test_the_matched_comparison_stands_beside_the_papers(bench: dict[str, Any]) -> None:
    assert "matched" not in block(bench, "x.svg")
    pair = {"glance": 4.0, "eagle3_chain": 2.0, "ratio": 2.0, "ci": [1.9, 2.1]}
    bench["matched"] = [{"task": task, **pair} for task in ("caption", "transcribe", "pooled")]
    lines = block(bench, "x.svg").splitlines()
    assert lines[-3:] == [
        "| caption | 4.00 | 2.00 | 2.00 (1.90 to 2.10) | 2.50 (4.05 over 1.62) |",
        "| transcribe | 4.00 | 2.00 | 2.00 (1.90 to 2.10) | – |",
        "| pooled | 4.00 | 2.00 | 2.00 (1.90 to 2.10) | 2.73 (4.37 over 1.60) |",
    ]


def test_a_drafter_has_one_bar_a_task_and_every_drafter_a_colour(bench: dict[str, Any]) -> None:
    names = [name for name in NAMES if name != "ar"]
    bench["drafters"] = [
        {"name": name + end, "drafter": name, "setting": setting, "node_budget": 15}
        for name in names
        for end, setting in (("", "paper"), ("-best", "best"))
    ]
    bench["rows"] = [
        row("caption", one["name"], 1.5 if one["setting"] == "best" else 9.0)
        for one in bench["drafters"]
    ]
    bench["means"] = []
    root = ElementTree.fromstring(draw(bench))
    width = float(root.attrib["viewBox"].split()[2])
    rects = [r for r in root.findall(f"{SVG}rect") if r.attrib["fill"] != "#ffffff"]
    squares = [r for r in rects if r.attrib["width"] == r.attrib["height"] == "12"]
    assert len({square.attrib["fill"] for square in squares}) == len(names)
    assert len(rects) == 2 * len(names)  # a square and a bar each
    assert max(float(square.attrib["y"]) for square in squares) + 12 < min(
        float(bar.attrib["y"]) for bar in rects if bar not in squares
    )
    texts = root.findall(f"{SVG}text")
    assert {f"{name}-best" for name in names} <= {text.text for text in texts}
    assert all(0 < float(text.attrib["x"]) < width for text in texts)


def test_a_busy_machine_is_named(bench: dict[str, Any]) -> None:
    assert "(load 4.1)" in block({**bench, "load": 4.06}, "x.svg")
    assert "busy" not in block({**bench, "load": None}, "x.svg")


def test_a_row_without_figures_has_dashes(bench: dict[str, Any]) -> None:
    bench["rows"][1] = row("transcribe", "glance", None)
    bench["means"] = []
    text = block(bench, "x.svg")
    assert "| transcribe | 12 | – | – | –, 6,500 | – | – |" in text
    assert "mean of" not in text
    assert "another answer" in draw(bench)


def test_only_what_stands_between_the_markers_changes() -> None:
    page = f"before\n{BEGIN}\nold\n{END}\nafter\n"
    once = rewrite(page, "new")
    assert once == f"before\n{BEGIN}\nnew\n{END}\nafter\n"
    assert rewrite(once, "new") == once


@pytest.mark.parametrize(
    "page", ["", BEGIN, END, f"{END}{BEGIN}", f"{BEGIN}{BEGIN}{END}", f"{BEGIN}{END}{END}"]
)
def test_a_page_without_clear_markers_is_left_alone(page: str) -> None:
    with pytest.raises(ReportError, match="once each"):
        rewrite(page, "new")


def test_the_readme_has_the_markers() -> None:
    assert "new" in rewrite((ROOT / "README.md").read_text("utf-8"), "new")


def test_the_readme_says_what_the_shipped_bench_measured() -> None:
    """And so does the picture: `report assets/results/bench.json` would change neither."""
    shipped = json.loads((ROOT / "assets" / "results" / "bench.json").read_text("utf-8"))
    page = (ROOT / "README.md").read_text("utf-8")
    assert rewrite(page, block(shipped, PICTURE)) == page
    assert (ROOT / PICTURE).read_text("utf-8") == draw(shipped)


def test_bars_whiskers_and_values(bench: dict[str, Any]) -> None:
    root = ElementTree.fromstring(draw(bench))
    width, height = map(float, root.attrib["viewBox"].split()[2:])
    ground, *rects = root.findall(f"{SVG}rect")
    assert ground.attrib["fill"] == "#ffffff"
    assert (float(ground.attrib["width"]), float(ground.attrib["height"])) == (width, height)
    for place, (colour, speedup) in enumerate(zip(COLOURS, (1.5, 1.25), strict=False)):
        own = [r for r in rects if r.attrib["fill"] == colour and float(r.attrib["width"]) > 12]
        assert len(own) == 6  # five tasks and the mean
        scale = float(own[0].attrib["width"]) / speedup
        whiskers = [
            list(map(float, re.findall(r"M([\d.]+),[\d.]+H([\d.]+)", path.attrib["d"])[0]))
            for path in root.findall(f"{SVG}path")
            if "H" in path.attrib["d"] and path.attrib["stroke"] != "#ffffff"
        ]
        low, high = whiskers[place]
        assert high - low == pytest.approx(0.4 * scale, abs=0.3)
    texts = [text.text or "" for text in root.findall(f"{SVG}text")]
    assert texts.count("1.25 (1.05 to 1.45)") == 5
    assert {"transcribe", "caption", "grounded", "glance", "glance-chain", "1×"} <= set(texts)
    for text in root.findall(f"{SVG}text"):
        assert 0 < float(text.attrib["x"]) < width
        assert 0 < float(text.attrib["y"]) < height


def test_names_cannot_break_the_picture(bench: dict[str, Any]) -> None:
    bench["drafters"] = [{"name": "a<b&c", "drafter": "a", "setting": "paper"}]
    bench["rows"] = [row("transcribe", "ar", 1.0), row("transcribe", "a<b&c", 2.0)]
    ElementTree.fromstring(draw(bench))


def test_the_command_writes_both_files(
    bench: dict[str, Any], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("glance.cli.report.ROOT", tmp_path)
    (tmp_path / "docs").mkdir()
    (tmp_path / "README.md").write_text(f"# Title\n{BEGIN}\n{END}\n")
    (tmp_path / "bench.json").write_text(json.dumps(bench))
    assert main(["report", str(tmp_path / "bench.json")]) == 0
    assert "| caption | 12 |" in (tmp_path / "README.md").read_text("utf-8")
    assert (tmp_path / "docs" / "bench.svg").read_text("utf-8") == draw(bench)


@pytest.mark.parametrize("damage", ["text", "list", "field", "drafters", "rows"])
def test_what_is_no_bench_changes_nothing(
    damage: str,
    bench: dict[str, Any],
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    monkeypatch.setattr("glance.cli.report.ROOT", tmp_path)
    page = f"{BEGIN}\nold\n{END}\n"
    (tmp_path / "README.md").write_text(page)
    wrong = deepcopy(bench)
    if damage == "field":
        del wrong["rows"][1]["chars_per_round"]
    wrong["rows"] = [] if damage == "rows" else wrong["rows"]
    wrong["drafters"] = [] if damage == "drafters" else wrong["drafters"]
    text = {"text": "no JSON", "list": "[1]"}.get(damage, json.dumps(wrong))
    (tmp_path / "bench.json").write_text(text)
    assert main(["report", str(tmp_path / "bench.json")]) == 2
    said = capsys.readouterr().err
    assert "bench" in said
    assert said.count("\n") == 1
    assert (tmp_path / "README.md").read_text() == page


def test_a_report_needs_no_torch() -> None:
    code = "import sys, glance.cli.report; sys.exit('torch' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", code], cwd=ROOT, check=False).returncode == 0
