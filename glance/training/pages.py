"""Training batches for the target: page windows, strips of lines, whole pages with questions.

Everything is cut on the 14 px cell grid, so a pixel window is also a window of visual tokens.
Shapes: b pages, R x C cells, 4 character slots a cell (the glyphs whose centres fall into it).
"""

import random
from collections.abc import Mapping
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass
from typing import Any

import numpy as np

from glance.documents.dataset import page
from glance.documents.page import Page
from glance.documents.phrasings import ask_for
from glance.targets.embedded import CELL, CHARACTERS, FIRST_CHARACTER

SLOTS = 4  # characters a cell can hold
CLASSES = 96  # 0 blank, then printable ASCII from "!"

_ID = {c: FIRST_CHARACTER + i for i, c in enumerate(CHARACTERS)}


def encode(text: str) -> list[int]:
    """Token ids of a text made of the vocabulary's own characters."""
    return [_ID[c] for c in text]


@dataclass(frozen=True, slots=True)
class Turn:
    """One question and its answer; `cells` names the cell of each answer character, -1 none."""

    question: list[int]
    answer: list[int]
    cells: list[tuple[int, int]]  # (row, column), (-1, -1) for separators


@dataclass(frozen=True, slots=True)
class TrainPage:
    image: np.ndarray  # [R * 14, C * 14] uint8
    labels: np.ndarray  # [R, C * 4] int8, character classes
    paper: int  # grey level of the paper
    bands: list[tuple[float, float]]  # top and bottom of each visual line, px
    lines: list[Turn]  # one a visual line, questions empty
    turns: list[Turn]  # every docvqa question of the page


