"""The card beside a trained head: what it is, what it learned from, and how."""

from __future__ import annotations

from datetime import UTC, datetime
from pathlib import Path

import torch

from glance.training.data_corpus import DataFile
from glance.training.loop import PAGES_A_STEP, SEED, HeadTraining
from glance.training.replayed import NODE_BUDGET
from glance.types import INPUT

SAID = {"greedy": "greedy", "rest": "greedy without the sampled part", "sampled": "sampled"}


def card(run: HeadTraining, command: str) -> str:
    """Markdown; `command` is what began the run, but for a head that it started from."""
    recipe, progress, corpus = run.recipe, run.progress, run.corpus
    parameters = sum(p.numel() for p in recipe.head.parameters())
    taps = ", ".join("input" if tap == INPUT else str(tap) for tap in run.taps)
    tokens = " + ".join(f"{corpus.tokens(a):,} {SAID[a]}" for a in recipe.stages)
    total, greedy = sum(corpus.tokens(a) for a in recipe.stages), corpus.tokens("greedy")
    others = "as many as for any other head here"
    if total > greedy:
        others = f"where others have {greedy:,}, as answers too short to divide are learned twice"
    start = "random weights"
    if progress.start:
        given = Path(progress.start)
        # the card is published: no paths of one's own disk
        command += f" --start {given.name if given.is_absolute() else given}"
        start = f"the head with weights `{progress.start_revision}`"
    kind = "generated training pages"
    if isinstance(corpus.source, DataFile):
        kind = f"of {corpus.source.training:,} images of people's own"
    held_out = len(list(corpus.folder.glob("validation-*.safetensors")))
    left_out = f"| trained without | {recipe.without} |\n" if recipe.without else ""
    tried = [f"{rate:g}" for rate, _ in progress.stages[0].tried]
    searched = "\n".join(
        f"| {SAID[stage.answers]} | {' | '.join(f'{tau:.3f}' for _, tau in stage.tried)} "
        f"| {stage.rate:g} | {stage.steps} | {stage.ended} |"
        for stage in progress.stages
    )
    return f"""# {recipe.title}

Weights of the drafter `{recipe.name}` for the target with weights `{progress.target_revision}`.

| | |
|---|---|
| parameters | {parameters:,} trained; what the target has is not among them |
| learns from target layers | {taps} |
| started from | {start} |
| corpus | {len(corpus.pages):,} {kind}, the target's own answers |
| answer tokens | {total:,}, {others}: {tokens} |
{left_out}| step | {PAGES_A_STEP} pages, {recipe.a_page} of each |
| optimizer | Muon for the layers' matrices, AdamW for the rest |
| time | {progress.seconds / 60:.0f} min; the answers took {corpus.seconds / 60:.0f} min before |
| seed | {SEED} |
| date | {datetime.now(UTC):%Y-%m-%d} |
| command | `{command}` |
| torch | {torch.__version__} |

## Learning rate and length

Short runs with every rate, τ on validation pages after each; then on from the best, in steps of
lower rates, until validation is flat or the time is up.

| answers | {" | ".join(tried)} | chosen | steps | ended |
|---|{"---|" * (len(tried) + 3)}
{searched}

## Validation

Rounds replayed on {held_out} validation pages, every second question, node budget \
{NODE_BUDGET}:

    {progress.validation}

![validation during training](curve.svg)
"""
