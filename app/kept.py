"""Traces of the last minutes by run id, for whoever lost the connection. In memory, bounded."""

from __future__ import annotations

import threading
import time
from collections import OrderedDict
from collections.abc import Callable

KEPT_S = 600.0  # ten minutes
MOST_CHARS = 64_000_000  # of all traces together; a run of 512 tokens has well below a million


class Kept:
    """Traces that a run id brings back; the oldest give way to new ones."""

    def __init__(
        self,
        seconds: float = KEPT_S,
        most_chars: int = MOST_CHARS,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._seconds, self._most, self._clock = seconds, most_chars, clock
        self._traces: OrderedDict[str, tuple[float, str]] = OrderedDict()
        self._chars = 0
        self._lock = threading.Lock()

    def put(self, run: str, trace: str) -> None:
        """Keep a run's trace from now on; one that is larger than all room is not kept."""
        with self._lock:
            self._drop_old()
            if len(trace) > self._most:
                return
            while self._chars + len(trace) > self._most:
                self._drop_first()
            self._traces[run] = (self._clock(), trace)
            self._chars += len(trace)

    def get(self, run: str) -> str | None:
        """The trace, or None if there is none, or its time is over."""
        with self._lock:
            self._drop_old()
            found = self._traces.get(run)
        return found[1] if found else None

    def _drop_old(self) -> None:
        oldest = self._clock() - self._seconds
        while self._traces and next(iter(self._traces.values()))[0] <= oldest:
            self._drop_first()

    def _drop_first(self) -> None:
        _, (_, trace) = self._traces.popitem(last=False)
        self._chars -= len(trace)
