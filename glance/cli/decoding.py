"""The drafters and the settings of a run, from its options."""

from __future__ import annotations

from argparse import Namespace
from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING

from glance.budget import CostProfile
from glance.cli.output import note
from glance.config import AUTO, DecodeConfig
from glance.drafters.load import NAMES, head_of, ready_names

if TYPE_CHECKING:
    from glance.drafters.base import Drafter
    from glance.drafters.grown import TreeShape
    from glance.targets.base import Target

ALL = "all"
DEFAULTS = DecodeConfig()


def drafter_names(options: Namespace) -> list[str]:
    """What `--drafters` names, each once; `all` is what has a head, and says what has none."""
    # heads that ship with this are for the target that does
    ready = ready_names(options.head, embedded=options.target == "embedded")
    missing = [name for name in NAMES if name not in ready]
    if ALL in options.drafters and missing:
        note(f"left out, as there is no head for them here: {', '.join(missing)}")
    return list(
        dict.fromkeys(
            name for part in options.drafters for name in (ready if part == ALL else [part])
        )
    )


def load_named(
    name: str, target: Target, options: Namespace, shape: TreeShape | None
) -> Drafter | None:
    """A drafter with the head that `--head` gives it, or the one that ships."""
    from glance.drafters.load import load_drafter

    return load_drafter(name, target, options.head.get(head_of(name)), shape)


def measured_costs(
    options: Namespace, target: Target, drafters: Iterable[Drafter | None]
) -> dict[str, CostProfile]:
    """What the rounds of each drafter cost here; nothing unless the node budget is automatic."""
    from glance.profiling import measure_costs

    drafting = [drafter for drafter in drafters if drafter]
    if options.budget != AUTO or not drafting:
        return {}
    note("measuring what drafting and verifying cost here")
    return {drafter.name: measure_costs(target, drafter) for drafter in drafting}


def decode_config(options: Namespace, costs: Mapping[str, CostProfile]) -> DecodeConfig:
    """What the options of decoding say; `costs`, if there are any, are those of the first drafter.

    Without costs there is no drafter, so an automatic node budget has nothing to choose.
    """
    first = next(iter(costs.values()), None)
    without = DEFAULTS.node_budget if options.budget == AUTO else options.budget
    return DecodeConfig(
        node_budget=AUTO if first else without,
        max_new_tokens=options.max_tokens,
        temperature=options.temperature,
        seed=options.seed,
        costs=first,
    )
