"""A made-up but well-formed trace, for tests of views and page that need no model.

Two lanes write the same text, one character a token. The drafting lane proposes a tree of the next
`block` characters with one wrong sibling at each depth, and the target accepts a seeded number, of
a second drafting lane another one.
"""

from __future__ import annotations

import random
from collections.abc import Iterator
from typing import Any

Line = dict[str, Any]
TEXT = "Total due: 48.20 EUR\nPaid <b>in cash</b> & thanks</s> ${x} $y$"


def toy_trace(
    text: str = TEXT,
    run: str = "toy",
    block: int = 8,
    lanes: tuple[str, ...] = ("glance", "ar"),
    question: str = "What is the total?",
    seed: int = 0,
) -> Iterator[Line]:
    """The lines of one run over `text`, as the decoder would write them."""
    seq = 0

    def line(kind: str, **fields: Any) -> Line:
        nonlocal seq
        seq += 1
        return {"kind": kind, "run": run, "seq": seq - 1, **fields}

    yield line(
        "header",
        schema=1,
        created="2026-01-02T03:04:05Z",
        lanes=list(lanes),
        target={
            "name": "toy",
            "revision": "0" * 8,
            "dtype": "float32",
            "device": "Toy CPU",
            "attention": "sdpa",
        },
        drafter={"name": "glance", "revision": "1" * 8, "block_size": block},
        settings={"node_budget": 15, "max_new_tokens": 256, "temperature": 0.0, "seed": seed},
        prompt={"question": question, "tokens": 40, "image_tokens": 24},
        image={"sha256": "0" * 64, "original": [640, 480], "processed": [644, 476]},
        provenance={"command": "toy"},
    )
    for lane in lanes:
        chance = random.Random(seed + (lane not in (lanes[0], "ar")))
        for kind, fields in _lane(text, lane, block, chance):
            yield line(kind, lane=lane, **fields)
    if len(lanes) == 2:
        of = len(text)
        same: Line = {"state": "equal", "equal": of, "of": of, "at": None, "ids": None, "gap": None}
        yield line("compare", **same, dtype="float32")
    start = text.find("48.20")
    if start >= 0:
        span = {"tokens": [start, start + 5], "boxes": [[0.5, 0.4, 0.7, 0.46]], "source": "layout"}
        copy = [{**span, "confidence": 1.0, "approximate": False}]
        yield line("grounding", lane=lanes[0], copy=copy)


def _lane(text: str, lane: str, block: int, chance: random.Random) -> Iterator[tuple[str, Line]]:
    root: Line = {"id": ord(text[0]), "text": text[0], "start": 0, "end": 1}
    root |= {"origin": "target", "h": 0.2, "margin": 5.0}
    yield "prefill", {"t": 0.0, "ms": 120.0, "root": root, "top": _top(text[0]), "cache": 40}
    at, number, clock = 1, 0, 0.0
    while at < len(text):
        number += 1
        drafted = 0
        if lane != "ar":
            ahead = text[at : at + block - 1]
            drafted = min(chance.choice([0, 1, 3, 5, 7]), len(ahead) - 1)
            yield from _verbs(text, at, ahead, drafted, number, clock)
        clock += 12.0 if lane == "ar" else 17.0
        tokens = []
        for i in range(drafted + 1):
            origin = "target" if lane == "ar" else "drafted" if i < drafted else "bonus"
            token: Line = {"id": ord(text[at + i]), "start": at + i, "end": at + i + 1}
            token |= {"origin": origin, "h": round(chance.random(), 3), "top": _top(text[at + i])}
            if origin == "bonus" and drafted < block - 1:
                token["corrected"] = True
            tokens.append(token)
        delta = text[at : at + drafted + 1]
        at += drafted + 1
        yield (
            "commit",
            {"r": number, "t": clock, "ms": 0.5, "tokens": tokens, "text": delta}
            | {"cache": 40 + at, "other": 0.1},
        )
    rounds, in_rounds = number, len(text) - 1
    tau = in_rounds / rounds if rounds else 0.0
    yield (
        "finish",
        {
            "t": clock,
            "reason": "eos",
            "tokens": len(text),
            "rounds": rounds,
            "target_passes": rounds,
            "tau": tau,
            "tau_without_last": tau,
            "tok_s": {
                "decode": 1000 * in_rounds / clock if clock else 0.0,
                "end_to_end": 1000 * in_rounds / (clock + 120),
            },
            "ms": {"draft": 1.0, "build": 1.0, "verify": 1.0, "accept": 1.0, "commit": 1.0},
        },
    )


def _verbs(
    text: str, at: int, ahead: str, drafted: int, number: int, clock: float
) -> Iterator[tuple[str, Line]]:
    parent, token, p_draft, rank = [-1], [text[at - 1]], [1.0], [0]
    last = 0
    path = [0]
    for depth, char in enumerate(ahead):
        right = char if depth < drafted else "#"
        for r, candidate in enumerate((right, "?")):
            parent.append(last)
            token.append(candidate)
            p_draft.append(0.8 if r == 0 else 0.1)
            rank.append(r)
        last = len(parent) - 2
        if depth < drafted:
            path.append(last)
    nodes = len(parent)
    yield "draft", {"r": number, "t": clock + 4, "ms": 4.0, "size": len(ahead), "drafter_passes": 1}
    tree = {"parent": parent, "id": [ord(c) for c in token], "text": token}
    tree |= {"p_draft": p_draft, "rank": rank}
    yield "build", {"r": number, "t": clock + 5, "ms": 1.0, "tree": tree, "node_budget": nodes - 1}
    scores: Line = {"posterior": [ord("x")] * nodes, "p_target": [0.5] * nodes, "h": [0.1] * nodes}
    yield "verify", {"r": number, "t": clock + 16, "ms": 11.0, **scores}
    bonus = {"id": ord(text[at + drafted]), "text": text[at + drafted]}
    verdict = {"path": path, "bonus": bonus}
    yield "accept", {"r": number, "t": clock + 16.5, "ms": 0.5, "verdict": verdict}


def _top(char: str) -> list[list[Any]]:
    return [[ord(char), char, 0.9], [35, "#", 0.06]]
