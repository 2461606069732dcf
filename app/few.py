"""A few calls at a time of what the page asks for past Gradio's queue. No Gradio."""

from __future__ import annotations

from collections.abc import Callable
from functools import wraps
from threading import Semaphore
from typing import ParamSpec, TypeVar

PATIENCE_S = 1.0  # for a place: whoever waits holds one of the server's threads

P = ParamSpec("P")
T = TypeVar("T")


def few(places: Semaphore) -> Callable[[Callable[P, T]], Callable[P, T | None]]:
    """Calls take one of the places, which several functions may share; None where none is free."""

    def bounded(make: Callable[P, T]) -> Callable[P, T | None]:
        @wraps(make)
        def called(*args: P.args, **kwargs: P.kwargs) -> T | None:
            if not places.acquire(timeout=PATIENCE_S):
                return None
            try:
                return make(*args, **kwargs)
            finally:
                places.release()

        return called

    return bounded
