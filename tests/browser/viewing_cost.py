"""What watching costs the decoder: python -m tests.browser.viewing_cost [TIMES].

One server process, one example. In turn a browser asks with all views live, and the same run is
drained with no page; printed are the medians of the decode window's milliseconds a token.
"""

from __future__ import annotations

import json
import shutil
import sys
from collections import defaultdict
from statistics import median

import torch
from playwright.sync_api import Page, sync_playwright

from app.examples import Example, load_examples
from app.session import Runner, Session, load_runner
from app.settings import Settings
from app.ui import build, launch_options
from glance.trace import Line
from tests.browser.conftest import FLAGS, free_port

TIMES = 10


def main() -> None:
    """Print a line a lane: watched, unwatched, and how much more the first takes."""
    times = int(sys.argv[1]) if sys.argv[1:] else TIMES
    torch.set_num_threads(1)  # as app.py does
    runner = load_runner()
    session = Session(lambda: runner)
    example = max(load_examples(), key=lambda one: len(one.recorded()))  # the longest run
    _, address, _ = build(session).launch(
        **launch_options(), server_port=free_port(), prevent_thread_lock=True, quiet=True
    )
    session.start()
    watched: dict[str, list[float]] = defaultdict(list)
    alone: dict[str, list[float]] = defaultdict(list)
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(
            executable_path=shutil.which("chromium"), args=FLAGS, timeout=120_000
        )
        # nothing plays on the page while the other run goes on
        page = browser.new_page(reduced_motion="reduce")
        page.goto(address)
        page.locator("#g-examples button", has_text=example.title).click()
        for _ in range(times + 1):  # the first only warms up
            seen = _watch(page, example)
            for times_of, lines in ((watched, seen), (alone, _drain(runner, example, seen[0]))):
                for line in lines:
                    if line["kind"] == "finish":
                        ms = line["decode_ms"] / (line["tokens"] - 1)
                        times_of[line["lane"]].append(ms)
        browser.close()
    say(f"{example.id}: ms a token in the decode window, medians of {times}")
    for lane in watched:
        seen, unseen = median(watched[lane][1:]), median(alone[lane][1:])
        say(f"{lane}: {seen:.3f} watched, {unseen:.3f} not, {100 * (seen / unseen - 1):+.1f}%")


def _watch(page: Page, example: Example) -> list[Line]:
    page.fill("#g-question textarea", example.question)
    page.click("#g-run")
    page.wait_for_function("GLANCE.player.phase === 'running'")
    page.wait_for_function("GLANCE.player.phase === 'done'", timeout=300_000)
    return [json.loads(line) for line in page.evaluate("GLANCE.trace.text").splitlines()]


def _drain(runner: Runner, example: Example, header: Line) -> list[Line]:
    """The run of that header once more."""
    asked = header["settings"]
    settings = Settings(tuple(header["lanes"]), asked["node_budget"], asked["max_new_tokens"])
    lines = runner((example.document(),), example.question, settings, "drained")
    return [line for line in lines if line is not None]


def say(text: str) -> None:
    """One line of the result."""
    sys.stdout.write(text + "\n")


if __name__ == "__main__":
    main()
