"""What runs in a bench: each drafter as its paper sets it, and as was found best here."""

from __future__ import annotations

from argparse import Namespace
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

from glance.bench_matched import THEIRS as CHAIN
from glance.cli.decoding import ALL, drafter_names, load_named
from glance.cli.output import Cell, note, show, show_table
from glance.config import AUTO, MOST_NODES
from glance.drafters.load import PLAIN
from glance.drafters.presets import PAPER, Preset

if TYPE_CHECKING:
    from glance.bench_lanes import Contender
    from glance.bench_search import Found
    from glance.drafters.base import Drafter
    from glance.targets.base import Target

PAPERS, BEST, GIVEN = "paper", "best", "given"
HEADS = ("lane", "setting", "node budget", "depth", "width", "most accepted")


@dataclass(frozen=True, slots=True)
class Setting:
    """A lane that a bench will have."""

    name: str
    source: str  # of PAPERS, BEST and GIVEN
    preset: Preset


def settings(options: Namespace, found: Mapping[str, Found], target: Target) -> list[Setting]:
    """The lanes that the options ask for.

    `found` are the best settings by drafter; one that was found with another head is left out.
    """
    names = [name for name in drafter_names(options) if name != PLAIN]
    if ALL in options.drafters and PAPER[CHAIN].drafter in names and CHAIN not in names:
        names.insert(names.index(PAPER[CHAIN].drafter) + 1, CHAIN)
    if options.budget is not None:
        several = len(options.budget) > 1
        return [
            Setting(
                f"{name}@{budget}" if several else name,
                GIVEN,
                replace(PAPER[name], node_budget=budget),
            )
            for name in names
            for budget in dict.fromkeys(options.budget)
        ]
    chosen, unknown = [], []
    for name in names:
        chosen.append(Setting(name, PAPERS, PAPER[name]))
        best = found.get(name)
        if best and best.revision == load_shaped(best.preset, MOST_NODES, target, options).revision:
            chosen.append(Setting(f"{name}-best", BEST, best.preset))
        elif name != CHAIN:
            unknown.append(name)
    if unknown:
        note(f"no best setting is known here of {', '.join(unknown)}: bench --search finds it")
    return chosen


def contend(
    setting: Setting, target: Target, options: Namespace, threads: Sequence[int]
) -> Contender:
    """Load a lane's drafter; where its node budget is automatic, measure what its rounds cost."""
    from glance.bench import costs_by_threads
    from glance.bench_lanes import Contender

    budget = setting.preset.node_budget
    nodes = MOST_NODES if isinstance(budget, str) else budget
    drafter = load_shaped(setting.preset, nodes, target, options)
    costs = {}
    if budget == AUTO:
        note(f"{setting.name}: measuring what drafting and verifying cost here")
        costs = costs_by_threads(target, drafter, threads)
    return Contender(setting.name, drafter, budget, costs)


def load_shaped(preset: Preset, nodes: int, target: Target, options: Namespace) -> Drafter:
    """A drafter that proposes `nodes` nodes, if it grows a tree of them."""
    drafter = load_named(preset.drafter, target, options, preset.shape(nodes))
    assert drafter is not None  # plain decoding has no preset
    return drafter


def show_settings(chosen: Sequence[Setting], contenders: Sequence[Contender]) -> None:
    """Print what is set about every lane."""
    if chosen:
        show_table(HEADS, [_cells(*pair) for pair in zip(chosen, contenders, strict=True)])
        show()


def _cells(setting: Setting, contender: Contender) -> list[Cell]:
    preset, longest = setting.preset, contender.drafter.block_size - 1
    most = min(longest, contender.most_nodes)
    return [setting.name, setting.source, preset.node_budget, preset.depth, preset.width, most]


def as_json(setting: Setting, contender: Contender) -> dict[str, Any]:
    """A lane's drafter and what is set about it."""
    drafter, preset = contender.drafter, setting.preset
    return {
        "name": setting.name,
        "drafter": preset.drafter,
        "setting": setting.source,
        "revision": drafter.revision,
        "block_size": drafter.block_size,
        "node_budget": preset.node_budget,
        "depth": preset.depth,
        "width": preset.width,
        "costs": {threads: one.to_json() for threads, one in contender.costs.items()},
    }
