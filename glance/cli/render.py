"""`render`: pages from the document generator, with all that is known about them."""

from __future__ import annotations

from argparse import Namespace

from glance.cli.output import live, show
from glance.documents.dataset import page
from glance.documents.page import save_sample


def run(options: Namespace) -> int:
    """Write NAME.png and NAME.json for each page and print the images' paths."""
    for index in range(options.seed, options.seed + options.n):
        drawn = page(options.split, index)
        name = f"{drawn.kind}-{drawn.split}-{drawn.index}"
        save_sample(drawn, options.out, name)
        live(f"{index - options.seed + 1} of {options.n} pages")
        show(str(options.out / f"{name}.png"))
    return 0
