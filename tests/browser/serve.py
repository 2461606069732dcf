"""Serves the page for the browser tests: python -m tests.browser.serve PORT [ASSETS PAUSE].

With ASSETS (samples and traces) a toy runner plays made-up traces, PAUSE seconds a line, and no
model is touched. Without, it is the page as `python app.py` opens it, with the shipped model.
"""

from __future__ import annotations

import sys
from pathlib import Path

from app.addresses import addresses
from app.by_name import PUBLIC_ONLY
from app.examples import load_examples
from app.full import IN_WORDS
from app.headers import STRICT
from app.session import Session
from app.ui import build, launch_options
from tests.ui.toy_page import toy_runner


def main() -> None:
    port, *toy = sys.argv[1:]
    if toy:
        assets, pause = Path(toy[0]), float(toy[1])
        session = Session(lambda: toy_runner(pause))
        demo = build(session, load_examples(assets))
    else:
        session = Session()
        demo = build(session)
    demo.launch(
        **launch_options(),
        app_kwargs={
            "routes": addresses(session),
            "middleware": [STRICT, PUBLIC_ONLY],
            "exception_handlers": IN_WORDS,
        },
        server_port=int(port),
        prevent_thread_lock=True,
        quiet=True,
    )
    session.start()
    demo.block_thread()


if __name__ == "__main__":
    main()
