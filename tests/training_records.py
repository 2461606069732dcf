"""A tiny target as training loads one, and records in the packed shape."""

from __future__ import annotations

from dataclasses import replace
from itertools import accumulate

import torch

from glance.targets.base import Target
from glance.targets.embedded import IMAGE, build_model, build_processor
from glance.targets.load import make_target
from glance.training.capture import Record
from glance.types import Prompt
from tests import tiny_models

LAYERS, WIDTH, TAPS = 4, 64, (-1, 0, 1, 2, 3)
PAGE, TAILS, ANSWERS = 5, (3, 2), (8, 4)  # rows of the page; of each question; of each answer


def tiny_target(dtype: torch.dtype = torch.float32) -> Target:
    """The embedded target's class with random weights, the same each time."""
    torch.manual_seed(0)
    model = build_model(layers=LAYERS, width=WIDTH, vision_layers=1).to(dtype)
    return make_target("tiny", model, build_processor(), revision="tiny")


def make_record(seed: int = 1) -> Record:
    """Random tokens and taps, two questions about a page of two image tokens."""
    generator = torch.Generator().manual_seed(seed)
    segments, positions, answer = [0] * PAGE, list(range(PAGE)), [False] * PAGE
    for q, (tail, length) in enumerate(zip(TAILS, ANSWERS, strict=True)):
        segments += [q + 1] * (tail + length)
        positions += range(PAGE, PAGE + tail + length)
        answer += [False] * tail + [True] * length
    rows = len(segments)
    ids = torch.randint(20, 300, (rows,), generator=generator)
    ids[1:3] = IMAGE
    # the image's tokens stand at one moment, and the text goes on after its longer side
    moments = list(accumulate([0, 1, 0, 2, *[1] * (max(positions) - 3)]))
    time = torch.tensor(moments)[positions]
    return Record(
        ids=ids,
        positions=torch.tensor(positions),
        segments=torch.tensor(segments),
        answer=torch.tensor(answer),
        rotary=time.expand(3, -1),
        features=torch.randn(rows, len(TAPS), WIDTH, generator=generator, dtype=torch.float64),
        cells=torch.full((rows,), -1),
        tasks=("transcribe", "docvqa"),
        taps=TAPS,
        target_revision="tiny",
    )


def questions(lengths: tuple[int, ...], dtype: torch.dtype = torch.float32) -> list[Prompt]:
    """Prompts for the tiny Qwen3-VL that share an image and end in random questions."""
    base = tiny_models.prompt("qwen3_vl", dtype=dtype)
    shared = base.input_ids.shape[1] - 8
    generator = torch.Generator().manual_seed(4)
    prompts = []
    for length in lengths:
        ids = torch.randint(100, (1, length), generator=generator)
        kinds = base.model_inputs["mm_token_type_ids"][:, :shared]
        kinds = torch.cat((kinds, torch.zeros_like(ids)), 1)
        prompts.append(
            replace(
                base,
                input_ids=torch.cat((base.input_ids[:, :shared], ids), 1),
                model_inputs={**base.model_inputs, "mm_token_type_ids": kinds},
            )
        )
    return prompts
