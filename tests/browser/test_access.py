"""The page for readers without a mouse, without colours, without motion, in Chromium.

Run with: python -m pytest -m browser tests/browser/test_access.py
"""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest
from axe_playwright_python.sync_playwright import Axe
from playwright.sync_api import Page, expect

from app.replay_file import replay_html
from glance.trace import dumps
from tests.browser.test_page import LONG, ask, finished, strips
from tests.ui.toy_page import ANSWER
from tests.ui.toy_trace import toy_trace

pytestmark = pytest.mark.browser

SEEN_FOCUS = """(() => {
  const style = getComputedStyle(document.activeElement);
  return (style.outlineStyle !== 'none' && parseFloat(style.outlineWidth) > 0)
    || style.boxShadow !== 'none';
})()"""


def serious(page: Page) -> list[str]:
    """What axe-core finds that keeps people from using the page, one line a place."""
    found = Axe().run(page).response["violations"]
    return [
        f"{violation['id']} {node['target']}: {node['failureSummary']}"
        for violation in found
        if violation["impact"] in ("serious", "critical")
        for node in violation["nodes"]
    ]


def tab_to(page: Page, selector: str) -> None:
    """Press Tab until the focus is there; each stop on the way must show that it has the focus."""
    for _ in range(60):
        page.keyboard.press("Tab")
        assert page.evaluate(SEEN_FOCUS), page.evaluate("document.activeElement.outerHTML")
        if page.evaluate("selector => document.activeElement.matches(selector)", selector):
            return
    pytest.fail(f"Tab does not get to {selector}")


@pytest.mark.parametrize("theme", ["light", "dark"])
def test_axe_finds_nothing_serious(toy_url, visit, theme):
    page = visit(f"{toy_url}?__theme={theme}")
    for summary in page.locator(".g-view summary:visible").all():
        summary.click()
    page.locator(".g-tour-open").click()
    page.locator(".g-strip .g-tok").nth(3).hover()
    expect(page.locator(".g-tip")).to_be_visible()
    assert serious(page) == []


def test_axe_finds_nothing_serious_in_what_opens(toy_url, visit):
    page = visit(f"{toy_url}?ex=page0&round=1&tab=study")
    expect(page.locator(".g-sections h4, .g-sections h3").first).to_be_visible()
    page.locator("#g-settings button").first.click()
    expect(page.get_by_label("Temperature").first).to_be_visible()
    page.locator("#g-export summary").click()
    page.locator(".g-cards summary").first.click()
    assert serious(page) == []
    page.locator("[role=tab][data-kind=law]").click()
    page.locator(".g-law .main-svg").first.wait_for()
    assert serious(page) == []


def test_axe_finds_nothing_serious_on_a_phone_and_in_a_replay(toy_url, visit, tmp_path):
    assert serious(visit(toy_url, width=390, height=844)) == []
    path = tmp_path / "replay.html"
    text = "".join(dumps(line) + "\n" for line in toy_trace(text=ANSWER))
    path.write_text(replay_html(text), encoding="utf-8")
    page = visit(path.as_uri(), offline=True)
    assert serious(page) == []


def test_a_run_its_replay_and_an_export_need_no_mouse(toy_url, visit, tmp_path):
    page = visit(toy_url)
    tab_to(page, ".g-theme")
    tab_to(page, ".g-frame")
    page.keyboard.press("ArrowRight")
    expect(page.locator(".g-tok.g-here").first).to_be_attached()
    tab_to(page, "#g-question textarea")
    page.keyboard.press("Control+A")
    page.keyboard.type("By keyboard alone")
    tab_to(page, "#g-run")
    page.keyboard.press("Enter")
    finished(page)
    assert strips(page) == ["By keyboard alone"] * 2

    tab_to(page, ".g-slow")
    page.keyboard.press("Enter")
    expect(page.locator(".g-speed")).to_contain_text("Slow motion")
    tab_to(page, ".g-skip")
    page.keyboard.press("Enter")
    expect(page.locator(".g-speed")).to_have_text("")
    tab_to(page, ".g-strip")
    page.keyboard.press("ArrowRight")
    expect(page.locator(".g-tip")).to_contain_text("token 0")
    tab_to(page, ".g-scrub input")
    page.keyboard.press("Home")
    expect(page.locator(".g-round-label")).to_contain_text("Round 1 of")
    tab_to(page, ".g-tree summary")
    page.keyboard.press("Enter")
    expect(page.locator(".g-tree .g-twin li").first).to_be_visible()
    tab_to(page, "#g-export summary")
    page.keyboard.press("Enter")
    tab_to(page, "[data-file='trace.jsonl']")
    with page.expect_download() as download:
        page.keyboard.press("Enter")
    path = Path(tmp_path / "trace.jsonl")
    download.value.save_as(path)
    header = json.loads(path.read_text(encoding="utf-8").splitlines()[0])
    assert header["prompt"]["question"] == "By keyboard alone"


def test_a_reader_of_the_screen_hears_of_each_round_at_most_once(toy_url, visit):
    page = visit(toy_url)
    page.evaluate(
        """() => { window.heard = [];
        const live = document.querySelector('.g-live');
        new MutationObserver(() => heard.push(live.textContent))
          .observe(live, { childList: true, characterData: true, subtree: true }); }"""
    )
    ask(page, LONG)
    finished(page)
    heard = page.evaluate("heard")
    rounds = page.evaluate("GLANCE.trace.focus().rounds.length")
    assert 0 < len(heard) <= rounds
    assert len(set(heard)) == len(heard)
    assert all(re.match(r"Round \d+: \d+ accepted, \d+ tokens? in one pass$", x) for x in heard)


def test_reduced_motion_leaves_nothing_in_motion(toy_url, visit):
    page = visit(toy_url)
    page.locator(".g-tour-open").click()
    page.get_by_role("button", name="Next", exact=True).click()
    expect(page.locator(".g-race.g-toured")).to_be_in_viewport()
    page.fill("#g-question textarea", "Something else")  # greys the results
    page.wait_for_timeout(50)
    running = page.evaluate(
        "document.getAnimations().filter((one) => one.playState === 'running'"
        " && one.effect.target.closest('.g-root, .g-results')).length"
    )
    assert running == 0
