"""Training batches for the target: page windows, strips of lines, whole pages with questions.

Everything is cut on the 14 px cell grid, so a pixel window is also a window of visual tokens.
Shapes: b pages, R x C cells, 4 character slots a cell (the glyphs whose centres fall into it).
"""

import random
from collections.abc import Mapping, Sequence
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass, replace
from itertools import pairwise
from typing import Any

import numpy as np

from glance.documents.asking import Asker
from glance.documents.dataset import PLACES, page
from glance.documents.kinds import KINDS
from glance.documents.page import Page, Question
from glance.documents.phrasings import ask_for
from glance.documents.values import Values
from glance.targets.embedded import ASSISTANT, CELL, CHARACTERS, END, FIRST_CHARACTER, USER
from glance.training.quoting import NO_CELL, Cell, quoted

SLOTS = 4  # characters a cell can hold
ASKS = 3  # questions a page and visit; more cost text without showing more of the page
PEEKS = 5  # further questions, each cut behind the first characters of its answer
PEEK = 5  # characters; where an answer stands is learnt from its first ones
SPREAD = 2  # pages drawn for one taken, so that a batch's pages have about as much text
_PAGED = 3  # questions that name the page, for prompts of two pages

_ID = {c: FIRST_CHARACTER + i for i, c in enumerate(CHARACTERS)}
_CLASS = {c: i for i, c in enumerate(c for c in CHARACTERS if c not in "\n")}
CLASSES = len(_CLASS)


def encode(text: str) -> list[int]:
    """Token ids of a text made of the vocabulary's own characters."""
    return [_ID[c] for c in text]


@dataclass(frozen=True, slots=True)
class Turn:
    """One question and its answer; `cells` names the cell of each answer character."""

    question: list[int]  # with the dialogue before it
    answer: list[int]
    cells: list[Cell]
    whole: bool = True  # the answer ends here; else it was cut
    quoted: Sequence[Cell] = ()  # cells of the last characters of `question`, as many as known


@dataclass(frozen=True, slots=True)
class TrainPage:
    image: np.ndarray  # [R * 14, C * 14, 3] uint8
    labels: np.ndarray  # [R, C * 4] int8, character classes
    bands: list[tuple[float, float]]  # top and bottom of each visual line, px
    lines: list[Turn]  # one a visual line, questions empty
    stacked: bool  # lines follow each other down the page, so that strips can be cut
    turns: list[Turn]  # every question of the page but the transcription
    paged: tuple[list[Turn], list[Turn]]  # questions "on page 1", "on page 2"


