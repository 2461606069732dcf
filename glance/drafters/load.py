"""load_drafter: a name becomes a drafter for a target. Explicit entries only."""

from __future__ import annotations

from collections.abc import Container
from pathlib import Path
from typing import TYPE_CHECKING

from glance.drafters.base import Drafter
from glance.heads.config import HeadError

if TYPE_CHECKING:
    from glance.drafters.grown import TreeShape
    from glance.targets.base import Target

PLAIN = "ar"  # no drafter: plain autoregressive decoding
NAMES = ("glance", "glance-chain", "eagle3", "eagle2", "medusa", "vispec", "hivis", "ngram", PLAIN)
#: need no weights; built where they are used, as most must be told the answer
TEST_NAMES = ("oracle", "noisy", "random", "always-wrong")
#: need no weights either
HEADLESS = ("ngram", PLAIN)

MODELS = Path(__file__).resolve().parents[2] / "assets" / "models"


def head_of(name: str) -> str:
    """Whose head a drafter has: its own, but that of `glance` for `glance-chain`."""
    return "glance" if name == "glance-chain" else name


def ready_names(given: Container[str] = (), embedded: bool = True) -> tuple[str, ...]:
    """Those of `NAMES` that need no head, or whose head is `given` or ships for `embedded`."""
    return tuple(
        name
        for name in NAMES
        if name in HEADLESS
        or head_of(name) in given
        or (embedded and (_shipped(name) / "config.json").is_file())
    )


def load_drafter(
    name: str,
    target: Target,
    head: str | Path | None = None,
    shape: TreeShape | None = None,
) -> Drafter | None:
    """A drafter by name; None for `ar`, which drafts nothing.

    Args:
        name: one of `NAMES`.
        target: the model that it drafts for.
        head: folder of the head's weights, or OWNER/NAME on the Hugging Face hub; the shipped
            one by default.
        shape: for drafters that grow a tree by passes; by default the paper's, with as many nodes
            as an automatic budget may choose.

    Raises:
        ValueError: no such drafter, no head for it, or its weights do not fit the target.
    """
    if name == PLAIN:
        return None
    if name not in NAMES:
        raise ValueError(f"There is no drafter {name!r}; known are {', '.join(NAMES)}.")
    if name == "ngram":
        from glance.drafters.ngram import NgramDrafter

        return NgramDrafter(target.model.config.image_token_id)
    if head is None and name not in ready_names():
        raise HeadError(
            f"No head for {name} ships with this: name a folder that holds one, on the command "
            f"line as --head {head_of(name)}=FOLDER."
        )
    from glance.heads.files import head_folder

    folder = _shipped(name) if head is None else head_folder(head)
    shaped = {} if shape is None else {"shape": shape}
    if name == "eagle3":
        from glance.drafters.eagle3 import load_eagle3

        return load_eagle3(target, folder, **shaped)
    if name == "eagle2":
        from glance.drafters.eagle2 import load_eagle2

        return load_eagle2(target, folder, **shaped)
    if name == "medusa":
        from glance.drafters.medusa import load_medusa_drafter

        return load_medusa_drafter(target, folder)
    if name == "vispec":
        from glance.drafters.vispec import load_vispec

        return load_vispec(target, folder, **shaped)
    if name == "hivis":
        from glance.drafters.hivis import load_hivis

        return load_hivis(target, folder, **shaped)
    from glance.drafters.block import load_block_drafter

    return load_block_drafter(target, folder, width_one=name == "glance-chain")


def _shipped(name: str) -> Path:
    return MODELS / head_of(name)
