"""The page served from within the test's own process, for clients of its API."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager

from app.addresses import addresses
from app.api import mcp_offered
from app.by_name import PUBLIC_ONLY
from app.full import IN_WORDS
from app.headers import STRICT
from app.session import Runner, Session
from app.ui import build, launch_options


@contextmanager
def served(load: Callable[[], Runner]) -> Iterator[tuple[str, Session]]:
    """The address of a page without examples, and its session, whose model is loaded."""
    session = Session(load)
    demo = build(session, ())
    session.load()
    _, address, _ = demo.launch(
        **launch_options(),
        app_kwargs={
            "routes": addresses(session),
            "middleware": [STRICT, PUBLIC_ONLY],
            "exception_handlers": IN_WORDS,
        },
        mcp_server=mcp_offered(),
        prevent_thread_lock=True,
        quiet=True,
    )
    try:
        yield address.rstrip("/"), session
    finally:
        demo.close(verbose=False)