def _cell(page_: Page, glyph: int) -> tuple[int, int]:
    if glyph < 0:
        return -1, -1
    x, y = page_.glyphs[glyph].middle
    w, h = page_.image.size
    return min(int(y // CELL), h // CELL - 1), min(int(x // CELL), w // CELL - 1)


def _train_page(item: tuple[str, int]) -> TrainPage:
    p = page(*item)
    w, h = p.image.size
    labels = np.zeros((h // CELL, w // CELL * SLOTS), np.int8)
    for i, g in enumerate(p.glyphs):
        if g.char != " ":
            slot = int((g.box[0] + g.box[2]) / 2 // (CELL / SLOTS))
            labels[_cell(p, i)[0], min(max(slot, 0), labels.shape[1] - 1)] = ord(g.char) - 32
    lines, bands = [], []
    for line in p.lines:
        indices: list[int] = []
        for span in line:
            indices += ([-1] if indices else []) + list(range(span.start, span.stop))
        text = "".join(p.glyphs[i].char if i >= 0 else " " for i in indices)
        lines.append(Turn([], encode(text), [_cell(p, i) for i in indices]))
        box = p.glyphs[line[0].start].box
        bands.append((box[1], box[3]))
    turns = [
        Turn(encode(q.question), encode(q.answer), [_cell(p, i) for i in q.glyphs])
        for q in p.questions
        if q.task != "transcribe"
    ]
    image = np.asarray(p.image)
    return TrainPage(image, labels, int(image[0, 0]), bands, lines, turns)


def render(split: str, start: int, count: int, workers: int = 2) -> list[TrainPage]:
    """Pages [start, start + count) of a split, about 7 ms each and core."""
    items = [(split, i) for i in range(start, start + count)]
    with ProcessPoolExecutor(workers) as pool:
        return list(pool.map(_train_page, items, chunksize=64))


@dataclass(frozen=True, slots=True)
class Batch:
    images: np.ndarray  # [b, R * 14, C * 14] uint8
    labels: np.ndarray  # [b, R, C * 4] int8
    turns: list[list[Turn]]  # one list a page


class Sampler:
    """Draws batches of one shape from rendered pages."""

    def __init__(self, pages: list[TrainPage], seed: int) -> None:
        self.pages = pages
        self.rng = random.Random(seed)
        self.by_width: dict[int, list[TrainPage]] = {}
        self.by_shape: dict[tuple[int, int], list[TrainPage]] = {}
        for p in pages:
            h, w = p.image.shape
            self.by_width.setdefault(w, []).append(p)
            self.by_shape.setdefault((h, w), []).append(p)

    def _group(self, groups: Mapping[Any, list[TrainPage]]) -> list[TrainPage]:
        lists = list(groups.values())
        return self.rng.choices(lists, [len(g) for g in lists])[0]

    def windows(self, size: int, rows: int = 8, columns: int = 16) -> Batch:
        """Windows of fixed shape from anywhere on a page, for the glyph loss; no turns."""
        images: list[np.ndarray] = []
        labels: list[np.ndarray] = []
        while len(images) < size:
            p = self.rng.choice(self.pages)
            grid_rows, grid_columns = p.labels.shape[0], p.labels.shape[1] // SLOTS
            if grid_rows < rows or grid_columns < columns:
                continue
            r = self.rng.randint(0, grid_rows - rows)
            c = self.rng.randint(0, grid_columns - columns)
            images.append(p.image[r * CELL : (r + rows) * CELL, c * CELL : (c + columns) * CELL])
            labels.append(p.labels[r : r + rows, c * SLOTS : (c + columns) * SLOTS])
        return Batch(np.stack(images), np.stack(labels), [[] for _ in images])

    def strips(self, budget: int, rows: int) -> Batch:
        """Consecutive lines that fit into `rows` cell rows; everything else is painted over.

        As many strips as make `budget` visual tokens.
        """
        images, labels, turns = [], [], []
        group = self._group(self.by_width)
        size = max(budget // (rows * group[0].labels.shape[1] // SLOTS), 2)
        for p in self.rng.choices(group, k=size):
            first = self.rng.randrange(len(p.lines))
            top = max(int((p.bands[first][0] - 2) // CELL), 0)
            high = max(p.labels.shape[0] - rows, 0)
            top = min(top, high)
            last = first
            while last + 1 < len(p.lines) and p.bands[last + 1][1] + 2 <= (top + rows) * CELL:
                last += 1
            image = np.full((rows * CELL, p.image.shape[1]), p.paper, np.uint8)
            label = np.zeros((rows, p.labels.shape[1]), np.int8)
            y0 = max(int(p.bands[first][0]) - 1, top * CELL)
            y1 = min(int(p.bands[last][1]) + 1, (top + rows) * CELL, p.image.shape[0])
            image[y0 - top * CELL : y1 - top * CELL] = p.image[y0:y1]
            answer: list[int] = []
            cells: list[tuple[int, int]] = []
            for line in p.lines[first : last + 1]:
                if answer:
                    answer, cells = answer + encode("\n"), [*cells, (-1, -1)]
                answer = answer + line.answer
                cells += [(r - top if r >= 0 else -1, c) for r, c in line.cells]
            for r in {r for r, _ in cells if 0 <= r < rows}:
                label[r] = p.labels[r + top]
            images.append(image)
            labels.append(label)
            question = encode(ask_for("transcribe", "", self.rng))
            turns.append([Turn(question, answer, cells)])
        return Batch(np.stack(images), np.stack(labels), turns)

    def whole(self, budget: int, asks: int) -> Batch:
        """Whole pages of `budget` visual tokens: the transcription and up to `asks` questions."""
        group = self._group(self.by_shape)
        size = max(budget * SLOTS // group[0].labels.size, 2)
        chosen = self.rng.choices(group, k=size)
        turns = []
        for p in chosen:
            answer: list[int] = []
            cells: list[tuple[int, int]] = []
            for line in p.lines:
                if answer:
                    answer, cells = answer + encode("\n"), [*cells, (-1, -1)]
                answer, cells = answer + line.answer, cells + line.cells
            question = encode(ask_for("transcribe", "", self.rng))
            some = self.rng.sample(p.turns, min(asks, len(p.turns)))
            turns.append([Turn(question, answer, cells), *some])
        return Batch(
            np.stack([p.image for p in chosen]), np.stack([p.labels for p in chosen]), turns
        )
