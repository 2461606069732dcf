"""compare: do two lanes agree, token by token? No torch."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from glance.trace import Line

#: the largest logit difference that tree-shaped and one-row passes may show, by dtype: measured
#: on random models (fp32 2e-5, bf16 0.16), with room; twice that can swap the two best tokens
NOISE = {"float64": 1e-9, "float32": 1e-4, "bfloat16": 0.25, "float16": 0.05}


def compare(
    reference: Sequence[dict[str, Any]],  # token records of the reference lane
    other: Sequence[dict[str, Any]],
    dtype: str,  # "float32", ...
    bound: float | None = None,  # the target's own (`glance.certificate`); else that of the dtype
) -> Line:
    """How far two answers agree; the body of a compare line.

    `gap` is the reference's top-2 logit gap at the first difference. The difference is a near tie
    where that gap lies inside numerical noise and the other lane took the reference's second
    choice; anything else is a mismatch.
    """
    of = max(len(reference), len(other))
    equal = 0
    for left, right in zip(reference, other, strict=False):
        if left["id"] != right["id"]:
            break
        equal += 1
    if equal == of:
        same: Line = {"state": "equal", "equal": equal, "of": of, "at": None, "ids": None}
        return {**same, "gap": None, "dtype": dtype}
    ids = [lane[equal]["id"] if equal < len(lane) else None for lane in (reference, other)]
    gap, near = None, False
    if equal < len(reference):
        gap = reference[equal]["margin"]
        best_two = [token_id for token_id, _, _ in reference[equal]["top"][:2]]
        noise = NOISE.get(dtype, 0.0) if bound is None else bound
        near = gap <= 2 * noise and ids[1] in best_two
    return {
        "state": "near_tie" if near else "mismatch",
        "equal": equal,
        "of": of,
        "at": equal,
        "ids": ids,
        "gap": gap,
        "dtype": dtype,
    }
