"""How each drafter is run: the settings of the papers, in one table. No torch."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from glance.config import AUTO, MOST_NODES
from glance.drafters.grown import TreeShape

if TYPE_CHECKING:
    from glance.config import NodeBudget


@dataclass(frozen=True, slots=True)
class Preset:
    """A drafter and what is set about it."""

    drafter: str  # a name of `glance.drafters.load`
    node_budget: NodeBudget  # N, the root not counted; or "auto"
    #: passes over drafted tokens, as EAGLE counts them; None where no tree is grown by passes
    depth: int | None = None
    width: int | None = None  # children of a node, and nodes of a level that have any (k)

    def shape(self, nodes: int) -> TreeShape | None:
        """How the drafter grows a tree of which `nodes` are kept; None where it grows none."""
        if self.depth is None or self.width is None:
            return None
        return TreeShape(self.depth, self.width, nodes)


#: The chain is the EAGLE-3 of GLANCE's matched comparison (arXiv 2609.00355): depth 3, which
#: drafts four tokens. HiViS has EAGLE-2's setting, as its own is not known.
PAPER = {
    "glance": Preset("glance", 63),
    "glance-chain": Preset("glance-chain", 15),
    "eagle3": Preset("eagle3", 59, depth=7, width=10),
    "eagle3-chain": Preset("eagle3", 63, depth=3, width=1),
    "eagle2": Preset("eagle2", 59, depth=5, width=10),
    "medusa": Preset("medusa", 63),
    "vispec": Preset("vispec", 29, depth=3, width=8),
    "hivis": Preset("hivis", 59, depth=5, width=10),
    "ngram": Preset("ngram", 15),
}


def paper_shape(name: str) -> TreeShape:
    """Depth and width of a drafter that grows its tree by passes, as in its paper.

    Of the tree as much is kept as an automatic budget may choose: the decoder cuts it at its own.
    """
    shape = shape_for(name, AUTO)
    assert shape is not None, f"{name} grows no tree by passes"
    return shape


def shape_for(name: str, budget: NodeBudget) -> TreeShape | None:
    """As `paper_shape`, but with all that a budget verifies; None where no tree is grown so."""
    nodes = MOST_NODES if isinstance(budget, str) else budget
    return PAPER[name].shape(nodes) if name in PAPER else None
