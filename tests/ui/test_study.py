"""The study's tab: sections from the JSON that bench, law and probe write."""

from __future__ import annotations

import json
from dataclasses import asdict
from xml.etree import ElementTree

import pytest

from app.handlers import study_of
from app.views import study
from glance.cli.main import main
from glance.probes import NAMES as PROBES
from glance.probes.outcome import Estimate, above
from glance.trace import dumps
from tests.ui.toy_trace import toy_trace

BENCH = {
    "target": {"dtype": "float32"},
    "drafters": [
        {"name": "glance", "drafter": "glance", "setting": "given", "node_budget": 15},
    ],
    "settings": {"n": 12, "split": "test", "data": None},
    "load": 0.3,
    "rows": [
        {
            "task": "transcribe",
            "drafter": name,
            "n": 12,
            "tau": 4.714,
            "chars_per_round": 4.5,
            "target_passes": passes,
            "speedup": speedup,
            "speedup_ci": [speedup - 0.1, speedup + 0.1],
            "speedup_e2e": 1.1,
        }
        for name, passes, speedup in (("ar", 6500, 1.0), ("glance", 1390, 1.5))
    ],
    "means": [
        {
            "drafter": "glance",
            "tau": 4.714,
            "nodes": 14.5,
            "speedup": 1.5,
            "speedup_ci": [1.4, 1.6],
            "speedup_e2e": 1.1,
            "grounded_tau": None,
            "grounded_speedup": None,
            "grounded_speedup_ci": None,
        }
    ],
    "provenance": {"machine": {"cpu": "Toy CPU", "cores": 2}},
}


def test_an_absent_file_leaves_one_sentence_that_names_the_command(tmp_path):
    bench, law, probes = study(tmp_path)
    for section in (bench, law, probes):
        assert section["words"].startswith("Not m")
        assert section["words"].endswith(".")
        assert section["tables"] == []
    assert "python -m glance bench --json assets/results/bench.json" in bench["words"]
    assert "python -m glance law" in law["words"]
    assert all(name in probes["words"] for name in PROBES)


def test_a_bench_shows_its_picture_and_its_tables(tmp_path):
    (tmp_path / "bench.json").write_text(json.dumps(BENCH), encoding="utf-8")
    bench, *_ = study(tmp_path)
    assert "12 answers a task" in bench["words"]
    assert "`" not in bench["words"]
    ElementTree.fromstring(bench["picture"])
    tasks, lanes = bench["tables"]
    assert tasks["rows"][0][:3] == ["transcribe", "12", "4.71"]
    assert lanes["rows"] == [["glance", "4.71", "14.50", "1.50 (1.40 to 1.60)", "1.10"]]
    assert len(lanes["heads"]) == len(lanes["rows"][0])


@pytest.mark.parametrize("drawn", [True, False])
def test_a_law_shows_its_groups_and_its_curve_if_it_was_fitted(tmp_path, drawn):
    path = tmp_path / "toy.jsonl"
    text = "The total is 48.20 EUR in all.\n" * (17 if drawn else 2)
    path.write_text("".join(dumps(line) + "\n" for line in toy_trace(text=text)), encoding="utf-8")
    assert main(["law", str(path), "--json", str(tmp_path / "law.json")]) == 0
    _, law, _ = study(tmp_path)
    assert "toy 00000000 with glance" in law["words"]
    [pooled] = [row for row in law["tables"][0]["rows"] if row[0] == "pooled"]
    assert (int(pooled[1]) >= 30) is drawn
    assert bool(law["picture"]) is drawn
    assert (pooled[3] != "–") is drawn
    if drawn:
        ElementTree.fromstring(law["picture"])


def test_a_probe_shows_its_claims_and_the_others_are_named(tmp_path):
    finding = above("rounds accept more", "difference", Estimate(0.5, (0.2, 0.8)))
    result = {"stated": "budget: is it so?\n\nMore words.", "findings": [asdict(finding)]}
    (tmp_path / "probe-budget.json").write_text(json.dumps(result), encoding="utf-8")
    *_, budget, left = study(tmp_path)
    assert budget["title"] == "Probe: budget"
    assert budget["words"] == "budget: is it so?"
    claim = ["rounds accept more", "difference", "0.50 (0.20 to 0.80)", "holds"]
    assert budget["tables"][0]["rows"] == [claim]
    names = left["words"].removeprefix("Not made yet: ").split(";")[0].split(", ")
    assert names == [name for name in PROBES if name != "budget"]


@pytest.mark.parametrize("text", ["", "[]", "{}", '{"groups": {"pooled": 3}}', '{"rows": 1}'])
def test_a_file_of_no_use_is_one_sentence(tmp_path, text):
    for name in ("bench", "law", f"probe-{PROBES[0]}"):
        (tmp_path / f"{name}.json").write_text(text, encoding="utf-8")
    bench, law, probe, _ = study(tmp_path)
    for section in (bench, law, probe):
        assert "cannot be used" in section["words"]
        assert section["picture"] is None


def test_the_page_gets_it_as_json():
    assert {"title", "words", "picture", "tables"} == set(json.loads(study_of())[0])
