"""How often the patch that a head looks at is where the token stands: to choose and judge a head.

The true answers of generated pages are read by teacher forcing, as their glyphs' places are known.
A token counts where it has ink on the page; it is hit when the cell of the patch and the box of one
of its glyphs overlap.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass

import torch
from torch import Tensor

from glance.documents.page import Page, Question
from glance.grounding import PatchGrid, forced, patch_grid
from glance.localization import Choice, LocalizationError, LocalizationHead
from glance.targets.base import Target
from glance.types import Prompt

ALL = "all"
CLEAN = "none"  # of the degradations


@dataclass(frozen=True, slots=True)
class HitRate:
    """Some of the tokens."""

    by: str  # all, task, degradation
    value: str
    tokens: int
    hits: int

    @property
    def percent(self) -> float | None:
        """Hits of 100 tokens; None where there are none."""
        return 100 * self.hits / self.tokens if self.tokens else None


@dataclass(frozen=True, slots=True)
class Truth:
    """A true answer of T tokens; K of them have ink on the page."""

    prompt: Prompt
    ids: list[int]  # [T]
    inked: Tensor  # [K] long: which tokens
    touched: Tensor  # [K, P] bool: patches whose cell overlaps a glyph of the token

    def hits(self, patches: Tensor) -> Tensor:
        """Tokens hit [H] by the patches that heads look at [T, H]."""
        return self.touched.gather(1, patches[self.inked]).sum(dim=0)


def choose(
    target: Target,
    pages: Iterable[Page],
    progress: Callable[[int], None],  # pages read
) -> Choice:
    """The head, and the row, that hit the most tokens; the first of equals.

    Raises:
        LocalizationError: the target keeps no image grid, or the pages have no answers on them.
    """
    hits: Counter[LocalizationHead] = Counter()
    tokens = read = 0
    for page in pages:
        for _, true in _truths(target, page):
            tokens += len(true.inked)
            done = forced(target, true.prompt, true.ids, range(target.num_layers))
            for layer in range(target.num_layers):
                patches = done.to_patches(layer).argmax(dim=-1).T.cpu()  # [T + 1, H]
                for own in (False, True):
                    of_row = LocalizationHead(layer, 0, own)
                    for head, count in enumerate(true.hits(of_row.rows(patches)).tolist()):
                        hits[LocalizationHead(layer, head, own)] += count
        read += 1
        progress(read)
    if not tokens:
        raise LocalizationError("The pages answer nothing, so no head can be chosen on them.")
    [(best, count)] = hits.most_common(1)
    return Choice(best, count, tokens, read)


def hit_rates(
    target: Target,
    head: LocalizationHead,
    pages: Iterable[Page],
    progress: Callable[[int], None],  # pages read
) -> list[HitRate]:
    """Of all tokens, then by task and by degradation; a page counts for each one that it has.

    Raises:
        LocalizationError: the target keeps no image grid.
    """
    counted: Counter[tuple[str, str]] = Counter({(ALL, ""): 0})
    hit: Counter[tuple[str, str]] = Counter()
    for read, page in enumerate(pages, start=1):
        names = sorted({each.name for each in page.degradations}) or [CLEAN]
        for task, true in _truths(target, page):
            done = forced(target, true.prompt, true.ids, [head.layer])
            patches = head.rows(done.to_patches(head.layer)[head.head].argmax(dim=-1)).cpu()
            hits = int(true.hits(patches[:, None]))
            for key in ((ALL, ""), ("task", task), *(("degradation", name) for name in names)):
                counted[key] += len(true.inked)
                hit[key] += hits
        progress(read)
    return [HitRate(*key, counted[key], hit[key]) for key in sorted(counted)]


def _truths(target: Target, page: Page) -> Iterator[tuple[str, Truth]]:
    """Task and answer of every question of a page that has tokens with ink."""
    for question in page.questions:
        prompt = target.prompt(page.image, question.question, question.history)
        grid = patch_grid(target, prompt, page.image.size)
        if grid is None:
            raise LocalizationError(
                f"{target.name} keeps no image grid, so its tokens have no places on the page."
            )
        true = truth(target, prompt, grid, page, question)
        if len(true.inked):
            yield question.task, true


def truth(target: Target, prompt: Prompt, grid: PatchGrid, page: Page, question: Question) -> Truth:
    """The tokens of a question's answer and the patches that they stand in."""
    coded = target.tokenizer(question.answer, add_special_tokens=False, return_offsets_mapping=True)
    cells = torch.tensor([grid.box(patch) for patch in range(grid.rows * grid.columns)])
    inked, touched = [], []
    for token, (begin, end) in enumerate(coded["offset_mapping"]):
        glyphs = [page.glyphs[index] for index in question.glyphs[begin:end] if index >= 0]
        boxes = [glyph.box for glyph in glyphs if not glyph.char.isspace()]
        if boxes:
            inked.append(token)
            touched.append(_overlap(cells, torch.tensor(boxes)).any(dim=1))
    return Truth(
        prompt=prompt,
        ids=coded["input_ids"],
        inked=torch.tensor(inked, dtype=torch.long),
        touched=torch.stack(touched) if touched else torch.zeros(0, len(cells), dtype=torch.bool),
    )


def _overlap(cells: Tensor, boxes: Tensor) -> Tensor:
    """Which cells [P, 4] share area with which boxes [B, 4]: [P, B] bool."""
    begin = torch.maximum(cells[:, None, :2], boxes[None, :, :2])
    end = torch.minimum(cells[:, None, 2:], boxes[None, :, 2:])
    return (begin < end).all(dim=-1)
