"""`eval`: how well the target reads pages of the generator that no training run has drawn."""

from __future__ import annotations

from argparse import Namespace

from glance.cli.output import live, note, show_table, write_json
from glance.trace import provenance


def run(options: Namespace) -> int:
    """Print exact answers and the character error rate, one row a task."""
    note("loading the model")
    from glance.evaluate import evaluate_target
    from glance.targets.load import load_target

    target = load_target(options.target)
    note(f"reading {options.n} pages of the {options.split} split")
    scores = evaluate_target(
        target,
        options.split,
        options.n,
        progress=lambda done, of: live(f"{done} of {of} pages"),
    )
    show_table(
        ("task", "questions", "exact %", "CER %"),
        [(score.task, score.questions, 100 * score.exact, 100 * score.cer) for score in scores],
    )
    result = {
        "target": {"name": target.name, "revision": target.revision},
        "split": options.split,
        "pages": options.n,
        "tasks": [score.as_dict() for score in scores],
        "provenance": provenance(),
    }
    write_json(options.json, result)
    return 0
