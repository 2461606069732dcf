"""What a bench measured, for people: tables in Markdown from its JSON. No torch.

The first has the first drafter of the bench and ends with the mean over the grounded tasks where
that was measured; all drafters follow, beside the paper's figures.
"""

from __future__ import annotations

from pathlib import PurePath
from typing import Any

from glance import report_paper
from glance.bench_rows import GROUNDED
from glance.drafters.load import PLAIN
from glance.machine import BUSY
from glance.markdown import figure, table, with_interval

BEGIN, END = "<!-- bench -->", "<!-- /bench -->"
MEAN = "mean of " + ", ".join(GROUNDED)
HEADS = (
    "task",
    "answers",
    "τ",
    "characters a round",
    "target passes, AR's",
    "decode speed-up (95%)",
    "end to end",
)


class ReportError(ValueError):
    """There is nothing to report, or no place for it; the message is one plain sentence."""


def block(bench: dict[str, Any], image: str) -> str:
    """The Markdown that stands between the markers, picture and measuring conditions included.

    Args:
        bench: what `bench --json` wrote.
        image: path of the picture, as a link from the page.

    Raises:
        ReportError: nothing was drafted.
        KeyError: a field is missing.
    """
    rows = task_rows(bench)
    picture = f"![Decode speed-up over plain decoding, by task]({image})"
    lines = [conditions(bench), "", *table(HEADS, rows), "", picture, ""]
    return "\n".join([*lines, *report_paper.lines(bench)])


def task_rows(bench: dict[str, Any]) -> list[list[str]]:
    """Cells below HEADS: the first drafter task by task, and its means where they were measured.

    Raises:
        ReportError: nothing was drafted.
        KeyError: a field is missing.
    """
    name = shown_lanes(bench)[0]
    rows = [_cells(row, bench) for row in bench["rows"] if row["drafter"] == name]
    return rows + [_mean_cells(mean) for mean in grounded_means(bench, name)]


def rewrite(page: str, text: str) -> str:
    """The page with `text` between its markers, in place of what stood there.

    Raises:
        ReportError: the markers are not there, once each and in order.
    """
    before, begin, rest = page.partition(BEGIN)
    _, end, after = rest.partition(END)
    if not (begin and end) or BEGIN in rest or END in before + after:
        raise ReportError(f"The page must have {BEGIN} and, after it, {END}, once each.")
    return f"{before}{BEGIN}\n{text}\n{END}{after}"


def shown_lanes(bench: dict[str, Any]) -> list[str]:
    """A lane of each drafter, in order: that of its best setting, or the first there is.

    Raises:
        ReportError: there are none.
    """
    shown: dict[str, str] = {}
    for one in bench["drafters"]:
        if one["drafter"] not in shown or one["setting"] == "best":
            shown[one["drafter"]] = one["name"]
    if not shown:
        raise ReportError("The bench measured no drafter, so there is nothing to report.")
    return list(shown.values())


def grounded_means(bench: dict[str, Any], name: str) -> list[dict[str, Any]]:
    """The lane's means, if they have figures for the grounded tasks."""
    return [
        mean
        for mean in bench["means"]
        if mean["drafter"] == name and mean["grounded_speedup"] is not None
    ]


def conditions(bench: dict[str, Any]) -> str:
    """How it was measured, in two sentences of Markdown."""
    name = shown_lanes(bench)[0]
    settings, machine = bench["settings"], bench["provenance"]["machine"]
    load = bench["load"]
    budget = next(one["node_budget"] for one in bench["drafters"] if one["name"] == name)
    busy = f", busy with other work (load {load:.1f})" if load is not None and load > BUSY else ""
    counts = sorted(row["n"] for row in bench["rows"] if row["drafter"] == name)
    answers = " to ".join(map(str, dict.fromkeys((counts[0], counts[-1]))))  # a task may have few
    data = settings["data"]  # its path is that of a machine, of no use to others
    asked = (
        f"questions of `{PurePath(data).name}`"
        if data
        else f"pages of the {settings['split']} split"
    )
    return (
        f"`{name}` beside plain decoding (AR), {bench['target']['dtype']}, node budget "
        f"{budget}, {answers} answers a task, {asked}, "
        f"on {machine['cores']} cores of {machine['cpu']}{busy}. "
        "Speed-ups are over the faster of AR and the model's own `generate()`."
    )


def _cells(row: dict[str, Any], bench: dict[str, Any]) -> list[str]:
    plain = next(
        one for one in bench["rows"] if one["task"] == row["task"] and one["drafter"] == PLAIN
    )
    passes = f"{_count(row['target_passes'])}, {_count(plain['target_passes'])}"
    return [
        row["task"],
        str(row["n"]),
        figure(row["tau"]),
        figure(row["chars_per_round"]),
        passes,
        with_interval(row["speedup"], row["speedup_ci"]),
        figure(row["speedup_e2e"]),
    ]


def _mean_cells(mean: dict[str, Any]) -> list[str]:
    speedup = with_interval(mean["grounded_speedup"], mean["grounded_speedup_ci"])
    return [MEAN, "", figure(mean["grounded_tau"]), "", "", speedup, ""]


def _count(value: int | None) -> str:
    return "–" if value is None else f"{value:,}"
