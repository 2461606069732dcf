"""The target's own answers on training pages, with the hidden states a head learns from.

All questions of a page are answered at once and taps are taken on the way, so nothing is run twice.
A record holds one page:

    row       0 .. n0-1        then question 1           then question 2 ...
    segment   0 (the page)     1 1 1 1 ...               2 2 2 ...
    position  0 .. n0-1        n0, n0+1, ...             n0, n0+1, ...

Position is the place in the stream of that question. The page's rows and those of one question
are the stream that serving sees.
"""

from __future__ import annotations

import json
import os
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from difflib import SequenceMatcher
from pathlib import Path
from typing import Protocol

import torch
from PIL import Image
from safetensors import safe_open
from safetensors.torch import save_file
from torch import Tensor

from glance.answers import answer_together, read_together
from glance.documents.page import Page, Question
from glance.heads.config import HeadError
from glance.sampling import Sampler, argmax
from glance.targets.base import Target
from glance.types import Prompt

LONGEST = 320  # tokens of an answer
TEMPERATURE = 1.0  # of sampled answers


class Sheet(Protocol):
    """An image and what is asked about it; a generated page, or what a person brought."""

    @property
    def index(self) -> int:
        """Its number, by which draws are seeded."""
        ...

    @property
    def image(self) -> Image.Image:
        """Of any mode."""
        ...

    @property
    def questions(self) -> tuple[Question, ...]:
        """At least one."""
        ...


#: The sheet of a split with a number, the same every time.
Source = Callable[[str, int], Sheet]


@dataclass(frozen=True, slots=True)
class Record:
    """One page and the answers to its questions, packed; rows ordered by segment, then position."""

    ids: Tensor  # [S] long
    positions: Tensor  # [S] long
    segments: Tensor  # [S] long
    answer: Tensor  # [S] bool: tokens that the target produced
    rotary: Tensor  # [axes, S] long: the target's own positions
    #: [S, K, d] taps; zeros at the last token of an answer, which was never an input. K is 0 in a
    #: record that is kept without them: see `read_again`
    features: Tensor
    #: [S] long: row of the visual token that an answer token was copied from, -1 if not known
    cells: Tensor
    tasks: tuple[str, ...]  # of segment 1, 2, ...
    taps: tuple[int, ...]  # layer ids of the K features
    target_revision: str  # hash of the weights that answered

    def has_cells(self) -> bool:
        """Whether it is known of any token where it was copied from."""
        return bool((self.cells >= 0).any())

    def stream(self, segment: int) -> Tensor:
        """Rows of the page and of one question, in order."""
        return ((self.segments == 0) | (self.segments == segment)).nonzero()[:, 0]

    def tapped(self, taps: Sequence[int]) -> Record:
        """The record with these of its taps alone."""
        features = self.features[:, [self.taps.index(tap) for tap in taps]]
        return replace(self, features=features, taps=tuple(taps))

    def longest(self) -> int:
        """The segment with the longest answer."""
        return longest_answer(self.answer, self.segments)

    def without_end(self, tokens: int) -> Record:
        """The record with the last `tokens` of its longest answer marked as no answer."""
        return replace(self, answer=without_end(self.answer, self.segments, tokens))


def longest_answer(answer: Tensor, segments: Tensor) -> int:
    """See `Record.longest`, of which these are parts."""
    return int(torch.bincount(segments[answer]).argmax())


def without_end(answer: Tensor, segments: Tensor, tokens: int) -> Tensor:
    """What is still an answer in `Record.without_end`: [S] bool."""
    rows = (answer & (segments == longest_answer(answer, segments))).nonzero()[:, 0]
    left = answer.clone()
    left[rows[len(rows) - tokens :]] = False
    return left


TENSORS = ("ids", "positions", "segments", "answer", "rotary", "features", "cells")


@torch.inference_mode()
def answer_page(
    target: Target,
    prompts: Sequence[Prompt],  # the same images, one question each
    tasks: Sequence[str],
    taps: Sequence[int],
    max_new_tokens: int,
    choose: Callable[[Tensor], Tensor] = argmax,
) -> Record:
    """Answers of `target` to all `prompts`, as a packed record with features in bfloat16."""
    done = answer_together(target, prompts, [max_new_tokens] * len(prompts), taps, choose)
    taken = done.features
    if taken is None:
        taken = torch.empty(len(done.ids), 0, target.hidden_size, dtype=torch.bfloat16)
    # The last token of each answer is a label only: it was never an input.
    lengths = [prompt.input_ids.shape[1] for prompt in prompts]
    last = [n + len(answer) - 1 for n, answer in zip(lengths, done.answers, strict=True)]
    ids = done.ids + [answer[-1] for answer in done.answers]
    positions = done.positions + last
    segments = done.segments + list(range(1, len(prompts) + 1))
    zeros = taken.new_zeros(len(prompts), *taken.shape[1:])
    features = torch.cat((taken, zeros)).cpu()

    packed = torch.tensor([ids, positions, segments])
    order = torch.argsort(packed[2] * (int(packed[1].max()) + 1) + packed[1])
    packed = packed[:, order]
    starts = torch.tensor([done.shared, *lengths])  # of each answer
    axes, rope_delta = target.family.prompt_positions(target.model, prompts[0])
    read = axes.flatten(0, -2).cpu()[:, packed[1].clamp(max=done.shared - 1)]
    return Record(
        ids=packed[0],
        positions=packed[1],
        segments=packed[2],
        answer=(packed[2] > 0) & (packed[1] >= starts[packed[2]]),
        rotary=torch.where(packed[2] == 0, read, packed[1] + rope_delta),
        features=features[order],
        cells=torch.full_like(packed[0], -1),
        tasks=tuple(tasks),
        taps=tuple(taps),
        target_revision=target.revision,
    )


