"""How far a tree's logits are from those of one token at a time, measured, and what that certifies.

In half precision a packed pass rounds otherwise than passes over single rows, and two nearly equal
logits may swap. Neither is wrong: every committed token is the argmax of the target's own logits
for what was committed before it. Whether `generate()` would have said the same is certain as far as
this reaches: a token whose top-2 margin is more than twice the bound cannot have been swapped by a
difference within it. The bound is measured on one text, with a factor for safety: an empirical
bound, not a proof.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

import torch
from PIL import Image
from torch import Tensor

from glance.sampling import argmax
from glance.targets.base import Target
from glance.types import CandidateTree, Prompt
from glance.verify import Verifier

#: number formats in which the answer of `generate()` is not promised, and margins tell what is
HALF = (torch.bfloat16, torch.float16)

TOKENS = 64  # of the text that is measured on
DEPTH = 7  # of its trees: two nodes a depth, as many as in a usual round
SAFETY = 2.0
QUESTION = "What does this page say?"


@dataclass(frozen=True, slots=True)
class Certificate:
    """What the self-check found."""

    largest: float  # difference of any logit
    tokens: int  # rows compared

    @property
    def bound(self) -> float:
        """The largest difference to reckon with."""
        return SAFETY * self.largest

    @property
    def swap(self) -> float:
        """The largest gap between two logits that two such differences can close."""
        return 2 * self.bound

    def uncertified(self, margins: Iterable[float]) -> int:
        """How many tokens have a top-2 margin too small to be sure of."""
        return sum(margin <= self.swap for margin in margins)


def self_check(target: Target) -> Certificate:
    """Measure on a page of noise, which is nobody's page and no easy one."""
    noise = torch.randint(256, (448, 448, 3), generator=torch.Generator().manual_seed(0))
    page = Image.fromarray(noise.to(torch.uint8).numpy())
    return measure(target, target.prompt(page, QUESTION))


@torch.inference_mode()
def measure(target: Target, prompt: Prompt) -> Certificate:
    """Write TOKENS tokens one at a time, then read the same in trees, and compare their logits.

    The trees' own keys and values stay in the cache, so what they add up to is measured too.
    """
    request, logits, _ = target.prefill(prompt)
    ids = [int(argmax(logits))]
    alone: list[Tensor] = []
    depth = torch.zeros(1, dtype=torch.long, device=target.device)
    for _ in range(TOKENS):
        row, _ = target.forward(request, torch.full_like(depth, ids[-1]), depth)
        request.length += 1
        alone.append(row[0])
        ids.append(int(argmax(row[0])))
    request.release()
    verifier, largest = Verifier(target), 0.0
    request, _, _ = target.prefill(prompt)
    for start in range(0, TOKENS, DEPTH + 1):
        tree, path = _tree(ids[start : start + DEPTH + 1], target.vocab_size)
        rows = verifier.verify(request, tree).logits[path]
        single = torch.stack(alone[start : start + len(path)])
        largest = max(largest, float((rows.double() - single.double()).abs().max()))
        verifier.keep(request, tree, path)
    request.release()
    return Certificate(largest, TOKENS)


@torch.inference_mode()
def shortfall(target: Target, prompt: Prompt, ids: Sequence[int]) -> float:
    """By how much a token's logit falls short of the largest, at most, read one token at a time.

    Where tree and single rows differ by no more than the bound, that is at most twice the bound.
    """
    request, logits, _ = target.prefill(prompt)
    depth = torch.zeros(1, dtype=torch.long, device=target.device)
    largest = 0.0
    for token_id in ids:
        largest = max(largest, float(logits.max() - logits[token_id]))
        rows, _ = target.forward(request, torch.full_like(depth, token_id), depth)
        request.length += 1
        logits = rows[0]
    request.release()
    return largest


def _tree(ids: Sequence[int], vocab_size: int) -> tuple[CandidateTree, list[int]]:
    """The text as a path through a tree, with a wrong sibling before each of its nodes."""
    tokens, parents, depths, path = [ids[0]], [-1], [0], [0]
    for depth, token_id in enumerate(ids[1:], start=1):
        tokens += [(token_id + 1) % vocab_size, token_id]
        parents += [path[-1]] * 2
        depths += [depth] * 2
        path.append(len(tokens) - 1)
    size = len(tokens)
    return CandidateTree(
        tuple(tokens), tuple(parents), tuple(depths), (0,) * size, (1.0,) * size
    ), path
