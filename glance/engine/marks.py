"""When the verbs of a round ended, without waiting for the device after each."""

from __future__ import annotations

from collections.abc import Callable

import torch


class Marks:
    """Times of one round in ms of its watch; those of the device are read once, when it is done."""

    def __init__(self, now: Callable[[], float], device: torch.device) -> None:
        """The first mark, now."""
        self._now = now
        self._device = device
        self._events: list[torch.cuda.Event] = []
        self.ms = [now()]
        if device.type == "cuda":
            self._record()

    def launched(self) -> None:
        """A verb ends where the device has done what it was given so far."""
        if self._device.type == "cuda":
            self._record()
        else:
            self.ms.append(self._now())

    def done(self) -> None:
        """The device is through: its times are there."""
        began = self.ms[0]
        self.ms += [began + self._events[0].elapsed_time(one) for one in self._events[1:]]

    def host(self) -> None:
        """A verb of the host ends now."""
        self.ms.append(self._now())

    def _record(self) -> None:
        event = torch.cuda.Event(enable_timing=True)
        event.record(torch.cuda.current_stream(self._device))
        self._events.append(event)
