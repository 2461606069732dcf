"""`eval target`: how well the target reads pages that no training run has drawn."""

from __future__ import annotations

from argparse import Namespace
from typing import TYPE_CHECKING

from glance.cli.output import Cell, live, note, show, show_table, write_json
from glance.trace import provenance

if TYPE_CHECKING:
    from glance.scores import Report, Score


def run(options: Namespace) -> int:
    """Print exact answers and character error rates, a row a task, then a row a slice."""
    if options.what == "grounding":
        from glance.cli import grounding

        return grounding.run(options)
    if options.choose:
        note("A head is chosen for eval grounding only: leave out --choose.")
        return 2
    from glance.documents.sets import count, exam

    n = count(options.set, options.n, options.split)  # refuse before a model loads
    note("loading the model")
    from glance.evaluate import evaluate_in_processes, evaluate_target
    from glance.targets.load import load_target

    target = load_target(options.target)
    note(f"reading {n} of the {options.set} set")

    def progress(done: int) -> None:
        live(f"{done} of {n}")

    if options.processes == 1:
        report = evaluate_target(target, exam(options.set, n, options.split), progress)
    else:
        report = evaluate_in_processes(
            options.target, options.set, n, options.split, options.processes, progress
        )
    _show(report)
    result = {
        "target": {"name": target.name, "revision": target.revision},
        "set": options.set,
        "split": options.split,
        "items": n,
        **report.as_dict(),
        "provenance": provenance(),
    }
    write_json(options.json, result)
    return 0


def _show(report: Report) -> None:
    tasks: list[tuple[str, Score]] = list(report.tasks.items())
    if report.extraction:
        tasks.append(("all but transcribe and caption", report.extraction))
    show_table(
        ("task", "questions", "exact %", "CER %"),
        [(task, score.questions, 100 * score.exact, 100 * score.cer) for task, score in tasks],
    )
    show()
    heads = ("slice", "", "questions", "exact %", "transcriptions", "CER %")
    rows: list[list[Cell]] = []
    for one in report.slices:
        asked, read = one.extraction, one.transcription
        rows.append([one.by, one.value])
        rows[-1] += [asked.questions, 100 * asked.exact] if asked else [None, None]
        rows[-1] += [read.questions, 100 * read.cer] if read else [None, None]
    show_table(heads, rows)
