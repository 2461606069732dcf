"""What a reader chose for a run, checked before anything decodes. No torch."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from glance.config import AUTO, MAX_SEED, MAX_TEMPERATURE, MOST_NODES, DecodeConfig, NodeBudget

MAX_TOKENS = 512  # of an answer: others wait while it decodes
NO_LANE = "none"  # beside the first lane
DEFAULTS = DecodeConfig()


class SettingsError(ValueError):
    """A run cannot be had with these settings; the message is one plain sentence."""


@dataclass(frozen=True, slots=True)
class Settings:
    """How to decode, and in which lanes.

    Raises:
        SettingsError: a value is missing or out of range.
    """

    lanes: tuple[str, ...]  # names of drafters, each once; the first lane runs first
    node_budget: NodeBudget = DEFAULTS.node_budget
    max_tokens: int = DEFAULTS.max_new_tokens
    temperature: float = DEFAULTS.temperature
    seed: int = DEFAULTS.seed

    def __post_init__(self) -> None:
        if not self.lanes or len(set(self.lanes)) < len(self.lanes):
            raise SettingsError("Choose one drafter, or two different ones.")
        if isinstance(self.node_budget, int):
            _within("node budget", self.node_budget, 1, MOST_NODES)
        _within("number of tokens", self.max_tokens, 1, MAX_TOKENS)
        _within("temperature", self.temperature, 0, MAX_TEMPERATURE)
        _within("seed", self.seed, 0, MAX_SEED)


def chosen(
    first: str,
    second: str,  # or NO_LANE; the first once more is no second lane
    node_budget: Any,
    auto: bool,
    max_tokens: Any,
    temperature: Any,
    seed: Any,
) -> Settings:
    """The settings as fields have them: of an empty one the value is None.

    Raises:
        SettingsError: a number is none, or they cannot be had.
    """
    lanes = dict.fromkeys(name for name in (first, second) if name != NO_LANE)
    return Settings(
        lanes=tuple(lanes),
        node_budget=AUTO if auto else _whole("node budget", node_budget),
        max_tokens=_whole("number of tokens", max_tokens),
        temperature=_number("temperature", temperature),
        seed=_whole("seed", seed),
    )


def _number(name: str, value: Any) -> float:
    try:
        return float(value)
    except (TypeError, ValueError, OverflowError) as error:
        raise SettingsError(f"The {name} must be a number.") from error


def _whole(name: str, value: Any) -> int:
    number = _number(name, value)
    if not number.is_integer():
        raise SettingsError(f"The {name} must be a whole number.")
    return int(number)


def _within(name: str, value: float, low: float, high: float) -> None:
    if not low <= value <= high:
        raise SettingsError(f"The {name} must be between {low:,} and {high:,.10g}.")
