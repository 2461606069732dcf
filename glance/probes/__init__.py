"""Probes: experiments that test what the GLANCE paper claims. One module each; no torch here.

A module's docstring says before anything runs what is claimed and what would refute it, and is
what the command prints first. `run(setup)` does the experiment.
"""

NAMES = (
    "mismatched-image",
    "text-only-states",
    "text-only-prompts",
    "zeroed-states",
    "copy-runs",
    "retrain-ocr",
    "boundary",
    "block-size",
    "budget",
    "ngram-page-oracle",
)
