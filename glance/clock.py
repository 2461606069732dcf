"""Clocks. The decoder is handed one, so that tests can hand it a fake."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Protocol


class Clock(Protocol):
    """A source of milliseconds that only go forward."""

    def now(self) -> float:
        """Milliseconds since some fixed moment, all device work before the call finished."""
        ...


class WallClock:
    """The machine's own clock; enough on a CPU, where work is done when the call returns."""

    def now(self) -> float:
        """Milliseconds since some fixed moment."""
        return time.perf_counter() * 1000.0


class DeviceClock:
    """Waits for the device before it reads the time; launches on a GPU return early."""

    def __init__(self, synchronise: Callable[[], None]) -> None:
        """`synchronise` returns once the device has done what it was given."""
        self._synchronise = synchronise

    def now(self) -> float:
        """Milliseconds since some fixed moment, all that the device was given done."""
        self._synchronise()
        return time.perf_counter() * 1000.0


class FakeClock:
    """Every reading is `step` ms after the one before: tests know each duration."""

    def __init__(self, step: float = 1.0) -> None:
        """Start at 0."""
        self._step = step
        self._now = 0.0

    def now(self) -> float:
        """The next reading."""
        self._now += self._step
        return self._now


def clock_for(device: str) -> Clock:
    """The clock that measures work on `device`, a torch device in words ("cpu", "cuda:0")."""
    if device.startswith("cuda"):
        import torch

        # not of the device: that would end the recording of a graph in another thread
        return DeviceClock(lambda: torch.cuda.current_stream(device).synchronize())
    return WallClock()


class Stopwatch:
    """Measures the engine alone: time spent by whoever consumes the stream is left out."""

    def __init__(self, clock: Clock) -> None:
        """Stopped at 0."""
        self._clock = clock
        self._elapsed = 0.0
        self._since: float | None = None

    def start(self) -> None:
        """Run (on)."""
        self._since = self._clock.now()

    def stop(self) -> None:
        """Stop, keeping what was measured."""
        self._elapsed = self.read()
        self._since = None

    def read(self) -> float:
        """Measured milliseconds so far."""
        if self._since is None:
            return self._elapsed
        return self._elapsed + self._clock.now() - self._since
