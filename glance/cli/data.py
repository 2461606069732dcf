"""`data`: a local copy of a public set, or a folder of one's own, as one file of questions."""

from __future__ import annotations

from argparse import Namespace

from glance.cli.output import note, show
from glance.documents.examples import write_examples
from glance.documents.public_sets import read_set


def run(options: Namespace) -> int:
    """Write the file and print its path."""
    examples = read_set(options.set, options.source, options.images)[: options.n]
    write_examples(examples, options.out)
    pictures = len({example.image for example in examples})
    note(f"{len(examples)} questions about {pictures} images")
    show(str(options.out))
    return 0
