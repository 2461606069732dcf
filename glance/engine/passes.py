"""One target pass of fixed shape over the static cache."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import torch
from torch import Tensor

from glance.engine.rows import Place, Rows
from glance.engine.store import Store
from glance.entropy import row_table
from glance.targets.base import Target
from glance.verify import mask_for


class Answer(NamedTuple):
    """What a pass found; the next run of the same pass overwrites it."""

    logits: Tensor  # [rows, V]
    features: Tensor | None  # [rows, K, d]
    table: Tensor | None  # `row_table` of the rows; None where it is not measured


class TargetPass:
    """The step of a pass: rows after the committed tokens, their states written to the cache."""

    def __init__(
        self,
        target: Target,
        store: Store,
        place: Place,
        rows: Rows,
        window: int,  # cache rows attended to: the committed ones and the pass's own among them
        taps: Sequence[int],
        measured: bool,
    ) -> None:
        self._target = target
        self._place = place
        self._rows = rows
        self._taps = tuple(taps)
        self._measured = measured
        self._at = torch.zeros_like(rows.count)
        self._cache = store.window(window, self._at)
        self._columns = torch.arange(window, device=rows.count.device)

    def __call__(self) -> Answer:
        """Run on what place and rows hold."""
        target, place, rows = self._target, self._place, self._rows
        torch.add(rows.count, place.start, out=self._at)
        committed = (self._columns < place.start).expand(len(rows), -1)  # [rows, window]
        seen = committed.index_copy(1, self._at, rows.visible)
        mask = mask_for(target.attention, seen[None, None], target.dtype)
        positions = target.family.step_positions(0, rows.depths + place.start + place.delta)
        logits, features = target.rows(self._cache, rows.ids, positions, mask, self._taps)
        if not self._measured:
            return Answer(logits, features, None)
        asked = torch.stack([rows.parents, rows.ids], dim=1)
        return Answer(logits, features, row_table(logits, asked))
