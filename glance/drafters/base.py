"""The Drafter protocol: what the decoder asks of anything that proposes tokens.

A drafter may be wrong in any way it likes: the answer never depends on it, only the speed does.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Protocol

if TYPE_CHECKING:
    from torch import Tensor

    from glance.types import CandidateTree, DraftBlock


class Drafter(Protocol):
    """Proposes continuations of the root token.

    A drafter holds weights only. All that belongs to one request is in the state that `start`
    returns, so that several requests can share one drafter.
    """

    @property
    def name(self) -> str:
        """Name of the lane: `glance`, `glance-chain`, ..."""
        ...

    @property
    def taps(self) -> tuple[int, ...]:
        """Ids of the target's decoder layers whose outputs it reads, ascending; () for none.

        Layers count from 0; `glance.types.INPUT` is what enters the first of them.
        """
        ...

    @property
    def passes(self) -> int:
        """Sequential drafter forwards a round."""
        ...

    @property
    def block_size(self) -> int:
        """Root token + the most drafted tokens that a round can accept (B)."""
        ...

    @property
    def revision(self) -> str:
        """Short hash of the weights; "" when there are none."""
        ...

    def start(
        self,
        prompt_ids: list[int],
        positions: Tensor | None = None,  # [axes, n] the target's, rotary; None: places in line
    ) -> Any:
        """Fresh state for one request."""
        ...

    def draft(
        self,
        state: Any,
        out: list[int],  # prompt and committed ids; out[-1] is the root token
        features: Tensor | None,  # [m, K, d], taps of the positions committed since the last call
    ) -> DraftBlock | CandidateTree:
        """Propose what follows `out`: distributions per offset, or a tree that the drafter grew.

        A grown tree lists its nodes best first, for the decoder cuts it at its node budget.

        The first call brings the features of the whole prompt (m = n). The root token has none
        yet: positions absorbed before + m == len(out) - 1. `features` is None without taps.
        """
        ...
