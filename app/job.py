"""The decoder's thread, and the lines that it has written so far."""

from __future__ import annotations

import logging
import threading
from collections import deque
from collections.abc import Callable, Iterator
from contextvars import copy_context

from app.troubles import INTERNAL, Trouble, trouble_of
from glance.trace import Line

log = logging.getLogger(__name__)


class Job:
    """One run of the decoder; setting `stop` ends it at its next line, or None instead of one."""

    def __init__(self) -> None:
        self.lines: deque[Line] = deque()
        self.stop = threading.Event()
        self.ended = threading.Event()
        self.started = False
        self.trouble: Trouble | None = None

    def start(self, decode: Callable[[], Iterator[Line | None]], leave: Callable[[], None]) -> None:
        """Decode in a thread of its own.

        The thread has the context of the event: ZeroGPU looks there for whose time it spends.
        """
        self.started = True
        context = copy_context()
        work = threading.Thread(target=context.run, args=(self._work, decode, leave), daemon=True)
        work.start()

    def _work(self, decode: Callable[[], Iterator[Line | None]], leave: Callable[[], None]) -> None:
        try:
            for line in decode():
                if line is not None:
                    self.lines.append(line)
                if self.stop.is_set():
                    break
        except Exception as error:
            self.trouble = trouble_of(error)
            if self.trouble is None:
                log.exception("the run failed")
                self.trouble = INTERNAL
        finally:
            leave()
            self.ended.set()

    def read(self, seconds: float) -> tuple[list[Line], bool]:
        """The lines written within the next `seconds`, and whether the job has ended.

        Sleeps rather than waiting for each line: being woken by every line would cost the
        decoder some percent of its time.
        """
        ended = self.ended.wait(seconds)
        lines: list[Line] = []
        while self.lines:
            lines.append(self.lines.popleft())
        return lines, ended
