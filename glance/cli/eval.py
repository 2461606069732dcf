"""`eval target`: how well the target reads pages it never saw, generated or brought."""

from __future__ import annotations

from argparse import Namespace
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from glance.cli.output import Cell, live, note, show, show_table, write_json
from glance.cli.target import named_target
from glance.documents.examples import DataError, Example, by_image, read_examples
from glance.documents.intake import DocumentError
from glance.trace import provenance

if TYPE_CHECKING:
    from glance.documents.sets import Item
    from glance.scores import Report, Score


def run(options: Namespace) -> int:
    """Print exact answers and character error rates, a row a task, then a row a slice."""
    if options.data and (options.set or options.split):
        note("A data file is no set and has no splits: leave --set and --split away.")
        return 2
    options.split = options.split or "test"
    if options.what == "grounding":
        from glance.cli import grounding

        return grounding.run(options)
    if options.choose:
        note("A head is chosen for eval grounding only: leave out --choose.")
        return 2
    if options.processes > 1 and any(
        (options.data, options.dtype, options.device, options.max_pixels)
    ):
        note(
            "--processes reads sets in float32 on the CPU; for all else launch the processes: "
            "accelerate launch -m glance eval target."
        )
        return 2
    options.set = options.set or "test"
    from glance.together import joined, own_device

    with joined():
        options.device = options.device and own_device(options.device)
        return _evaluate(options)


def _evaluate(options: Namespace) -> int:
    from glance.documents.sets import count, item
    from glance.together import is_first, merged, share

    asked: list[tuple[Example, ...]] = []
    if options.data:  # refuse before a model loads
        asked = _answered(options.data)[: options.n]
    n = len(asked) or count(options.set, options.n, options.split)
    note("loading the model")
    from glance.evaluate import evaluate_in_processes, evaluate_target

    target = named_target(options)
    named = options.data or f"the {options.set} set"
    note(f"reading {n} of {named}")

    def progress(done: int) -> None:
        live(f"{done} of {n}")

    unread: list[Path] = []
    if asked:
        report = evaluate_target(target, _readable(share(asked), unread), progress)
        n -= len(merged(unread))
        if not n:
            raise DataError(f"No image of {options.data} can be read.")
    elif options.processes == 1:
        items = (item(options.set, i, options.split) for i in share(range(n)))
        report = evaluate_target(target, items, progress)
    else:
        report = evaluate_in_processes(
            options.target, options.set, n, options.split, options.processes, progress
        )
    if not is_first():
        return 0
    _show(report)
    result = {
        "target": {"name": target.name, "revision": target.revision, "dtype": target.dtype_name},
        "set": str(options.data) if options.data else options.set,
        "split": None if options.data else options.split,
        "items": n,
        **report.as_dict(),
        "provenance": provenance(),
    }
    write_json(options.json, result)
    return 0


def _readable(asked: Sequence[tuple[Example, ...]], unread: list[Path]) -> Iterator[Item]:
    """Images with their questions; those that cannot be read are told of and go into `unread`."""
    from glance.documents.sets import brought

    for some in asked:
        try:
            read = brought(some)
        except DocumentError as error:
            unread.append(some[0].image)
            note(f"{some[0].image.name} is left out: {error}")
        else:
            yield read


def _answered(file: Path) -> list[tuple[Example, ...]]:
    """The images of a data file with the questions that can be marked."""
    examples = read_examples(file)
    marked = [example for example in examples if example.answer]
    if not marked:
        raise DataError(f"{file} has no answers to mark by.")
    if len(marked) < len(examples):
        note(f"{len(examples) - len(marked)} questions have no answer to mark by and are left out")
    return by_image(marked)


def _show(report: Report) -> None:
    tasks: list[tuple[str, Score]] = list(report.tasks.items())
    if report.extraction:
        tasks.append(("all but transcribe and caption", report.extraction))
    show_table(
        ("task", "questions", "exact %", "CER %"),
        [(task, score.questions, 100 * score.exact, 100 * score.cer) for task, score in tasks],
    )
    if not report.slices:
        return
    show()
    heads = ("slice", "", "questions", "exact %", "transcriptions", "CER %")
    rows: list[list[Cell]] = []
    for one in report.slices:
        asked, read = one.extraction, one.transcription
        rows.append([one.by, one.value])
        rows[-1] += [asked.questions, 100 * asked.exact] if asked else [None, None]
        rows[-1] += [read.questions, 100 * read.cer] if read else [None, None]
    show_table(heads, rows)
