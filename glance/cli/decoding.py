"""The settings of a run from its options; measures what a pass costs where they ask for it."""

from __future__ import annotations

from argparse import Namespace
from collections.abc import Sequence
from typing import TYPE_CHECKING

from glance.budget import CostProfile
from glance.cli.output import note
from glance.config import AUTO, DecodeConfig

if TYPE_CHECKING:
    from glance.drafters.base import Drafter
    from glance.targets.base import Target


def decode_config(
    options: Namespace,
    target: Target,
    drafters: Sequence[Drafter | None],
    costs: CostProfile | None = None,  # measured anew unless given
) -> DecodeConfig:
    """What `--budget` and `--max-tokens` say; the drafter whose cost counts is the first."""
    if options.budget == AUTO and costs is None:
        from glance.profiling import measure_costs

        note("measuring what drafting and verifying cost here")
        costs = measure_costs(target, next(filter(None, drafters), None))
    return DecodeConfig(node_budget=options.budget, max_new_tokens=options.max_tokens, costs=costs)
