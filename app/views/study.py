"""What was measured over many pages: bench, entropy law and probes, from their JSON files.

Plain text and numbers in tables, and the pictures that the command line draws from the same files.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

from glance import law_picture, report, report_bars
from glance.law import Law
from glance.law_checks import Bin
from glance.law_rounds import POOLED
from glance.markdown import figure, with_interval
from glance.probes import NAMES as PROBES
from glance.trace import DAMAGE

RESULTS = Path(__file__).parents[2] / "assets" / "results"

Section = dict[str, Any]


def study(folder: Path = RESULTS) -> list[Section]:
    """Sections of {title, words, picture (SVG or None), tables [{heads, rows}]}.

    A file that is absent or of no use leaves its section with one sentence that says so.
    """
    bench = "python -m glance bench --json assets/results/bench.json"
    law = (
        "python -m glance record --out runs/traces and then "
        "python -m glance law runs/traces --json assets/results/law.json"
    )
    return [
        _section("Bench", folder / "bench.json", bench, _bench),
        _section("Entropy law", folder / "law.json", law, _law),
        *_probes(folder),
    ]


def _section(
    title: str, path: Path, command: str, read: Callable[[dict[str, Any]], Section]
) -> Section:
    bare: Section = {"title": title, "picture": None, "tables": []}
    if not path.exists():
        return {**bare, "words": f"Not measured yet: {command} makes this."}
    try:
        return {**bare, **read(json.loads(path.read_text(encoding="utf-8")))}
    except (OSError, *DAMAGE):
        return {**bare, "words": f"{path.name} cannot be used: {command} makes it anew."}


def _bench(bench: dict[str, Any]) -> Section:
    means = [
        [
            mean["drafter"],
            figure(mean["tau"]),
            figure(mean["nodes"]),
            with_interval(mean["speedup"], mean["speedup_ci"]),
            figure(mean["speedup_e2e"]),
        ]
        for mean in bench["means"]
    ]
    heads = ("drafter, over all tasks", "τ", "nodes a round", "decode speed-up (95%)", "end to end")
    return {
        "words": report.conditions(bench).replace("`", ""),
        "picture": report_bars.draw(bench),
        "tables": [_table(report.HEADS, report.task_rows(bench)), _table(heads, means)],
    }


def _law(result: dict[str, Any]) -> Section:
    pooled = result["groups"][POOLED]
    picture = None
    if pooled["law"] and pooled["deciles"]:
        deciles = [Bin(**one) for one in pooled["deciles"]]
        title = f"Accepted drafted tokens by the target's entropy, {pooled['rounds']:,} rounds"
        picture = law_picture.draw(Law(**pooled["law"]), deciles, result["block"], title)
    rows = []
    for name, one in result["groups"].items():
        law = one["law"] or {"b0": None, "b1": None}
        holds = {True: "yes", False: "no", None: figure(None)}[one["holds"]]
        slope = with_interval(law["b1"], one["b1_ci"])
        mean = figure(one["mean_accepted"])
        rows.append([name, f"{one['rounds']:,}", mean, figure(law["b0"]), slope, holds])
    heads = ("group", "rounds", "accepted a round", "b0", "b1 (95%)", "holds")
    words = f"logit p = b0 - b1 H, with H in nats at the root token; {result['made_by']}."
    return {"words": words, "picture": picture, "tables": [_table(heads, rows)]}


def _probes(folder: Path) -> list[Section]:
    command = "python -m glance probe {} --json assets/results/probe-{}.json"
    found = [name for name in PROBES if (folder / f"probe-{name}.json").exists()]
    sections = [
        _section(
            f"Probe: {name}", folder / f"probe-{name}.json", command.format(name, name), _probe
        )
        for name in found
    ]
    left = [name for name in PROBES if name not in found]
    if left:
        words = f"Not made yet: {', '.join(left)}; {command.format('NAME', 'NAME')} makes one."
        sections.append({"title": "Probes", "words": words, "picture": None, "tables": []})
    return sections


def _probe(result: dict[str, Any]) -> Section:
    rows = []
    for finding in result["findings"]:
        estimate = finding["estimate"] or {"value": None, "ci": None}
        value = with_interval(estimate["value"], estimate["ci"])
        rows.append([finding["claim"], finding["figure"], value, finding["verdict"]])
    # the docstring's first paragraph says what is claimed
    words = " ".join(result["stated"].split("\n\n")[0].split())
    return {
        "words": words,
        "tables": [_table(("claim", "measured", "value (95%)", "verdict"), rows)],
    }


def _table(heads: tuple[str, ...], rows: list[list[str]]) -> dict[str, Any]:
    return {"heads": list(heads), "rows": rows}
