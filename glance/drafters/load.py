"""load_drafter: a name becomes a drafter for a target. Explicit entries only."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from glance.drafters.base import Drafter

if TYPE_CHECKING:
    from glance.targets.base import Target

PLAIN = "ar"  # no drafter: plain autoregressive decoding
NAMES = ("glance", "glance-chain", PLAIN)
#: need no weights; built where they are used, as most must be told the answer
TEST_NAMES = ("oracle", "noisy", "random", "always-wrong")


def load_drafter(name: str, target: Target, head: str | Path | None = None) -> Drafter | None:
    """A drafter by name; None for `ar`, which drafts nothing.

    Args:
        name: one of `NAMES`.
        target: the model that it drafts for.
        head: folder of the head's weights; the shipped one by default.

    Raises:
        ValueError: no such drafter, or its weights do not fit the target.
    """
    if name == PLAIN:
        return None
    if name not in NAMES:
        raise ValueError(f"There is no drafter {name!r}; known are {', '.join(NAMES)}.")
    from glance.drafters.block import SHIPPED, load_block_drafter

    folder = SHIPPED if head is None else Path(head)
    return load_block_drafter(target, folder, width_one=name == "glance-chain")
