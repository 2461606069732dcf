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
from contextlib import ExitStack
from dataclasses import dataclass

import torch
from PIL import Image
from torch import Tensor

from glance.config import DecodeConfig
from glance.drafters.ngram import NgramDrafter
from glance.engine.choose import engine_for
from glance.engine.engine import Engine, EngineError, Seat
from glance.engine.rounds import StaticVerifier
from glance.sampling import argmax
from glance.targets.base import Target
from glance.types import CandidateTree, Prompt
from glance.verify import Verifier

#: number formats in which the answer of `generate()` is not promised, and margins tell what is
HALF = (torch.bfloat16, torch.float16)

TOKENS = 64  # of the text that is measured on
DEPTH = 7  # of its trees
WIDTHS = (2, 9)  # nodes a depth: as many as in a usual round, and as in the largest of presets
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
def measure(
    target: Target,
    prompt: Prompt,
    engine: Engine | None = None,  # by default the one that `engine_for` chooses
) -> Certificate:
    """Write TOKENS tokens one at a time, then read the same in trees, and compare their logits.

    The single rows are those of `generate()`; the trees go through the engine's passes where
    rounds would, as its shapes round otherwise. The trees' own keys and values stay in the cache,
    so what they add up to is measured too.
    """
    ids, alone = _alone(target, prompt)
    with ExitStack() as held:
        seat = _seat(held, target, prompt, engine or engine_for(target))
        largest = max(_apart(target, prompt, seat, ids, alone, width) for width in WIDTHS)
    return Certificate(largest, TOKENS)


def _seat(held: ExitStack, target: Target, prompt: Prompt, engine: Engine | None) -> Seat | None:
    """The engine's, where it can be had, for trees of any width."""
    if engine is None:
        return None
    drafter = NgramDrafter(target.model.config.image_token_id)  # one that taps nothing
    config = DecodeConfig(DEPTH * max(WIDTHS), max_new_tokens=TOKENS)
    try:
        return held.enter_context(engine.seated(drafter, prompt.input_ids.shape[1], config))
    except EngineError:
        return None


def _alone(target: Target, prompt: Prompt) -> tuple[list[int], list[Tensor]]:
    """A text, its first token from the prefill, and the logits [V] after each of its tokens."""
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
    return ids, alone


def _apart(
    target: Target,
    prompt: Prompt,
    seat: Seat | None,
    ids: Sequence[int],
    alone: list[Tensor],
    width: int,
) -> float:
    """The largest difference of any logit, the text being read in trees of this width."""
    verifier, largest = StaticVerifier(seat) if seat else Verifier(target), 0.0
    request, _, _ = target.prefill(prompt)
    if seat:
        request = seat.load(request)
    for start in range(0, TOKENS, DEPTH + 1):
        tree, path = _tree(ids[start : start + DEPTH + 1], target.vocab_size, width)
        rows = verifier.verify(request, tree).logits[path]
        single = torch.stack(alone[start : start + len(path)])
        largest = max(largest, float((rows.double() - single.double()).abs().max()))
        verifier.keep(request, tree, path)
    request.release()
    return largest


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


def _tree(ids: Sequence[int], vocab_size: int, width: int) -> tuple[CandidateTree, list[int]]:
    """The text as a path through a tree, with wrong siblings before each of its nodes."""
    tokens, parents, depths, path = [ids[0]], [-1], [0], [0]
    for depth, token_id in enumerate(ids[1:], start=1):
        tokens += [(token_id + wrong) % vocab_size for wrong in range(width - 1, -1, -1)]
        parents += [path[-1]] * width
        depths += [depth] * width
        path.append(len(tokens) - 1)
    size = len(tokens)
    return CandidateTree(
        tuple(tokens), tuple(parents), tuple(depths), (0,) * size, (1.0,) * size
    ), path
