"""The drafters that the page offers, in words, and their heads' cards. No torch."""

from __future__ import annotations

import json
from collections.abc import Sequence

from app.card import blocks
from app.examples import ASSETS
from app.format import lane_name
from app.settings import NO_LANE

ABOUT = {
    "glance": "drafts a whole block in one pass; the likely continuations are checked as a tree",
    "glance-chain": "the same head, but only its first choice for every place",
    "eagle3": "grows a tree pass by pass, from three depths of the model",
    "eagle2": "grows a tree pass by pass, from the model's last layer",
    "medusa": "guesses several places ahead, each on its own, without a pass",
    "vispec": "like EAGLE-2, with each picture pressed into one row",
    "hivis": "like EAGLE-2, but it reads the text alone, never the picture",
    "ngram": "no head: repeats what followed the same few tokens before",
    "ar": "no drafter: one pass of the model for every token",
}


def options(names: Sequence[str]) -> list[tuple[str, str]]:
    """The choices of the first lane, label and name, for the drafters that are there."""
    return [(lane_name(name), name) for name in names]


def second_options(names: Sequence[str]) -> list[tuple[str, str]]:
    """The choices of the lane beside it, which may stay empty."""
    return [*options(names), ("Nothing", NO_LANE)]


def cards(*names: str) -> str:
    """Value of the cards' region: what the lanes decode with, each once.

    Returns:
        JSON: a list of {"name", "about", "blocks"}; no blocks where there is no head.
    """
    shown = [name for name in dict.fromkeys(names) if name != NO_LANE]
    return json.dumps(
        [{"name": lane_name(name), "about": ABOUT[name], "blocks": _card(name)} for name in shown],
        ensure_ascii=False,
    )


def _card(name: str) -> list[dict]:
    head = name.removesuffix("-chain")  # a chain is drafted by the head of its tree
    path = ASSETS / "models" / head / "README.md"
    return blocks(path.read_text(encoding="utf-8")) if path.is_file() else []
