"""`render`: pages from the document generator, with all that is known about them."""

from __future__ import annotations

from argparse import Namespace

from glance.cli.output import live, note, show
from glance.documents import mix
from glance.documents.dataset import page
from glance.documents.page import save_sample
from glance.documents.survey import Survey


def run(options: Namespace) -> int:
    """Write NAME.png and NAME.json for each page, print the images' paths, sum up the questions."""
    survey = Survey()
    for index in range(options.seed, options.seed + options.n):
        drawn = page(options.split, index)
        name = f"{drawn.kind}-{drawn.split}-{drawn.index}"
        save_sample(drawn, options.out, name)
        survey.add(drawn)
        live(f"{index - options.seed + 1} of {options.n} pages")
        show(str(options.out / f"{name}.png"))
    for task, questions, short, middle, long in survey.table():
        note(
            f"{task}: {questions} questions, {short:.0f}% of answers up to {mix.SHORT} tokens, "
            f"{middle:.0f}% middle, {long:.0f}% from {mix.LONG} tokens"
        )
    template, unanswerable = survey.shares()
    note(f"template tokens in grounded answers: {template:.1f}%")
    note(f"questions that the page does not answer: {unanswerable:.1f}%")
    return 0
