"""replay: a trace read back gives the run's events, its lanes on one shared clock. No torch."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from glance.trace import LANE_KINDS, Line


@dataclass(frozen=True, slots=True)
class Round:
    """The lines of one whole round; a plain round has its commit line only."""

    number: int  # from 1
    lines: dict[str, Line]  # kind -> line

    @property
    def commit(self) -> Line:
        """The line that ends the round."""
        return self.lines["commit"]

    @property
    def accepted(self) -> int:
        """Accepted drafted tokens that the round committed; an end token or the limit cuts them."""
        return sum(token["origin"] == "drafted" for token in self.commit["tokens"])


@dataclass(frozen=True, slots=True)
class RecordedLane:
    """One lane of a trace, up to its last whole round."""

    name: str
    prefill: Line | None
    rounds: tuple[Round, ...]
    finish: Line | None

    @property
    def tokens(self) -> list[dict[str, Any]]:
        """Token records of the answer, the prefill token first."""
        first = [{**self.prefill["root"], "top": self.prefill["top"]}] if self.prefill else []
        return first + [token for round_ in self.rounds for token in round_.commit["tokens"]]

    @property
    def ids(self) -> list[int]:
        """Token ids of the answer."""
        return [token["id"] for token in self.tokens]

    @property
    def text(self) -> str:
        """The answer."""
        first = self.prefill["root"]["text"] if self.prefill else ""
        return first + "".join(round_.commit["text"] for round_ in self.rounds)


def lanes(lines: Sequence[Line]) -> dict[str, RecordedLane]:
    """The lanes of a trace by name, in the order in which they ran."""
    prefills: dict[str, Line] = {}
    finishes: dict[str, Line] = {}
    opened: dict[str, dict[int, dict[str, Line]]] = {}
    for line in lines:
        if line["kind"] not in LANE_KINDS or "lane" not in line:
            continue
        rounds = opened.setdefault(line["lane"], {})
        if line["kind"] == "prefill":
            prefills[line["lane"]] = line
        elif line["kind"] == "finish":
            finishes[line["lane"]] = line
        elif "r" in line:
            rounds.setdefault(line["r"], {})[line["kind"]] = line
    return {
        name: RecordedLane(
            name=name,
            prefill=prefills.get(name),
            rounds=tuple(
                Round(number, kinds) for number, kinds in rounds.items() if "commit" in kinds
            ),
            finish=finishes.get(name),
        )
        for name, rounds in opened.items()
    }


def replay(lines: Sequence[Line]) -> Iterator[tuple[float, Line]]:
    """The trace's events with the moment each is due, in ms, as if the lanes ran side by side.

    A lane's decode window opens at 0 on the shared clock. The header comes first; what was
    written after the lanes ended comes last. Lines of a round that was never committed are left
    out: a trace may stop anywhere.
    """
    whole = {(lane.name, round_.number) for lane in lanes(lines).values() for round_ in lane.rounds}
    due: list[tuple[float, int, Line]] = []
    latest = 0.0
    for place, line in enumerate(lines):
        if "r" in line and (line["lane"], line["r"]) not in whole:
            continue
        if "t" in line:
            latest = max(latest, line["t"])
            due.append((line["t"], place, line))
        else:
            # before any lane spoke: at once; afterwards: when all lanes have ended
            due.append((latest, place, line))
    after = {"compare", "grounding"}
    for when, _, line in sorted(due, key=lambda item: (item[2]["kind"] in after, *item[:2])):
        yield (latest if line["kind"] in after else when), line
