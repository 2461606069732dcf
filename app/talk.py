"""The dialogue about a page: earlier questions with their answers, and the rows read for them."""

from __future__ import annotations

import json
from dataclasses import dataclass, field

from glance.prefix_cache import PrefixCache

Turn = tuple[str, str]  # a question and its answer


@dataclass(slots=True)
class Talk:
    """One conversation. It belongs to what is held: another page begins another one."""

    turns: tuple[Turn, ...] = ()  # what a run is told of, oldest first
    latest: Turn | None = None  # asked and answered since, and not among them
    prefixes: PrefixCache = field(default_factory=PrefixCache)

    def go_on(self) -> str | None:
        """Let the latest question and its answer be part of it.

        Returns:
            The question; None where nothing was answered.
        """
        if self.latest is None:
            return None
        asked, _ = self.latest
        self.turns, self.latest = (*self.turns, self.latest), None
        return asked

    def value(self) -> str:
        """Value of the talk region: JSON, a list of turns."""
        return json.dumps(self.turns, ensure_ascii=False)
