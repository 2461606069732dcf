"""The candidate tree of one round: depth to the right, the accepted path straight along the top."""

from __future__ import annotations

from typing import Any

from app.format import count, escape, label, visible
from app.views.figure import Figure, empty, figure
from glance.replay import Round

#: above this many nodes a label under every node is only noise; hover still spells it
MAX_LABELS = 64
X_TITLE = "depth (tokens after the root)"


def tree_figure(step: Round | None, run: str) -> Figure:
    """The candidates of a round, which of them the target accepted, and its bonus token."""
    if step is None or "build" not in step.lines:
        return empty(run, "No candidate tree: plain decoding proposes nothing.")
    build, verify = step.lines["build"], step.lines["verify"]
    tree = build["tree"]
    verdict, drafted = step.lines["accept"]["verdict"], step.accepted
    # an end token or the limit may cut the path that the target walked: show what was committed
    path, beyond = verdict["path"][: drafted + 1], set(verdict["path"][drafted + 1 :])
    bonus = verdict["bonus"] if len(step.commit["tokens"]) > drafted else None
    depth = depths(tree["parent"])
    row = [-each for each in rows(tree["parent"], path)]  # further rows lie lower
    accepted = set(path)
    fates = [
        "root token"
        if node == 0
        else "accepted"
        if node in accepted
        else "past the end of the answer"
        if node in beyond
        else "rejected"
        for node in range(len(depth))
    ]
    hover = [_hover(node, tree, verify, fate) for node, fate in enumerate(fates)]
    labels = [label(text, 5) if len(depth) <= MAX_LABELS else "" for text in tree["text"]]

    def nodes(role: str, name: str, chosen: list[int]) -> dict[str, Any]:
        return {
            "type": "scatter",
            "mode": "markers+text",
            "name": name,
            "x": [depth[node] for node in chosen],
            "y": [row[node] for node in chosen],
            "text": [labels[node] for node in chosen],
            "customdata": chosen,
            "hovertext": [hover[node] for node in chosen],
            "hovertemplate": "%{hovertext}<extra></extra>",
            "marker": {"size": 23, "line": {"width": 1.5}},
            "meta": {"role": role, "nodes": True},
        }

    rejected = [node for node in range(1, len(depth)) if node not in accepted]
    kept = [node for node in path if node != 0]
    last = path[-1]
    data = [
        _edges("rejected", tree["parent"], depth, row, rejected),
        _edges("accepted", tree["parent"], depth, row, kept),
        nodes("root", "root token", [0]),
        nodes("rejected", "rejected", rejected),
        nodes("accepted", "accepted", kept),
    ]
    # beside rejected candidates the bonus token stands above their row, never on one of them
    lift = int(bonus is not None and last in tree["parent"])
    if bonus:
        data += _bonus(bonus["text"], depth[last], row[last], lift)
    then = "then the target's own next token" if bonus else "which ended the answer"
    caption = (
        f"Round {step.number}: {count(len(depth) - 1, 'candidate')} drafted in one go, "
        f"{len(kept)} accepted, {then}."
    )
    return figure(
        data,
        run,
        X_TITLE,
        "",
        caption=caption,
        meta={
            "round": step.number,
            "budget": build.get("node_budget"),
            "rows": 1 - min(row) + lift,
            "columns": max(depth) + 2,  # the bonus token stands one past the deepest
        },
        layout={
            "yaxis": {"visible": False},
            "xaxis": {"title": {"text": X_TITLE}, "zeroline": False, "dtick": 1},
        },
    )


def _bonus(text: str, depth: int, row: int, lift: int) -> list[dict[str, Any]]:
    return [
        {
            **_line("bonus", [depth, depth + 1], [row, row + lift]),
            "line": {"width": 2, "dash": "dot"},
        },
        {
            "type": "scatter",
            "mode": "markers+text",
            "name": "bonus token",
            "x": [depth + 1],
            "y": [row + lift],
            "text": [label(text, 5)],
            "hovertext": [f"<b>{escape(visible(text))}</b><br>the target's own next token"],
            "hovertemplate": "%{hovertext}<extra></extra>",
            "marker": {"size": 25, "symbol": "diamond", "line": {"width": 1.5}},
            "meta": {"role": "bonus", "nodes": True},
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


def _hover(node: int, tree: dict[str, Any], verify: dict[str, Any], fate: str) -> str:
    lines = [f"<b>{escape(visible(tree['text'][node]))}</b> · {fate}"]
    if node:
        lines.append(f"drafter gave it {tree['p_draft'][node]:.3f} (rank {tree['rank'][node]:d})")
        lines.append(f"target gave it {verify['p_target'][node]:.3f}")
    lines.append(f"target's entropy after it {verify['h'][node]:.3f} nats")
    return "<br>".join(lines)
