"""`record`: traces of a drafter on generated pages, for `law` and `replay`."""

from __future__ import annotations

from argparse import Namespace

from glance.cli.decoding import decode_config, measured_costs
from glance.cli.output import live, note
from glance.cli.target import named_target
from glance.drafters.presets import shape_for


def run(options: Namespace) -> int:
    """Write one trace a question into a folder."""
    options.out.mkdir(parents=True, exist_ok=True)
    note("loading the model")
    from glance.ask import warm_up
    from glance.drafters.load import load_drafter
    from glance.record import record

    target = named_target(options)
    shape = shape_for(options.drafter, options.budget)
    drafter = load_drafter(options.drafter, target, options.head, shape)
    assert drafter is not None  # the parser leaves plain decoding out
    warm_up(target, [drafter])
    config = decode_config(options, measured_costs(options, target, [drafter]))
    tasks = list(dict.fromkeys(options.tasks))
    total = len(tasks) * options.n
    paths = record(target, drafter, tasks, options.n, options.out, config)
    for done, path in enumerate(paths, start=1):
        live(f"{done} of {total}: {path.name}")
    note(f"wrote {total} traces into {options.out}")
    return 0