def capture_page(target: Target, sheet: Sheet, taps: Sequence[int]) -> Record:
    """Ask the target every question of a page; greedy answers."""
    image = sheet.image.convert("RGB")
    prompts = [target.prompt(image, q.question, q.history) for q in sheet.questions]
    tasks = [q.task for q in sheet.questions]
    record = answer_page(target, prompts, tasks, taps, LONGEST)
    if not isinstance(sheet, Page):  # nobody knows where its glyphs are
        return record
    return replace(record, cells=answer_cells(target, prompts[0], sheet, record))


def sample_page(target: Target, sheet: Sheet, taps: Sequence[int], greedy: Record) -> Record:
    """Ask again what had the longest answer: a draw of the target's, no longer than that one."""
    segment = greedy.longest()
    question = sheet.questions[segment - 1]
    prompt = target.prompt(sheet.image.convert("RGB"), question.question, question.history)
    sampler = Sampler(TEMPERATURE, seed=sheet.index)

    def draw(logits: Tensor) -> Tensor:
        return torch.tensor([sampler.pick(row) for row in logits])

    most = int((greedy.answer & (greedy.segments == segment)).sum())
    return answer_page(target, [prompt], [question.task], taps, most, draw)


def read_again(
    target: Target, taps: Sequence[int], sheet: Sheet, record: Record, asked: int = 0
) -> Record:
    """A record without taps, with these: the target reads the page and the known answers again.

    The features are those that it gave when it answered, but for rounding.

    Args:
        target: the model that answered.
        taps: layer ids.
        sheet: the page that the record is of.
        record: see `answer_page`.
        asked: place among the page's questions of the one in segment 1.

    Raises:
        HeadError: the page is not the one that was answered.
    """
    question = sheet.questions[asked]
    prompt = target.prompt(sheet.image.convert("RGB"), question.question, question.history)
    shared = int((record.segments == 0).sum())
    if not torch.equal(prompt.input_ids[0, :shared].cpu(), record.ids[:shared]):
        raise HeadError(
            "An image is another one than when its questions were answered: begin again in another "
            "folder."
        )
    follows = record.segments[1:] == record.segments[:-1]
    read = torch.cat((follows, follows.new_zeros(1))) | (record.segments == 0)
    after = torch.stack((record.segments, record.positions, record.ids), 1)[read][shared:]
    rows = [(segment, position, token_id) for segment, position, token_id in after.tolist()]
    taken = read_together(target, prompt, shared, rows, taps)
    features = torch.zeros(len(read), *taken.shape[1:], dtype=taken.dtype)
    features[read] = taken.cpu()
    return replace(record, features=features, taps=tuple(taps))


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


def save_record(record: Record, path: Path) -> None:
    """Write a record; the file appears whole, and one that is there already stays."""
    tensors = {name: getattr(record, name).contiguous() for name in TENSORS}
    partial = path.with_suffix(f".{os.getpid()}.partial")
    about = {"tasks": record.tasks, "taps": record.taps}
    metadata = {name: json.dumps(value) for name, value in about.items()}
    save_file(tensors, partial, {**metadata, "target_revision": record.target_revision})
    try:
        path.hardlink_to(partial)
    except FileExistsError:  # another process was faster
        pass
    finally:
        partial.unlink()


def load_record(path: Path) -> Record:
    """Read what `save_record` wrote."""
    with safe_open(path, framework="pt") as file:
        about = file.metadata()
        return Record(
            **{name: file.get_tensor(name) for name in TENSORS},
            tasks=tuple(json.loads(about["tasks"])),
            taps=tuple(json.loads(about["taps"])),
            target_revision=about["target_revision"],
        )


def load_answers(path: Path) -> Tensor:
    """The answer tokens of a record, all in a row; nothing else is read."""
    with safe_open(path, framework="pt") as file:
        return file.get_tensor("ids")[file.get_tensor("answer")]
