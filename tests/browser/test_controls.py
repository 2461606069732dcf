"""The controls in Chromium: two drafters, their cards, settings, and the cost that is told before.

Run with: python -m pytest -m browser tests/browser/test_controls.py
"""

from __future__ import annotations

import pytest
from playwright.sync_api import Page, expect

pytestmark = pytest.mark.browser

QUESTION = "what is written on this page, and where?"
#: thirty frames, however long the page takes for one
SETTLED = """() => new Promise((done) => {
  let left = 30;
  const next = () => (left-- ? requestAnimationFrame(next) : done());
  next();
})"""


def choose(page: Page, control: str, name: str) -> None:
    page.get_by_label(control).click()
    page.get_by_role("option", name=name, exact=True).click()
    expect(page.get_by_role("option")).to_have_count(0)  # the list fades out


def run(page: Page) -> None:
    page.fill("#g-question textarea", QUESTION)
    page.click("#g-run")
    expect(page.locator(".g-state")).to_have_text("Done.")


def test_any_two_drafters_run_side_by_side_and_a_card_is_one_click_away(toy_url, visit):
    page = visit(toy_url)
    choose(page, "Decode with", "GLANCE chain")
    choose(page, "Beside it", "Prompt lookup")
    shown = page.locator(".g-cards")
    expect(shown).to_contain_text("Prompt lookup: no head")
    card = shown.get_by_role("group", name="Card of GLANCE chain")
    expect(card).to_be_hidden()
    shown.locator("summary").click()
    expect(card).to_be_visible()
    expect(card.locator("h3").first).to_have_text("GLANCE head (block diffusion)")
    run(page)
    expect(page.locator(".g-lane-name")).to_have_text(["GLANCE chain", "Prompt lookup"])
    expect(page.locator(".g-badge")).to_have_attribute("data-state", "equal")
    expect(page.locator(".g-cost")).to_contain_text("On this machine about")
    expect(page.locator(".g-chip-status")).to_contain_text("Toy CPU")


def test_settings_reach_the_run_and_wrong_ones_are_refused_in_words(toy_url, visit):
    page = visit(toy_url)
    page.click("#g-settings button")
    temperature = page.locator("#g-temperature input")
    expect(temperature).to_have_value("0")
    page.evaluate(SETTLED)  # a section that opens writes its values once more, as it settles
    page.wait_for_timeout(500)
    temperature.fill("11")
    page.keyboard.press("Tab")
    expect(temperature).to_have_value("11")
    page.click("#g-run")
    expect(page.locator(".g-state")).to_have_text("The temperature must be between 0 and 10.")
    temperature.fill("0.8")
    run(page)
    expect(page.locator(".g-badge")).to_contain_text("temperature 0.8: lanes are not compared")
