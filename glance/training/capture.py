"""The target's own greedy answers on training pages, with the hidden states a head learns from.

All questions of a page are answered at once: the page is read one time, and the questions follow it
in the target's cache side by side, each seeing the page and itself. Taps are taken on the way, so
nothing is run twice. A record holds one page:

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

from glance.documents.dataset import page
from glance.documents.page import Page
from glance.sampling import argmax
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
    shared = _page_length(prompts)
    device = target.device
    begin = replace(
        prompts[0],
        input_ids=prompts[0].input_ids[:, :shared],
        model_inputs={
            key: value[:, :shared] if value.shape[:2] == prompts[0].input_ids.shape else value
            for key, value in prompts[0].model_inputs.items()
        },
    )
    request, _, page_features = target.prefill(begin, taps)
    assert page_features is not None

    # Every cached row by segment and position; a row sees the page and its own past.
    tails = [prompt.input_ids[0, shared:].tolist() for prompt in prompts]
    segments, positions = [0] * shared, list(range(shared))
    ids: list[int] = prompts[0].input_ids[0, :shared].tolist()
    features = [page_features.bfloat16()]

    def forward(rows: list[tuple[int, int, int]]) -> Tensor:  # (segment, position, id) -> [rows, V]
        for row in rows:
            segments.append(row[0])
            positions.append(row[1])
            ids.append(row[2])
        segment, position = torch.tensor(segments), torch.tensor(positions)
        mine, at = segment[-len(rows) :, None], position[-len(rows) :, None]
        mask = ((segment == 0) | (segment == mine)) & (position <= at)
        logits, new = target.forward(
            request,
            torch.tensor([row[2] for row in rows], device=device),
            torch.tensor([row[1] - shared for row in rows], device=device),
            mask[None, None].to(device),
            taps,
        )
        assert new is not None
        features.append(new.bfloat16())
        return logits

    logits = forward(
        [(q + 1, shared + i, t) for q, tail in enumerate(tails) for i, t in enumerate(tail)]
    )
    ends = torch.tensor([len(tail) for tail in tails]).cumsum(0) - 1
    tokens: list[int] = argmax(logits[ends.to(device)]).tolist()
    live = list(range(len(prompts)))
    lengths = [len(tail) for tail in tails]  # of each segment so far
    answers: list[list[int]] = [[] for _ in prompts]
    while live:
        for q, token_id in zip(live, tokens, strict=True):
            answers[q].append(token_id)
        live = [
            q
            for q in live
            if answers[q][-1] not in target.eos_ids and len(answers[q]) < max_new_tokens
        ]
        if live:
            rows = [(q + 1, shared + lengths[q], answers[q][-1]) for q in live]
            for q in live:
                lengths[q] += 1
            tokens = argmax(forward(rows)).tolist()
    # The last token of each answer is a label only.
    last = [(q + 1, shared + lengths[q], answer[-1]) for q, answer in enumerate(answers)]
    features.append(features[0].new_zeros(len(last), *features[0].shape[1:]))
    for segment, position, token_id in last:
        segments.append(segment)
        positions.append(position)
        ids.append(token_id)

    packed = torch.tensor([ids, positions, segments])
    order = torch.argsort(packed[2] * (int(packed[1].max()) + 1) + packed[1])
    packed = packed[:, order]
    starts = torch.tensor([shared, *(shared + len(tail) for tail in tails)])  # of each answer
    return Record(
        ids=packed[0],
        positions=packed[1],
        segments=packed[2],
        answer=(packed[2] > 0) & (packed[1] >= starts[packed[2]]),
        features=torch.cat(features).cpu()[order],
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
    prompts = [target.prompt(image, q.question) for q in sheet.questions]
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


def _page_length(prompts: Sequence[Prompt]) -> int:
    """Length of the common beginning of the prompts; the image must lie inside it."""
    first = prompts[0].input_ids[0]
    shared = min(prompt.input_ids.shape[1] for prompt in prompts) - 1
    for prompt in prompts[1:]:
        differs = (prompt.input_ids[0, :shared] != first[:shared]).nonzero()
        shared = min(shared, int(differs[0]) if len(differs) else shared)
    return shared
