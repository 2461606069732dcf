"""The target's own greedy answers on training pages, with the hidden states a head learns from.

All questions of a page are answered at once and taps are taken on the way, so nothing is run twice.
A record holds one page:

    row       0 .. n0-1        then question 1           then question 2 ...
    segment   0 (the page)     1 1 1 1 ...               2 2 2 ...
    position  0 .. n0-1        n0, n0+1, ...             n0, n0+1, ...

Position is the place in the stream of that question, what a head's rotary positions count.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from difflib import SequenceMatcher
from multiprocessing import get_context, parent_process
from multiprocessing.synchronize import Event
from pathlib import Path

import torch
from safetensors import safe_open
from safetensors.torch import save_file
from torch import Tensor

from glance.answers import answer_together
from glance.documents.dataset import page
from glance.documents.page import Page
from glance.targets.base import Target
from glance.targets.load import load_target
from glance.types import Prompt


@dataclass(frozen=True, slots=True)
class Record:
    """One page and the answers to its questions, packed; rows ordered by segment, then position."""

    ids: Tensor  # [S] long
    positions: Tensor  # [S] long
    segments: Tensor  # [S] long
    answer: Tensor  # [S] bool: tokens that the target produced
    #: [S, K, d] taps; zeros at the last token of an answer, which was never an input
    features: Tensor
    #: [S] long: row of the visual token that an answer token was copied from, -1 if not known
    cells: Tensor
    tasks: tuple[str, ...]  # of segment 1, 2, ...


TENSORS = ("ids", "positions", "segments", "answer", "features", "cells")


@torch.inference_mode()
def answer_page(
    target: Target,
    prompts: Sequence[Prompt],  # the same images, one question each
    tasks: Sequence[str],
    taps: Sequence[int],
    max_new_tokens: int,
) -> Record:
    """Greedy answers of `target` to all `prompts`, as a packed record with features in bfloat16."""
    done = answer_together(target, prompts, [max_new_tokens] * len(prompts), taps)
    assert done.features is not None
    # The last token of each answer is a label only: it was never an input.
    lengths = [prompt.input_ids.shape[1] for prompt in prompts]
    last = [n + len(answer) - 1 for n, answer in zip(lengths, done.answers, strict=True)]
    ids = done.ids + [answer[-1] for answer in done.answers]
    positions = done.positions + last
    segments = done.segments + list(range(1, len(prompts) + 1))
    zeros = done.features.new_zeros(len(prompts), *done.features.shape[1:])
    features = torch.cat((done.features, zeros)).cpu()

    packed = torch.tensor([ids, positions, segments])
    order = torch.argsort(packed[2] * (int(packed[1].max()) + 1) + packed[1])
    packed = packed[:, order]
    starts = torch.tensor([done.shared, *lengths])  # of each answer
    return Record(
        ids=packed[0],
        positions=packed[1],
        segments=packed[2],
        answer=(packed[2] > 0) & (packed[1] >= starts[packed[2]]),
        features=features[order],
        cells=torch.full_like(packed[0], -1),
        tasks=tuple(tasks),
    )


def capture_page(
    target: Target,
    sheet: Page,
    taps: Sequence[int],
    max_new_tokens: int = 320,
) -> Record:
    """Ask the target every question of a page."""
    image = sheet.image.convert("RGB")
    prompts = [target.prompt(image, q.question, q.history) for q in sheet.questions]
    tasks = [q.task for q in sheet.questions]
    record = answer_page(target, prompts, tasks, taps, max_new_tokens)
    return replace(record, cells=answer_cells(target, prompts[0], sheet, record))


def answer_cells(target: Target, prompt: Prompt, sheet: Page, record: Record) -> Tensor:
    """Row of the visual token behind each answer token [S], by the places of the page's glyphs.

    The target's answer is aligned with the true one; what it misread or made up stays -1, and so
    does everything on a target without an image grid.
    """
    cells = torch.full_like(record.ids, -1)
    grid = prompt.model_inputs.get("image_grid_thw")
    image = (prompt.input_ids[0] == target.model.config.image_token_id).nonzero()[:, 0].tolist()
    if grid is None or not image:
        return cells
    merge = target.model.config.vision_config.spatial_merge_size
    rows, columns = int(grid[0, 1]) // merge, int(grid[0, 2]) // merge
    width, height = sheet.image.size
    for segment, question in enumerate(sheet.questions, start=1):
        coded = target.tokenizer(question.answer, return_offsets_mapping=True)
        glyphs = [question.glyphs[begin] for begin, _ in coded["offset_mapping"]]
        at = (record.answer & (record.segments == segment)).nonzero()[:, 0].tolist()
        given = record.ids[at].tolist()
        match = SequenceMatcher(None, given, coded["input_ids"], autojunk=False)
        for mine, true, length in match.get_matching_blocks():
            for row, glyph in zip(
                at[mine : mine + length], glyphs[true : true + length], strict=True
            ):
                if glyph >= 0:
                    x, y = sheet.glyphs[glyph].middle
                    r = min(int(y / height * rows), rows - 1)
                    c = min(int(x / width * columns), columns - 1)
                    cells[row] = image[r * columns + c]
    return cells


def record_path(folder: Path, split: str, index: int) -> Path:
    """Where the record of a page lies."""
    return folder / f"{split}-{index:05d}.safetensors"


@contextmanager
def answering(
    target: str,  # name or folder, for load_target
    taps: Sequence[int],
    folder: Path,
    pages: range,
) -> Iterator[None]:
    """Answer training pages in another process while the body runs; they appear in `folder`."""
    context = get_context("spawn")
    stop = context.Event()
    worker = context.Process(
        target=_answer_pages, args=(target, tuple(taps), folder, pages, stop), daemon=True
    )
    worker.start()
    try:
        yield
    finally:
        stop.set()
        worker.join()


def _answer_pages(
    target: str, taps: tuple[int, ...], folder: Path, pages: range, stop: Event
) -> None:
    torch.set_num_threads(1)
    loaded, parent = load_target(target), parent_process()
    for index in pages:
        if stop.is_set() or (parent is not None and not parent.is_alive()):
            return
        path = record_path(folder, "train", index)
        if not path.exists():
            save_record(capture_page(loaded, page("train", index), taps), path)


def save_record(record: Record, path: Path) -> None:
    """Write a record; the file appears whole or not at all."""
    tensors = {name: getattr(record, name) for name in TENSORS}
    partial = path.with_suffix(".partial")
    save_file(tensors, partial, metadata={"tasks": json.dumps(record.tasks)})
    partial.replace(path)


def load_record(path: Path) -> Record:
    """Read what `save_record` wrote."""
    with safe_open(path, framework="pt") as file:
        tasks = tuple(json.loads(file.metadata()["tasks"]))
        return Record(tasks=tasks, **{name: file.get_tensor(name) for name in TENSORS})
