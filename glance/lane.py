"""One lane of a run: its committed tokens, its text, its times, and the lines it writes.

Shared by plain and drafted decoding, so that both stop, count and report by the same routine.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from itertools import count
from typing import TYPE_CHECKING, Any

from glance.clock import Clock, Stopwatch
from glance.metrics import tau, tau_without_last
from glance.trace import Line

if TYPE_CHECKING:
    from glance.certificate import Certificate
    from glance.config import DecodeConfig
    from glance.entropy import RowStats
    from glance.targets.base import Target

STAGES = ("draft", "build", "verify", "accept", "commit", "other")


class TextStream:
    """Token ids to text, piece by piece; a split character waits until it is whole."""

    def __init__(self, decode: Callable[[Sequence[int]], str]) -> None:
        """`decode` turns ids into text, special tokens left out."""
        self._decode = decode
        self._ids: list[int] = []
        self._settled = 0  # ids before this are text already, and no longer context either
        self._read = 0  # ids before this are text already
        self.length = 0  # characters so far

    def push(self, token_id: int, last: bool = False) -> tuple[int, int, str]:
        """Character offsets [start, end) of the token in the answer, and its text.

        The text is empty while a character is incomplete; the token that completes it gets all
        of it. `last` gives out what is left, however broken.
        """
        self._ids.append(token_id)
        # decoded beside what stood before, since a tokenizer may treat the first token otherwise
        before = self._decode(self._ids[self._settled : self._read])
        whole = self._decode(self._ids[self._settled :])
        delta = ""
        if len(whole) > len(before) and (last or not whole.endswith("\ufffd")):
            delta = whole[len(before) :]
            self._settled, self._read = self._read, len(self._ids)
        start = self.length
        self.length += len(delta)
        return start, self.length, delta


@dataclass(slots=True)
class Lane:
    """What one generation has committed, and what it took."""

    target: Target
    config: DecodeConfig
    clock: Clock
    name: str
    run: str
    numbers: Iterator[int] = field(default_factory=count)  # `seq` of the lines
    answer: list[int] = field(default_factory=list)
    reason: str | None = None  # why it ended: eos, stop, length; None while it goes on
    rounds: int = 0
    target_passes: int = 0
    committed: list[int] = field(default_factory=list)  # tokens per round
    partial: int = 0  # rounds that accepted some of the deepest path possible, not all
    uncertified: int = 0  # tokens, where the target has a certificate and picks greedily
    prefill_ms: float = 0.0
    ms: dict[str, float] = field(default_factory=lambda: dict.fromkeys(STAGES, 0.0))
    watch: Stopwatch = field(init=False)
    text: TextStream = field(init=False)

    def __post_init__(self) -> None:
        self.watch = Stopwatch(self.clock)  # runs from the prefill token on: the decode window
        self.text = TextStream(self.target.decode_text)

    def line(self, kind: str, t: float, **fields: Any) -> Line:
        """A trace line with the fields that all lines of a lane share."""
        common = {"kind": kind, "run": self.run, "seq": next(self.numbers), "lane": self.name}
        return {**common, "t": round(t, 3), **fields}

    def admit(self, ids: Sequence[int]) -> int:
        """How many of the new ids belong to the answer; sets `reason` when they end it.

        The first end token ends the answer and is its last token; so does the length limit.
        """
        room = self.config.max_new_tokens - len(self.answer)
        for kept, token_id in enumerate(ids[:room], start=1):
            if token_id in self.target.eos_ids and not self.config.ignore_eos:
                self.reason = "eos"
                return kept
            if token_id in self.config.stop_ids:
                self.reason = "stop"
                return kept
        if len(ids) >= room:
            self.reason = "length"
        return min(len(ids), room)

    def commit(
        self,
        ids: Sequence[int],  # already cut by `admit`
        origins: Sequence[str],
        stats: RowStats,
        rows: Sequence[int],  # the row of `stats` that chose each token
        corrected: bool = False,  # the last token stands where drafted candidates were rejected
    ) -> tuple[list[dict[str, Any]], str]:
        """Add tokens to the answer: their records and the text they add."""
        tokens: list[dict[str, Any]] = []
        deltas: list[str] = []
        for place, (token_id, origin, row) in enumerate(zip(ids, origins, rows, strict=True)):
            ends = self.reason is not None and place == len(ids) - 1
            start, end, delta = self.text.push(token_id, last=ends)
            deltas.append(delta)
            record: dict[str, Any] = {"id": token_id, "start": start, "end": end, "origin": origin}
            if corrected and origin == "bonus":
                record["corrected"] = True
            record["h"] = round(stats.entropy[row], 4)
            # significant digits, as many as float32 has: tiny margins decide what a near tie is
            record["margin"] = digits(stats.margin[row], 6)
            record["top"] = self.top(stats, row)
            tokens.append(record)
        if self._certificate:
            self.uncertified += self._certificate.uncertified(stats.margin[row] for row in rows)
        self.answer.extend(ids)
        return tokens, "".join(deltas)

    def top(self, stats: RowStats, row: int) -> list[list[Any]]:
        """The best few tokens of a row as [id, text, probability]."""
        return [
            [token_id, self.target.piece(token_id), digits(p)]
            for token_id, p in zip(stats.top_ids[row], stats.top_p[row], strict=True)
        ]

    def prefill_line(
        self, stats: RowStats, token_id: int, cache: int, reused: int, saved: float
    ) -> Line:
        """Commit the prefill token (t0): it belongs to no round and is counted in none."""
        self.admit([token_id])
        [token], text = self.commit([token_id], ["target"], stats, [0])
        top = token.pop("top")
        root = {**token, "text": text}
        ms = round(self.prefill_ms, 3)
        rows = {"cache": cache, "reused": reused, "saved": round(saved, 3)}
        return self.line("prefill", 0.0, ms=ms, root=root, top=top, **rows)

    def finish_line(self, drafter_passes: int) -> Line:
        """Totals; rates and tau leave the prefill token out, as it was known before the window."""
        decode_ms = self.watch.read()
        in_rounds = sum(self.committed)
        return self.line(
            "finish",
            decode_ms,
            reason=self.reason,
            tokens=len(self.answer),
            rounds=self.rounds,
            target_passes=self.target_passes,
            drafter_passes=drafter_passes,
            tau=round(tau(self.committed), 4),
            tau_without_last=round(tau_without_last(self.committed), 4),
            partial=self.partial,
            tok_s={
                "decode": ratio(1000.0 * in_rounds, decode_ms),
                "end_to_end": ratio(1000.0 * in_rounds, decode_ms + self.prefill_ms),
            },
            decode_ms=round(decode_ms, 3),
            prefill_ms=round(self.prefill_ms, 3),
            ms={stage: round(spent, 3) for stage, spent in self.ms.items()},
            **({"uncertified": self.uncertified} if self._certificate else {}),
        )

    @property
    def _certificate(self) -> Certificate | None:
        """Margins say nothing about draws."""
        return self.target.certificate if self.config.temperature == 0.0 else None


def digits(value: float, figures: int = 3) -> float:
    """The first `figures` significant digits, however small the value."""
    return float(f"{value:.{figures}g}")


def ratio(above: float, below: float) -> float:
    """Quotient to four digits; 0 when there is nothing to divide by."""
    return round(above / below, 4) if below else 0.0
