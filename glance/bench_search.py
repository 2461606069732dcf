"""The best node budget and depth of each drafter, found on validation pages by one search.

Every drafter is tried with the same budgets and, where it grows a tree by passes, at the same
depths. What a setting is worth follows from rounds replayed on known answers and from what drafting
and verifying cost on this machine: tokens a second, all prompts together.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from glance.bench_replay import Played, replay_rounds
from glance.budget import CostProfile
from glance.config import AUTO, MOST_NODES, NodeBudget
from glance.drafters.base import Drafter
from glance.drafters.presets import PAPER, Preset
from glance.targets.base import Target
from glance.types import Prompt

SPLIT = "validation"
BUDGETS: tuple[NodeBudget, ...] = (3, 7, 15, 31, MOST_NODES, AUTO)
DEPTHS = (1, 2, 3, 5, 7)
#: where `bench --search` leaves what it found, and `bench` looks for it
FOUND = Path(__file__).resolve().parents[1] / "assets" / "results" / "presets.json"


class PresetError(ValueError):
    """The file of presets cannot be used; the message is one plain sentence."""


@dataclass(frozen=True, slots=True)
class Tried:
    """A setting, and what it promises."""

    preset: Preset
    revision: str  # of the drafter's head
    tau: float  # pooled
    nodes: float  # verified a round
    tokens_s: float  # by the cost profile


@dataclass(frozen=True, slots=True)
class Found:
    """A drafter's best setting, and the head that it was found with."""

    preset: Preset
    revision: str


def search(
    target: Target,
    name: str,  # of the drafter
    load: Callable[[Preset], Drafter],  # ready to propose MOST_NODES nodes
    asked: Sequence[tuple[Prompt, Sequence[int]]],  # prompts and plain decoding's answers
    measure: Callable[[Drafter], CostProfile],  # what its rounds cost
) -> Iterator[Tried]:
    """Every setting of a drafter; none where no answer has a round."""
    paper = PAPER[name]
    for depth in (None,) if paper.depth is None else DEPTHS:
        preset = replace(paper, depth=depth)
        drafter = load(preset)
        costs = measure(drafter)
        played: dict[NodeBudget, list[Played]] = {budget: [] for budget in BUDGETS}
        for prompt, answer in asked:
            rounds = replay_rounds(target, drafter, prompt, answer, BUDGETS, costs)
            for budget, own in rounds.items():
                played[budget] += own
        for budget, own in played.items():
            if own:
                tokens = sum(one.tokens for one in own)
                yield Tried(
                    preset=replace(preset, node_budget=budget),
                    revision=drafter.revision,
                    tau=tokens / len(own),
                    nodes=sum(one.nodes for one in own) / len(own),
                    tokens_s=1000.0 * tokens / sum(one.ms for one in own),
                )


def best(tried: Sequence[Tried]) -> Tried:
    """The fastest setting; of equals the first.

    Raises:
        PresetError: none was tried on any round.
    """
    if not tried:
        raise PresetError("No answer was long enough for a round, so there is nothing to search.")
    return max(tried, key=lambda one: one.tokens_s)


def write_found(path: Path, found: Sequence[Tried], about: dict[str, Any]) -> None:
    """Keep the best setting of each drafter, and how it was found."""
    presets = {
        one.preset.drafter: {
            "revision": one.revision,
            "node_budget": one.preset.node_budget,
            "depth": one.preset.depth,
            "tau": round(one.tau, 4),
            "tokens_s": round(one.tokens_s, 2),
        }
        for one in found
    }
    path.parent.mkdir(parents=True, exist_ok=True)
    text = json.dumps({**about, "presets": presets}, indent=2, allow_nan=False)
    path.write_text(text + "\n", encoding="utf-8")


def described(target: Target) -> dict[str, str]:
    """What a search ran on: costs decide what is best, so dtype and device belong to it."""
    return {
        "name": target.name,
        "revision": target.revision,
        "dtype": target.dtype_name,
        "device": str(target.device),
    }


def read_found(path: Path, target: Target) -> dict[str, Found]:
    """The best settings by drafter; none where no search was made of this target as it runs.

    Raises:
        PresetError: the file is damaged.
    """
    if not path.is_file():
        return {}
    own = described(target)
    try:
        raw = json.loads(path.read_text(encoding="utf-8"))
        if any(raw["target"][part] != own[part] for part in ("revision", "dtype", "device")):
            return {}
        return {
            name: Found(_read(PAPER[name], one["node_budget"], one["depth"]), one["revision"])
            for name, one in raw["presets"].items()
        }
    except (ValueError, KeyError, TypeError, AttributeError) as error:
        raise PresetError(
            f"{path} is damaged: remove it, or write it anew with bench --search."
        ) from error


def _read(paper: Preset, budget: Any, depth: Any) -> Preset:
    if budget not in BUDGETS or depth not in ((None,) if paper.depth is None else DEPTHS):
        raise ValueError("no setting of the search")
    return replace(paper, node_budget=budget, depth=depth)
