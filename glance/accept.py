"""accept: walk the candidate tree along the target's own tokens. Pure.

The committed tokens are the target's, never the drafter's: a drafted token is accepted exactly
where the target chose the same one.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

from glance.types import CandidateTree, Verdict

PAST_END = -1  # what the target says after its last token: in no tree


def accept(
    tree: CandidateTree,
    choose: Callable[[int], int],
) -> Verdict:
    """Follow the target through the tree.

    `choose(node)` gives the target's token after that node: the argmax of its row at temperature
    0, a draw from its row above. It is called once per visited node, in order, so the committed
    tokens are draws from the target's conditionals whatever the tree holds.

    Returns:
        The visited nodes, root included, and the first chosen token outside the tree.
    """
    children: dict[tuple[int, int], int] = {
        (parent, token_id): node
        for node, (parent, token_id) in enumerate(zip(tree.parents, tree.token_ids, strict=True))
        if node > 0
    }
    path = [0]
    while True:
        token_id = choose(path[-1])
        child = children.get((path[-1], token_id))
        if child is None:
            return Verdict(path=tuple(path), bonus=token_id)
        path.append(child)


def committed_on(tree: CandidateTree, rest: Sequence[int]) -> int:
    """How many tokens a greedy round commits where the answer goes on with `rest` after the root.

    `rest` is what the target writes, to its end and not empty; no bonus token follows its last.
    """

    def choose(node: int) -> int:
        depth = tree.depths[node]
        return rest[depth] if depth < len(rest) else PAST_END

    return min(accept(tree, choose).accepted + 1, len(rest))
