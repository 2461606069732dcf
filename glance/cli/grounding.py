"""`eval grounding`: how often a token's place is where its glyph stands."""

from __future__ import annotations

from argparse import Namespace
from dataclasses import asdict
from pathlib import Path

from glance.cli.output import live, note, show_table, write_json
from glance.cli.target import named_target
from glance.hub import is_hub_id
from glance.localization import LocalizationError, save
from glance.trace import provenance


def run(options: Namespace) -> int:
    """Print the hit rate of all tokens, by task and by degradation; `--choose` picks the head."""
    if options.data or options.set or options.processes != 1:
        raise LocalizationError(
            "eval grounding reads generated pages in one process: leave out --set, --data and "
            "--processes."
        )
    if options.choose and is_hub_id(options.target):
        raise LocalizationError(
            f"A choice is kept beside the model: give --target a folder with {options.target}, not "
            "its name on the hub."
        )
    note("loading the model")
    from glance.documents.dataset import page
    from glance.hits import choose, hit_rates
    from glance.targets.load import EMBEDDED

    target = named_target(options)
    if options.choose:
        folder = EMBEDDED if options.target == "embedded" else Path(options.target)
        note(f"choosing a head on {options.choose} training pages")
        pages = (page("train", index) for index in range(options.choose))
        choice = choose(target, pages, lambda done: live(f"{done} of {options.choose}"))
        note(f"wrote {save(choice, folder, target.revision)}")
        target.localization = choice.head
    head = target.localization
    if head is None:
        raise LocalizationError(
            f"No head is chosen for the weights of {target.name} yet: add --choose 50."
        )
    note(f"reading {options.n} pages of the {options.split} split")
    pages = (page(options.split, index) for index in range(options.n))
    rates = hit_rates(target, head, pages, lambda done: live(f"{done} of {options.n}"))
    show_table(
        ("tokens of", "", "tokens", "hits %"),
        [(one.by, one.value, one.tokens, one.percent) for one in rates],
    )
    result = {
        "target": {"name": target.name, "revision": target.revision, "dtype": target.dtype_name},
        "head": head.to_json(),
        "split": options.split,
        "pages": options.n,
        "rates": [asdict(one) for one in rates],
        "provenance": provenance(),
    }
    write_json(options.json, result)
    return 0
