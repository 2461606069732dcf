"""Measures the page's budgets in Chromium, prints them: python -m tests.browser.budgets

Two runs of the toy page at ten rounds a second, without and with the three Plotly views, and the
sizes of the shipped recorded runs. To be run on a quiet machine: everything but sizes and remounts
depends on it.
"""

from __future__ import annotations

import shutil
import sys
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from playwright.sync_api import Page, sync_playwright

from app.examples import load_examples
from app.frames import replayed
from app.session import LANES
from glance.trace import dumps, parse_trace
from tests.browser.conftest import FLAGS, serve
from tests.ui.toy_page import make_assets

PAUSE = 0.02  # s a line of the trace; a drafted round has five
QUESTION = "What does this page say of the matter, line by line and word by word? " * 2
#: what the page waits for, in order: its name, its budget, and when it is there
ARRIVALS = (
    (
        "first interactive: a run can be started, the recorded one is drawn and can be stepped",
        "2 s",
        "document.querySelector('#g-run:not([disabled])') && "
        "document.querySelector('.g-lane .g-block') && "
        "document.querySelector('.g-scrub input')?.max > 1",
    ),
    ("first Plotly view drawn", "none", "document.querySelector('.g-tree .g-plot .main-svg')"),
)
NO_VIEWS = ".g-rounds { display: none !important; }"
WATCH = """() => {
  const views = GLANCE.plots.views;
  const seen = window.seen = {
    updates: 0, states: new Set(), long: 0, began: performance.now(),
    nodes: [...document.querySelectorAll('.g-plot, .g-plot .main-svg')],
    redraws: new Map(views.map(({ name }) => [name, []])),
  };
  GLANCE.on('trace', ({ rounds }) => { seen.updates += rounds.length > 0; });
  const before = GLANCE.trace.run;
  const look = () => {
    const bars = document.querySelectorAll('.g-lane .g-block').length;
    if (bars && GLANCE.trace.run !== before) seen.states.add(bars);
    requestAnimationFrame(look);
  };
  look();
  new PerformanceObserver((list) => {
    for (const { duration } of list.getEntries()) seen.long += duration;
  }).observe({ type: 'longtask' });
  for (const view of views) {
    const draw = view.draw.bind(view);
    view.draw = () => { seen.redraws.get(view.name).push(performance.now()); draw(); };
  }
}"""
REPORT = """() => {
  const { updates, states, long, began, ended, nodes, redraws } = window.seen;
  const gaps = [...redraws.values()].flatMap((at) => at.slice(1).map((time, i) => time - at[i]));
  const drawn = ['tree', 'prefix', 'entropy'].filter((name) => redraws.get(name).length);
  return {
    updates, states: states.size, long: long / (ended - began), drawn: drawn.length,
    most: gaps.length ? 1000 / Math.min(...gaps) : 0,
    last: GLANCE.plots.views.every((view) => !view.waits()),
    remounts: nodes.filter((node) => !node.isConnected).length,
  };
}"""


def main() -> None:
    """Print a line a budget: what it is about, the figure, the budget."""
    for name, figure, budget in (*_in_chromium(), *_sizes()):
        sys.stdout.write(f"{name}: {figure} (budget {budget})\n")


def _in_chromium() -> Iterator[tuple[str, str, str]]:
    with TemporaryDirectory() as folder, sync_playwright() as playwright:
        assets = make_assets(Path(folder) / "assets")
        browser = playwright.chromium.launch(
            executable_path=shutil.which("chromium"), args=FLAGS, timeout=120_000
        )
        with closing(serve(str(assets), str(PAUSE))) as server:
            address = next(server)
            for views in (False, True):
                context = browser.new_context(reduced_motion="reduce")  # nothing cached
                context.add_init_script("localStorage.setItem('glance.tour', 'seen')")
                page = context.new_page()
                page.goto(address, wait_until="commit")
                for what, budget, there in ARRIVALS:
                    came = page.wait_for_function(f"({there}) && performance.now()").json_value()
                    if not views:
                        yield what, f"{came / 1000:.2f} s", budget
                yield from _told(_run(page, views), views)
                context.close()
        browser.close()


def _run(page: Page, views: bool) -> dict[str, Any]:
    """What is seen of one run of the drafting lane alone."""
    page.get_by_label("Beside it").click()
    page.get_by_role("option", name="Nothing", exact=True).click()
    page.fill("#g-question textarea", QUESTION)
    if not views:
        page.add_style_tag(content=NO_VIEWS)
    page.wait_for_timeout(1000)
    page.evaluate(WATCH)
    page.click("#g-run")
    page.wait_for_function("GLANCE.player.source === 'live' && GLANCE.player.phase === 'done'")
    page.evaluate("window.seen.ended = performance.now()")
    page.wait_for_timeout(1500)
    return page.evaluate(REPORT)


def _told(seen: dict[str, Any], views: bool) -> Iterator[tuple[str, str, str]]:
    plots = f"{seen['drawn']} Plotly views"
    yield f"long tasks, {plots}", f"{seen['long']:.0%} of the run", "35%" if views else "20%"
    if not views:
        painted = f"{seen['states']} of {seen['updates']}"
        yield "states of the race that were painted", painted, "28 of 30"
        return
    yield "most redraws of a Plotly view", f"{seen['most']:.1f} a second", "4"
    yield "last state drawn", "yes" if seen["last"] else "no", "yes"
    yield "plots made anew", f"{seen['remounts']}", "0"


def _sizes() -> Iterator[tuple[str, str, str]]:
    traces, figures = [], []
    for example in load_examples():
        text = example.recorded()
        lines = [line for line in parse_trace(text) if line.get("lane") == LANES[0]]
        rounds = max(line["r"] for line in lines if line["kind"] == "commit")
        traces.append(sum(len((dumps(line) + "\n").encode()) for line in lines) / rounds)
        frame = replayed(text, "recorded")
        figures += [
            len(each.encode()) for each in (frame.tree, frame.prefix, frame.entropy) if each
        ]
    yield "trace of a round, the largest of the examples", f"{max(traces):,.0f} bytes", "4,096"
    yield "figure, the largest at an example's end", f"{max(figures):,} bytes", "9,216"


if __name__ == "__main__":
    main()