def _cell(page_: Page, glyph: int) -> Cell:
    if glyph < 0:
        return NO_CELL
    x, y = page_.glyphs[glyph].middle
    w, h = page_.image.size
    row, column = int(y // CELL), int(x // CELL)
    return min(max(row, 0), h // CELL - 1), min(max(column, 0), w // CELL - 1)


def _turn(page_: Page, q: Question, lines: Sequence[tuple[str, Sequence[Cell]]]) -> Turn:
    ids: list[int] = []
    for asked, answered in q.history:
        ids += [*encode(asked), ASSISTANT, *encode(answered), END, USER]
    ids += encode(q.question)
    cells = [_cell(page_, i) for i in q.glyphs]
    return Turn(ids, encode(q.answer), cells, quoted=quoted(q.question, lines))


def train_page(split: str, index: int) -> TrainPage:
    """Draw a page and all that can be asked about it."""
    p = page(split, index)
    w, h = p.image.size
    labels = np.zeros((h // CELL, w // CELL * SLOTS), np.int8)
    for i, g in enumerate(p.glyphs):
        if g.char != " ":
            slot = int((g.box[0] + g.box[2]) / 2 // (CELL / SLOTS))
            labels[_cell(p, i)[0], min(max(slot, 0), labels.shape[1] - 1)] = _CLASS[g.char]
    lines, bands, texts = [], [], []
    for line in p.lines:
        indices: list[int] = []
        for span in line:
            indices += ([-1] if indices else []) + list(range(span.start, span.stop))
        text = "".join(p.glyphs[i].char if i >= 0 else " " for i in indices)
        cells = [_cell(p, i) for i in indices]
        lines.append(Turn([], encode(text), cells))
        texts.append((text, cells))
        boxes = [p.glyphs[i].box for i in indices if i >= 0]
        bands.append((min(b[1] for b in boxes), max(b[3] for b in boxes)))
    stacked = all(a[0] < b[0] and a[1] < b[1] for a, b in pairwise(bands)) and not any(
        d.name in ("rotation", "perspective") for d in p.degradations
    )
    asker = Asker(random.Random(f"glance/turns/{split}/{index}"), split)
    asked = {(q.type, q.answer) for q in p.questions}
    more = [asker.question(f) for f in p.facts if (f.type, f.answer) not in asked]
    # one question without an answer a page: as rare as in the mix, saying so is not learnt
    item = Values(asker.rng, split).item().text
    absent = asker.absent(p.facts, KINDS[p.kind].TASK, item)
    if absent and item not in p.values:
        more.append(asker.question(absent))
    paged = [
        [
            asker.question(f, where=asker.rng.choice(PLACES[n]))
            for f in asker.chosen(p.facts, _PAGED)
        ]
        for n in range(2)
    ]
    return TrainPage(
        np.asarray(p.image),
        labels,
        bands,
        lines,
        stacked,
        [_turn(p, q, texts) for q in (*p.questions[1:], *more)],
        ([_turn(p, q, texts) for q in paged[0]], [_turn(p, q, texts) for q in paged[1]]),
    )


def render(split: str, start: int, count: int, workers: int = 2) -> list[TrainPage]:
    """Pages [start, start + count) of a split, some 15 ms each and core."""
    with ProcessPoolExecutor(workers) as pool:
        indices = range(start, start + count)
        return list(pool.map(train_page, [split] * count, indices, chunksize=64))


@dataclass(frozen=True, slots=True)
class Batch:
    """b prompts of `pages` pages each; all pages have one shape."""

    images: np.ndarray  # [b * pages, R * 14, C * 14, 3] uint8
    labels: np.ndarray  # [b * pages, R, C * 4] int8
    turns: list[list[Turn]]  # one list a prompt; rows of a second page count on from R
    pages: int = 1


class Sampler:
    """Draws batches of one shape from rendered pages.

    Processes that step together have a seed each and the plan's seed in common: it decides shapes
    and lengths, so that none waits long for another.
    """

    def __init__(self, pages: list[TrainPage], seed: int, plan: int) -> None:
        self.pages = pages
        self.rng = random.Random(seed)
        self.plan = random.Random(plan)
        self.by_width: dict[int, list[TrainPage]] = {}
        self.by_shape: dict[tuple[int, ...], list[TrainPage]] = {}
        for p in pages:
            if p.stacked:
                self.by_width.setdefault(p.image.shape[1], []).append(p)
            self.by_shape.setdefault(p.image.shape, []).append(p)

    def _group(self, groups: Mapping[Any, list[TrainPage]]) -> list[TrainPage]:
        lists = [groups[key] for key in sorted(groups)]
        return self.plan.choices(lists, [len(g) for g in lists])[0]

    def windows(self, size: int, rows: int = 8, columns: int = 16) -> Batch:
        """Windows of fixed shape from anywhere on a page, for the glyph loss; no turns.

        Of two draws the one with more characters: small print is the hardest and the rarest.
        """
        images: list[np.ndarray] = []
        labels: list[np.ndarray] = []
        while len(images) < size:
            drawn = [self._window(rows, columns) for _ in range(2)]
            image, label = max(drawn, key=lambda window: np.count_nonzero(window[1]))
            images.append(image)
            labels.append(label)
        return Batch(np.stack(images), np.stack(labels), [[] for _ in images])

    def _window(self, rows: int, columns: int) -> tuple[np.ndarray, np.ndarray]:
        while True:
            p = self.rng.choice(self.pages)
            grid_rows, grid_columns = p.labels.shape[0], p.labels.shape[1] // SLOTS
            if grid_rows < rows or grid_columns < columns:
                continue
            r = self.rng.randint(0, grid_rows - rows)
            c = self.rng.randint(0, grid_columns - columns)
            image = p.image[r * CELL : (r + rows) * CELL, c * CELL : (c + columns) * CELL]
            return image, p.labels[r : r + rows, c * SLOTS : (c + columns) * SLOTS]

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
            top = min(top, max(p.labels.shape[0] - rows, 0))
            last = first
            while last + 1 < len(p.lines) and p.bands[last + 1][1] + 2 <= (top + rows) * CELL:
                last += 1
            image = np.empty((rows * CELL, *p.image.shape[1:]), np.uint8)
            image[:] = p.image[0, 0]
            label = np.zeros((rows, p.labels.shape[1]), np.int8)
            y0 = max(int(p.bands[first][0]) - 1, top * CELL)
            y1 = min(int(p.bands[last][1]) + 1, (top + rows) * CELL, p.image.shape[0])
            image[y0 - top * CELL : y1 - top * CELL] = p.image[y0:y1]
            turn = _joined(p.lines[first : last + 1], ask_for("transcribe", "", self.rng), -top)
            turn = Turn(
                turn.question,
                turn.answer,
                [c if 0 <= c[0] < rows else NO_CELL for c in turn.cells],
            )
            for r in {r for r, _ in turn.cells if r >= 0}:
                label[r] = p.labels[r + top]
            images.append(image)
            labels.append(label)
            turns.append([turn])
        return Batch(np.stack(images), np.stack(labels), turns)

    def whole(self, budget: int) -> Batch:
        """Whole pages with the transcription, up to ASKS questions and the beginnings of more.

        As many as make `budget` rows, visual tokens and text. Pages of about as much text come
        together, as the rest of the longest one's row is padding.
        """
        group = self._group(self.by_shape)
        visual = group[0].labels.size // SLOTS
        count = max(SPREAD * budget // visual, 2)
        drawn = [(p, self._turns(p)) for p in self.rng.choices(group, k=count)]
        drawn.sort(key=lambda one: _rows(one[1]))
        last = 1 + int(self.plan.random() * (len(drawn) - 1))
        size = max(budget // (visual + _rows(drawn[last][1])), 2)
        chosen, turns = zip(*drawn[max(last + 1 - size, 0) : last + 1], strict=True)
        return Batch(
            np.stack([p.image for p in chosen]), np.stack([p.labels for p in chosen]), list(turns)
        )

    def _turns(self, p: TrainPage) -> list[Turn]:
        asked = self.rng.sample(p.turns, min(ASKS + PEEKS, len(p.turns)))
        peeks = [_beginning(t) for t in asked[ASKS:]]
        return [_joined(p.lines, ask_for("transcribe", "", self.rng)), *asked[:ASKS], *peeks]

    def pairs(self, budget: int) -> Batch:
        """Prompts of two pages, with questions that name the page."""
        group = self._group(self.by_shape)
        size = max(budget * SLOTS // group[0].labels.size // 2, 1)
        chosen = self.rng.choices(group, k=2 * size)
        rows = group[0].labels.shape[0]
        turns = [
            first.paged[0]
            + [
                replace(t, cells=_moved(t.cells, rows), quoted=_moved(t.quoted, rows))
                for t in second.paged[1]
            ]
            for first, second in zip(chosen[::2], chosen[1::2], strict=True)
        ]
        return Batch(
            np.stack([p.image for p in chosen]),
            np.stack([p.labels for p in chosen]),
            turns,
            pages=2,
        )


def _rows(turns: Sequence[Turn]) -> int:
    """Text tokens of a page's turns."""
    return sum(len(t.question) + len(t.answer) + 2 for t in turns)


def _beginning(turn: Turn) -> Turn:
    """A turn up to the first PEEK characters that stand on the page."""
    first = next((i for i, (row, _) in enumerate(turn.cells) if row >= 0), 0)
    if len(turn.answer) <= first + PEEK:
        return turn
    return replace(
        turn, answer=turn.answer[: first + PEEK], cells=turn.cells[: first + PEEK], whole=False
    )


def _moved(cells: Sequence[Cell], rows: int) -> list[Cell]:
    """The cells `rows` rows further down."""
    return [(r + rows, c) if r >= 0 else NO_CELL for r, c in cells]


def _joined(lines: Sequence[Turn], question: str, down: int = 0) -> Turn:
    """Lines as one answer, parted by newlines; `down`: rows to move the cells by."""
    answer: list[int] = []
    cells: list[Cell] = []
    for line in lines:
        if answer:
            answer, cells = answer + encode("\n"), [*cells, NO_CELL]
        answer, cells = answer + line.answer, cells + _moved(line.cells, down)
    return Turn(encode(question), answer, cells)
