"""The figures of a whole run, one a tab: acceptance, entropy law, time by stage."""

from __future__ import annotations

from collections.abc import Sequence

from app.views.acceptance import acceptance_figure
from app.views.figure import Figure, empty
from app.views.lanes import focus
from app.views.law import law_figure
from app.views.stages import stages_figure
from glance.replay import lanes
from glance.trace import Line

KINDS = ("acceptance", "law", "stages")


def tabs(lines: Sequence[Line], run: str, *, ended: bool) -> dict[str, Figure]:
    """The figures by kind. Until the run has ended, one sentence in place of each.

    They are about all rounds, and made anew at every update they would slow the run down.
    """
    if not ended:
        return dict.fromkeys(KINDS, empty(run, "Drawn when the run has ended."))
    found = lanes(lines)
    lane = focus(found)
    return {
        "acceptance": acceptance_figure(lane, lines, run),
        "law": law_figure(lane, lines, run),
        "stages": stages_figure(lane, found.get("ar"), run),
    }
