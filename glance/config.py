"""Settings of one generation, checked when they are made. No torch."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Final, Literal

if TYPE_CHECKING:
    from glance.budget import CostProfile

#: what an audit can break in the verify pass, to show that it would notice
FAULTS = ("mask", "positions", "compaction")

#: a node budget that every round chooses anew, from what its candidates promise and passes cost
AUTO: Final = "auto"
MOST_NODES = 63  # that an automatic budget may choose
MAX_TEMPERATURE = 10.0
MAX_SEED = 2**32 - 1  # the generator would forget the bits above

NodeBudget = int | Literal["auto"]


@dataclass(frozen=True, slots=True)
class DecodeConfig:
    """How to decode; the block size belongs to the drafter.

    Raises:
        ValueError: a value is out of range; the message names it.
    """

    #: most candidate nodes of a round, the root token not counted (N); or AUTO
    node_budget: NodeBudget = 15
    #: most tokens of the answer, the prefill token and a final EOS counted
    max_new_tokens: int = 256
    #: 0 is greedy; above 0 every token is a draw from the target's own distribution
    temperature: float = 0.0
    #: seeds the generator that temperature > 0 draws from; `glance.sampling` says what it promises
    seed: int = 0
    #: token ids that end the answer beside the target's own end tokens
    stop_ids: tuple[int, ...] = ()
    #: go on past the target's own end tokens, to `max_new_tokens`
    ignore_eos: bool = False
    #: what a round costs (`glance.profiling.measure_costs`); needed by, and only by, AUTO
    costs: CostProfile | None = None

    def __post_init__(self) -> None:
        if isinstance(self.node_budget, str):
            if self.node_budget != AUTO:
                raise ValueError(f"node_budget must be a number or {AUTO!r}")
            if self.costs is None:
                raise ValueError(
                    f"node_budget {AUTO!r} needs costs: measure them with "
                    "glance.profiling.measure_costs, or take those of a trace"
                )
        elif not 1 <= self.node_budget <= 1024:
            raise ValueError(f"node_budget must be between 1 and 1024, got {self.node_budget}")
        elif self.costs is not None:
            raise ValueError(f"costs have no use unless node_budget is {AUTO!r}")
        if self.max_new_tokens < 1:
            raise ValueError(f"max_new_tokens must be at least 1, got {self.max_new_tokens}")
        if not 0.0 <= self.temperature <= MAX_TEMPERATURE:
            raise ValueError(f"temperature must be between 0 and 10, got {self.temperature}")
        if not 0 <= self.seed <= MAX_SEED:
            raise ValueError(f"seed must be between 0 and 2**32 - 1, got {self.seed}")
        if any(token_id < 0 for token_id in self.stop_ids):
            raise ValueError(f"stop_ids must not be negative, got {self.stop_ids}")

    @property
    def most_nodes(self) -> int:
        """The most nodes that any round can have."""
        return MOST_NODES if isinstance(self.node_budget, str) else self.node_budget
