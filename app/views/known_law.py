"""The entropy law of many recorded answers, drawn where a run has too few rounds for its own."""

from __future__ import annotations

import json
from functools import cache
from pathlib import Path
from typing import NamedTuple

from app.views.study import RESULTS
from glance.law import Law
from glance.law_rounds import POOLED
from glance.trace import DAMAGE


class Known(NamedTuple):
    """A law, and how many answers it was fitted to."""

    law: Law
    answers: int


@cache
def known_law(made_by: str, folder: Path = RESULTS) -> Known | None:
    """The pooled law of the result of `law --json`; None unless it was made by the same."""
    try:
        found = json.loads((folder / "law.json").read_text(encoding="utf-8"))
        law = found["groups"][POOLED]["law"]
        known = Known(Law(float(law["b0"]), float(law["b1"])), int(found["traces"]))
    except (OSError, *DAMAGE):
        return None
    return known if found["made_by"] == made_by else None
