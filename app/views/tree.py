"""The candidate tree of one round: depth to the right, the accepted path straight along the top."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from app.format import count, escape, label, visible
from app.views.figure import Figure, empty, figure
from glance.replay import Round

#: most nodes that are drawn one by one: of more, the least probable subtrees are folded
MOST_NODES = 64
X_TITLE = "depth (tokens after the root)"
#: by role; others are circles
MARKERS = {
    "bonus": {"size": 25, "symbol": "diamond", "line": {"width": 1.5}},
    "folded": {"size": 23, "symbol": "square", "line": {"width": 1.5}},
}
#: what hovers over a node; the columns are those of `_facts`
BOTH = "drafter gave it %{customdata[2]} (rank %{customdata[3]})<br>target gave it %{customdata[4]}"
ENTROPY = "target's entropy after it %{customdata[5]} nats"
BEST = "target's best after it %{customdata[6]}"
ELSEWHERE = "target's best in its place: at the node before it, if that was accepted"


def tree_figure(step: Round | None, run: str) -> Figure:
    """The candidates of a round, which of them the target accepted, and its bonus token."""
    if step is None:
        return empty(run, "No round, so no candidate tree.")
    if "build" not in step.lines:
        return empty(run, "No candidate tree: plain decoding proposes nothing.")
    build = step.lines["build"]
    tree = build["tree"]
    verdict, drafted = step.lines["accept"]["verdict"], step.accepted
    # an end token or the limit may cut the path that the target walked: show what was committed
    path, beyond = verdict["path"][: drafted + 1], set(verdict["path"][drafted + 1 :])
    bonus = verdict["bonus"] if len(step.commit["tokens"]) > drafted else None
    drawn, folded = fold(tree["parent"], tree["p_draft"], verdict["path"])
    place = {node: at for at, node in enumerate(drawn)}
    # a folded marker is a last child of the node that its candidates hang from
    parents = [place.get(tree["parent"][node], -1) for node in drawn]
    parents += [place[node] for node in folded]
    at_path = [place[node] for node in path]
    depth = depths(parents)
    row = [-each for each in rows(parents, at_path)]  # further rows lie lower
    facts = _facts(step, path)

    def nodes(role: str, name: str, chosen: list[int], *hover: str) -> dict[str, Any]:
        at = [place[node] for node in chosen]
        return {
            **_markers(role, name, [depth[each] for each in at], [row[each] for each in at]),
            "text": [label(tree["text"][node], 5) for node in chosen],
            "customdata": [
                facts(node, "past the end of the answer" if node in beyond else name)
                for node in chosen
            ],
            "hovertemplate": _hover("<b>%{customdata[0]}</b> · %{customdata[1]}", *hover),
        }

    kept = [node for node in path if node != 0]
    rejected = [node for node in drawn if node not in {0, *path}]
    at_folded = list(range(len(drawn), len(parents)))
    data = [
        _edges("rejected", parents, depth, row, [place[node] for node in rejected] + at_folded),
        _edges("accepted", parents, depth, row, at_path[1:]),
        nodes("root", "root token", [0], ENTROPY, BEST),
        nodes("rejected", "rejected", rejected, BOTH, ENTROPY, ELSEWHERE),
        nodes("accepted", "accepted", kept, BOTH, ENTROPY, BEST),
    ]
    if folded:
        xs, ys = [depth[at] for at in at_folded], [row[at] for at in at_folded]
        data.append(
            {
                **_markers("folded", "folded", xs, ys),
                "text": [f"+{number}" for number in folded.values()],
                "hovertemplate": _hover("%{text} improbable candidates"),
            }
        )
    last = at_path[-1]
    # beside rejected candidates the bonus token stands above their row, never on one of them
    lift = int(bonus is not None and last in parents)
    if bonus:
        data += _bonus(bonus["text"], depth[last], row[last], lift)
    return figure(
        data,
        run,
        X_TITLE,
        "",
        caption=_caption(step, len(kept), bonus is not None, sum(folded.values())),
        meta={
            "round": step.number,
            "rows": 1 - min(row) + lift,
            "columns": max(depth) + 2,  # the bonus token stands one past the deepest
        },
        layout={
            "yaxis": {"visible": False},
            "xaxis": {"title": {"text": X_TITLE}, "zeroline": False, "dtick": 1},
        },
    )


def _caption(step: Round, kept: int, bonus: bool, folded: int) -> str:
    build = step.lines["build"]
    candidates, budget = len(build["tree"]["parent"]) - 1, build.get("node_budget")
    drafted = count(candidates, "candidate")
    if budget is not None:
        drafted = f"{candidates:,} of {count(budget, 'node')}"
    then = "then the target's own next token" if bonus else "which ended the answer"
    caption = f"Round {step.number}: {drafted} drafted in one go, {kept} accepted, {then}."
    return f"{caption} {count(folded, 'improbable candidate')} folded." if folded else caption


def fold(
    parents: list[int], p_draft: list[float], path: list[int], most: int = MOST_NODES
) -> tuple[list[int], dict[int, int]]:
    """The nodes to draw, and how many candidates are folded behind which of them.

    A node is worth the product of the drafter's probabilities on its way from the root, so a node
    is never worth more than its parent: what is left out is whole subtrees. What the target walked
    is always drawn.
    """
    worth: list[float] = []
    for parent, p in zip(parents, p_draft, strict=True):
        worth.append(p if parent < 0 else worth[parent] * p)
    walked = set(path)
    order = sorted(range(len(parents)), key=lambda node: (node not in walked, -worth[node], node))
    drawn = set(order[:most])
    home = list(range(len(parents)))  # the drawn node that a folded one hangs from
    folded: dict[int, int] = {}
    for node, parent in enumerate(parents):
        if node not in drawn:
            home[node] = home[parent]
            folded[home[node]] = folded.get(home[node], 0) + 1
    return sorted(drawn), folded


def _bonus(text: str, depth: int, row: int, lift: int) -> list[dict[str, Any]]:
    return [
        {
            **_line("bonus", [depth, depth + 1], [row, row + lift]),
            "line": {"width": 2, "dash": "dot"},
        },
        {
            **_markers("bonus", "bonus token", [depth + 1], [row + lift]),
            "text": [label(text, 5)],
            "customdata": [escape(visible(text))],
            "hovertemplate": _hover("<b>%{customdata}</b>", "the target's own next token"),
        },
    ]


def depths(parents: list[int]) -> list[int]:
    """Depth of every node; parents stand before their children."""
    found: list[int] = []
    for parent in parents:
        found.append(0 if parent < 0 else found[parent] + 1)
    return found


def rows(parents: list[int], path: list[int]) -> list[int]:
    """A row for every node: the first child stays in its parent's row, others open a new one.

    The accepted child goes first, so the accepted path is one straight line in row 0.
    """
    children: list[list[int]] = [[] for _ in parents]
    for node, parent in enumerate(parents):
        if parent >= 0:
            children[parent].append(node)
    accepted = set(path)
    row = [0] * len(parents)
    used = 0
    stack = [0]
    while stack:
        node = stack.pop()
        parent = parents[node]
        if parent >= 0:
            is_first = children[parent][0] == node
            used += not is_first
            row[node] = row[parent] if is_first else used
        children[node].sort(key=lambda child: child not in accepted)  # stable: ranks stay in order
        stack.extend(reversed(children[node]))
    return row


def _edges(
    role: str, parents: list[int], depth: list[int], row: list[int], chosen: list[int]
) -> dict[str, Any]:
    xs: list[int | None] = []
    ys: list[int | None] = []
    for node in chosen:
        parent = parents[node]
        xs += [depth[parent], depth[node], None]
        ys += [row[parent], row[node], None]
    return {**_line(role, xs, ys), "line": {"width": 3 if role == "accepted" else 1}}


def _line(role: str, xs: list[Any], ys: list[Any]) -> dict[str, Any]:
    return {
        "type": "scatter",
        "mode": "lines",
        "x": xs,
        "y": ys,
        "hoverinfo": "skip",
        "showlegend": False,
        "meta": {"role": role},
    }


def _markers(role: str, name: str, xs: list[int], ys: list[int]) -> dict[str, Any]:
    return {
        "type": "scatter",
        "mode": "markers+text",
        "name": name,
        "x": xs,
        "y": ys,
        "marker": MARKERS.get(role, {"size": 23, "line": {"width": 1.5}}),
        "meta": {"role": role, "nodes": True},
    }


def _hover(*lines: str) -> str:
    return "<br>".join(lines) + "<extra></extra>"


def _facts(step: Round, path: list[int]) -> Callable[[int, str], list[Any]]:
    """A node's columns: text, fate, p_draft, rank, p_target, entropy, the target's five best."""
    tree, verify = step.lines["build"]["tree"], step.lines["verify"]
    best = dict.fromkeys(path, "not on record")
    # the row of the i-th node of the path decided on the i-th committed token
    for node, token in zip(path, step.commit["tokens"], strict=False):
        if token.get("top"):
            best[node] = _best(token["top"])

    def facts(node: int, fate: str) -> list[Any]:
        return [
            escape(visible(tree["text"][node])),
            fate,
            round(tree["p_draft"][node], 3),
            round(tree["rank"][node]),
            round(verify["p_target"][node], 3),
            round(verify["h"][node], 3),
            *([best[node]] if node in best else []),
        ]

    return facts


def _best(top: list[list[Any]]) -> str:
    return ", ".join(f"<b>{escape(visible(text))}</b> {p:.3g}" for _, text, p in top)
