"""`ask`: a question about a page or two, and follow-ups to it, in one lane or several."""

from __future__ import annotations

from argparse import Namespace
from collections.abc import Iterable
from contextlib import nullcontext
from typing import TextIO

from glance.budget import costs_of, recorded_costs
from glance.cli.decoding import decode_config, load_named, measured_costs
from glance.cli.output import live, note, show, write_json
from glance.cli.run import show_run, summary
from glance.cli.target import named_target
from glance.config import AUTO
from glance.documents.intake import check_question, load_pages
from glance.drafters.load import PLAIN
from glance.drafters.presets import shape_for
from glance.prefix_cache import PrefixCache
from glance.replay import lanes
from glance.trace import Line, dumps, read_trace


def run(options: Namespace) -> int:
    """Answer every question, keep the last one's trace, print the lanes' totals of each.

    1 if two lanes gave different answers that rounding does not explain.
    """
    documents = load_pages(options.image, options.page or [1], crop=options.crop)
    questions = [check_question(each) for each in (options.question, *(options.then or ()))]
    recorded = recorded_costs(read_trace(options.profile)) if options.profile else {}
    if recorded:
        options.budget = AUTO
    trace = options.trace
    with trace.open("w", encoding="utf-8") if trace else nullcontext() as file:
        note("loading the model")
        from glance.ask import ask, warm_up

        target = named_target(options)
        names = dict.fromkeys(options.drafter or ["glance", PLAIN])  # each lane once, in this order
        drafters = [
            load_named(name, target, options, shape_for(name, options.budget)) for name in names
        ]
        warm_up(target, drafters)
        if recorded:
            costs = {each.name: costs_of(recorded, each.name) for each in drafters if each}
        else:
            costs = measured_costs(options, target, drafters)
        config = decode_config(options, costs)
        history: list[tuple[str, str]] = []
        differs = False
        prefixes = PrefixCache() if len(questions) > 1 else None
        for question in questions:
            last = len(history) + 1 == len(questions)
            stream = ask(
                target,
                drafters,
                documents,
                question,
                config,
                history=history,
                prefixes=prefixes,
                costs=costs,
            )
            lines = _followed(stream, file if last else None)
            compared = [line["state"] for line in lines if line["kind"] == "compare"]
            differs |= "mismatch" in compared
            history.append((question, next(iter(lanes(lines).values())).text))
            if not last:
                show_run(lines)
                show()
    if trace:
        note(f"wrote {trace}")
    show_run(lines)
    write_json(options.json, summary(lines))
    return 1 if differs else 0


def _followed(stream: Iterable[Line], file: TextIO | None) -> list[Line]:
    """The lines of a run, written and told of as they come."""
    lines: list[Line] = []
    tokens = 0
    for line in stream:
        lines.append(line)
        if file:
            file.write(dumps(line) + "\n")
            file.flush()  # a run that is stopped leaves what it did
        if line["kind"] == "header":
            note(_reading(line))
        if line["kind"] == "notice":
            note(line["text"])
        if line["kind"] == "prefill":
            tokens = 1
        if line["kind"] == "commit":
            tokens += len(line["tokens"])
            live(f"{line['lane']}: round {line['r']}, {tokens} tokens")
    return lines


def _reading(header: Line) -> str:
    """How the model reads the pages."""
    images = [header[key] for key in ("image", "second_image") if key in header]
    pages = [
        f"page {image['page']} ({image['kind']}, {image['mode']}) read at "
        f"{image['processed'][0]} x {image['processed'][1]}"
        + (f", text about {image['text_px']} px tall" if image["text_px"] else "")
        for image in images
    ]
    return "; ".join([*pages, f"{header['prompt']['image_tokens']} visual tokens"])
