"""The drafters and the settings of a run, from its options."""

from __future__ import annotations

from argparse import Namespace
from collections.abc import Sequence
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


def decode_config(
    options: Namespace,
    target: Target,
    drafters: Sequence[Drafter | None],
    costs: CostProfile | None = None,  # measured anew unless given
) -> DecodeConfig:
    """What the options of decoding say; the drafter whose cost counts is the first."""
    budget, first = options.budget, next(filter(None, drafters), None)
    if budget == AUTO and first is None:
        budget, costs = DEFAULTS.node_budget, None  # plain decoding has no use for any
    if budget == AUTO and costs is None:
        from glance.profiling import measure_costs

        note("measuring what drafting and verifying cost here")
        costs = measure_costs(target, first)
    return DecodeConfig(
        node_budget=budget,
        max_new_tokens=options.max_tokens,
        temperature=options.temperature,
        seed=options.seed,
        costs=costs,
    )
