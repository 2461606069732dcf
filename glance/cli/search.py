"""`bench --search`: the best node budget and depth of every drafter.

Those of the shipped target and heads, in float32 on a CPU, are kept for `bench`.
"""

from __future__ import annotations

from argparse import Namespace
from dataclasses import asdict
from functools import partial
from typing import TYPE_CHECKING

from glance.cli.contenders import load_shaped
from glance.cli.decoding import drafter_names
from glance.cli.output import live, note, show, show_table, write_json
from glance.cli.target import named_target
from glance.config import MOST_NODES, DecodeConfig
from glance.drafters.load import NAMES, PLAIN
from glance.trace import provenance

if TYPE_CHECKING:
    from glance.targets.base import Target
    from glance.types import Prompt

HEADS = ("drafter", "node budget", "depth", "tau", "nodes", "tok/s")


def run(options: Namespace, busy: float | None) -> int:
    """Print the best setting of every drafter; what ships keeps them in one file, written anew."""
    names = [name for name in drafter_names(options) if name in NAMES and name != PLAIN]
    if not names:
        note(f"--search needs a drafter beside {PLAIN}.")
        return 2
    note("loading the model")
    from glance.bench_search import FOUND, SPLIT, Tried, best, described, search, write_found
    from glance.profiling import measure_costs

    target = named_target(options)
    asked = _asked(target, options, SPLIT)
    load = partial(load_shaped, nodes=MOST_NODES, target=target, options=options)
    tried: dict[str, list[Tried]] = {}
    for name in names:
        note(f"trying settings of {name}")
        tried[name] = list(search(target, name, load, asked, partial(measure_costs, target)))
    found = [best(own) for own in tried.values()]
    rows = [
        [
            one.preset.drafter,
            one.preset.node_budget,
            one.preset.depth,
            one.tau,
            one.nodes,
            one.tokens_s,
        ]
        for one in found
    ]
    show_table(HEADS, rows)
    show("nodes: verified a round; tok/s: by rounds replayed and the costs of this machine")
    about = {
        "target": described(target),
        "split": SPLIT,
        "tasks": list(dict.fromkeys(options.tasks)),
        "n": options.n,
        "max_new_tokens": options.max_tokens,
        "load": busy,
        "provenance": provenance(),
    }
    if _ships(target, options):
        write_found(FOUND, found, about)
        note(f"wrote {FOUND}")
    else:
        note(
            f"not kept in {FOUND.name}, which is for the shipped target and heads in float32 on a "
            "CPU: --json keeps it"
        )
    everything = {name: [asdict(one) for one in own] for name, own in tried.items()}
    write_json(options.json, {**about, "tried": everything})
    return 0


def _ships(target: Target, options: Namespace) -> bool:
    """Whether what ran is what ships, as a CPU runs it."""
    kind = (target.device.type, target.dtype_name)
    return options.target == "embedded" and not options.head and kind == ("cpu", "float32")


def _asked(target: Target, options: Namespace, split: str) -> list[tuple[Prompt, tuple[int, ...]]]:
    """Prompts of every task, and what plain decoding answers."""
    from glance.bench import questions
    from glance.decode import Decoder

    plain = Decoder(target, None, DecodeConfig(max_new_tokens=options.max_tokens))
    asked = []
    for task in dict.fromkeys(options.tasks):
        for number, prompt in enumerate(questions(target, task, options.n, split), start=1):
            live(f"{task}: answer {number} of {options.n}")
            asked.append((prompt, plain.generate(prompt).ids))
    return asked
