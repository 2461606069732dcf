"""How fast this machine decodes, learned from the runs that it has done. No torch."""

from __future__ import annotations

import threading
from collections import defaultdict, deque
from collections.abc import Sequence
from statistics import median

from app.format import count
from app.views.summary import SHORT
from glance.replay import lanes
from glance.trace import Line

KEPT = 9  # runs that a figure is the median of


class Host:
    """This machine's device and milliseconds a token, as far as they are known."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._device: str | None = None
        self._read: deque[float] = deque(maxlen=KEPT)
        self._write: defaultdict[str, deque[float]] = defaultdict(lambda: deque(maxlen=KEPT))

    def learn(self, lines: Sequence[Line]) -> None:
        """Take in the trace of a run, as far as it came."""
        if not lines:
            return
        header = lines[0]
        visual = header["prompt"]["image_tokens"]
        with self._lock:
            self._device = device(header)
            for lane in lanes(lines).values():
                prefill, done = lane.prefill, lane.finish
                if prefill and visual and not prefill.get("reused"):  # a follow-up reads no page
                    self._read.append(prefill["ms"] / visual)
                if done and done["tokens"] >= SHORT and done["tok_s"]["decode"]:
                    self._write[lane.name].append(1000 / done["tok_s"]["decode"])

    @property
    def device(self) -> str | None:
        """What it decodes on, in words."""
        with self._lock:
            return self._device

    def read_ms(self) -> float | None:
        """Milliseconds of prefill a visual token."""
        with self._lock:
            return median(self._read) if self._read else None

    def measured(self) -> list[str]:
        """The lanes whose speed is known, the one that ran first standing first."""
        with self._lock:
            return list(self._write)

    def write_ms(self, lane: str) -> float | None:
        """Milliseconds a token of a lane's answer."""
        with self._lock:
            return median(self._write[lane]) if self._write.get(lane) else None


def device(header: Line) -> str:
    """The device of a trace: a bare "cpu" tells little about times, so its processor is named."""
    machine = header.get("provenance", {}).get("machine")
    if header["target"]["device"] == "cpu" and machine:
        return f"{machine['cpu']}, {count(machine['cores'], 'core')}"
    return header["target"]["device"]
