"""A server in a process of its own and a Chromium to look at it with."""

from __future__ import annotations

import os
import shutil
import socket
import subprocess
import sys
import time
import urllib.request
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from playwright.sync_api import Browser, BrowserContext, Page, expect, sync_playwright

from tests.ui.toy_page import ANSWER, make_assets

ROOT = Path(__file__).parents[2]
FLAGS = [
    "--no-sandbox",
    "--disable-gpu",
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
]
NASTY = "Pay <b>now</b> & sign</s> ${document.title='run'} `x` {{value}} $y$\nEnd"


def free_port() -> int:
    """A port that nobody listens on."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]


def serve(*arguments: str, uploads: str | Path = "") -> Iterator[str]:
    """The page's address, served until the generator is closed; uploads land in a given folder."""
    port = free_port()
    command = [sys.executable, "-m", "tests.browser.serve", str(port), *arguments]
    environment = {**os.environ, "OMP_NUM_THREADS": "1", "OMP_WAIT_POLICY": "PASSIVE"}
    if uploads:
        environment["GRADIO_TEMP_DIR"] = str(uploads)
    server = subprocess.Popen(command, cwd=ROOT, env=environment)
    address = f"http://127.0.0.1:{port}/"
    try:
        for _ in range(480):
            assert server.poll() is None, "the server ended while it was starting"
            try:
                urllib.request.urlopen(address, timeout=2).close()
                break
            except OSError:
                time.sleep(0.25)
        else:
            pytest.fail("the server did not answer within two minutes")
        yield address
    finally:
        server.terminate()
        server.wait(60)


@pytest.fixture(scope="session")
def assets(tmp_path_factory) -> Path:
    return make_assets(tmp_path_factory.mktemp("toy") / "assets", (ANSWER, NASTY))


@pytest.fixture(scope="session")
def uploads(tmp_path_factory) -> Path:
    """Where the toy page's server puts what is uploaded."""
    return tmp_path_factory.mktemp("uploads")


@pytest.fixture(scope="session")
def toy_url(assets, uploads) -> Iterator[str]:
    """The page over a toy runner: 10 ms a line, so a run takes a second or two."""
    yield from serve(str(assets), "0.01", uploads=uploads)


@pytest.fixture(scope="session")
def slow_url(assets) -> Iterator[str]:
    """The same at 100 ms a line: a run that is to be cut short takes most of a minute."""
    yield from serve(str(assets), "0.1")


@pytest.fixture(scope="session")
def live_url() -> Iterator[str]:
    """The page as it is shipped, with its model."""
    yield from serve()


@pytest.fixture(scope="session")
def browser() -> Iterator[Browser]:
    chromium = shutil.which("chromium")
    if chromium is None:
        if os.environ.get("CI") == "true":
            pytest.fail("Chromium is missing: the browser tests must not be skipped here.")
        pytest.skip("there is no Chromium on this machine")
    expect.set_options(timeout=60_000)  # a busy machine may be several times slower
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=chromium, args=FLAGS, timeout=120_000)
        yield browser
        browser.close()


@pytest.fixture(scope="session")
def contexts() -> dict[tuple, BrowserContext]:
    """Contexts by their options: a second page of the same kind finds the scripts in its cache."""
    return {}


@pytest.fixture
def visit(browser, contexts) -> Iterator[Callable[..., Page]]:
    """Opens a page; fails on script errors and on requests elsewhere.

    A visitor to the tour is new: that context is the test's own.
    """
    pages: list[Page] = []
    own: list[BrowserContext] = []
    problems: list[str] = []

    def visit(
        url: str,
        *,
        width: int = 1280,
        height: int = 900,
        motion: bool = False,
        offline: bool = False,
        touch: bool = False,
        tour: bool = False,
    ) -> Page:
        kind = (width, height, motion, offline, touch)
        context = None if tour else contexts.get(kind)
        if context is None:
            context = browser.new_context(
                viewport={"width": width, "height": height},
                has_touch=touch,
                is_mobile=touch,
                reduced_motion="no-preference" if motion else "reduce",
                offline=offline,
            )
            if tour:
                own.append(context)
            else:
                context.add_init_script("localStorage.setItem('glance.tour', 'seen')")
                contexts[kind] = context
        page = context.new_page()
        pages.append(page)
        page.set_default_timeout(60_000)
        page.on("pageerror", lambda error: problems.append(str(error)))
        page.on(
            "request",
            lambda request: (
                problems.append(request.url)
                if not request.url.startswith((url.split("?")[0], "data:", "blob:"))
                else None
            ),
        )
        page.goto(url)
        page.wait_for_selector(".g-tree .g-plot .main-svg")
        return page

    yield visit
    for page in pages:
        page.context.clear_permissions()
        page.close()
    for context in own:
        context.close()
    assert problems == []
