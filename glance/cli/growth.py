"""`growth`: what a round costs by context length and by node budget, as a table and a picture."""

from __future__ import annotations

from argparse import Namespace
from dataclasses import asdict

from glance.cli.output import note, show, show_table, write_json
from glance.cli.target import named_target
from glance.growth_picture import Plot, draw
from glance.machine import load
from glance.trace import provenance

NODES = (0, 3, 7, 15, 31, 63)
CONTEXTS = (512, 1024, 2048, 4000)  # tokens; the last is what still fits an embedded target
REPEATS = 25
HOLLOW = 32  # width of a model that has next to nothing to compute


def run(options: Namespace) -> int:
    """Time draft and verify passes on caches of every length, alternating; medians."""
    busy = load()
    note("loading the model")
    import torch

    from glance.drafters.load import load_drafter
    from glance.profiling import longest_context, measure_passes
    from glance.targets.embedded import build_model
    from glance.targets.load import make_target

    torch.set_num_threads(1)
    target = named_target(options)
    drafter = load_drafter("glance", target, options.head)
    contexts = [length for length in CONTEXTS if length <= longest_context(target)]
    note(f"{REPEATS} turns of {len(contexts) * (len(NODES) + 1)} passes")
    times = measure_passes(target, drafter, contexts, NODES, repeats=REPEATS)
    rows = list(zip(times.contexts, times.draft_ms, times.verify_ms, strict=True))
    show(f"ms by context length; a tree of N drafted tokens, medians of {REPEATS}")
    heads = ("tokens", "plain", "draft", *(f"N = {n}" for n in NODES[1:]))
    show_table(heads, [(tokens, tree[0], draft, *tree[1:]) for tokens, draft, tree in rows])
    calls_ms = None
    if options.target == "embedded":
        model = build_model(target.num_layers, HOLLOW)
        hollow = make_target("hollow", model, tokenizer=target.tokenizer)
        ((calls_ms,),) = measure_passes(hollow, None, (1,), (0,), repeats=REPEATS).verify_ms
        tokens, _, (plain, *_) = rows[0]
        show(
            f"Its calls alone, on as many layers of width {HOLLOW} and an empty cache, take "
            f"{calls_ms:.2f} ms: {calls_ms / plain:.0%} of a plain pass at {tokens} tokens."
        )
    if options.image:
        by_context = {
            ("plain pass" if n == 0 else f"N = {n}"): [
                (tokens, tree[at] + (draft if n else 0.0)) for tokens, draft, tree in rows
            ]
            for at, n in enumerate(NODES)
        }
        by_nodes = {
            f"{tokens:,} tokens": [
                (n, draft + ms) for n, ms in zip(NODES[1:], tree[1:], strict=True)
            ]
            for tokens, draft, tree in rows
        }
        plots = [
            Plot("A round, by context length", "tokens of context", by_context),
            Plot("A round, by node budget", "N, drafted tokens to verify", by_nodes),
        ]
        options.image.write_text(draw(plots, "ms, draft + build + verify"), encoding="utf-8")
        note(f"wrote {options.image}")
    write_json(
        options.json,
        {
            "target": {"name": target.name, "revision": target.revision},
            "load": busy,
            "repeats": REPEATS,
            **asdict(times),
            "calls_ms": calls_ms,
            "provenance": provenance(),
        },
    )
    return 0
