"""The tour of a first visit, in Chromium, over the toy page.

Run with: python -m pytest -m browser tests/browser/test_tour.py
"""

from __future__ import annotations

import pytest
from playwright.sync_api import expect

pytestmark = pytest.mark.browser

TOUR = "[role=dialog].g-tour"
NO_STORAGE = (
    "Object.defineProperty(window, 'localStorage', { get() { throw new Error('switched off'); } })"
)


def test_the_first_visit_has_a_tour_and_the_second_has_none(toy_url, visit):
    page = visit(toy_url, tour=True)
    tour = page.locator(TOUR)
    expect(tour).to_be_visible()
    next_stop = tour.get_by_role("button", name="Next")
    expect(next_stop).to_be_focused()
    for number, region in enumerate(("document", "race", "answers", "scrubber"), start=1):
        expect(tour).to_contain_text(f"Tour, {number} of 4")
        expect(page.locator(".g-toured")).to_have_count(1)
        expect(page.locator(f".g-root.g-{region}.g-toured")).to_be_in_viewport()
        page.keyboard.press("Enter")  # the last one says Done
    expect(tour).to_be_hidden()
    expect(page.locator(".g-toured")).to_have_count(0)

    page.goto(toy_url)
    page.wait_for_selector(".g-tree .g-plot .main-svg")
    page.wait_for_timeout(1500)
    expect(page.locator(TOUR)).to_have_count(0)
    page.locator(".g-tour-open").click()
    expect(page.locator(TOUR)).to_contain_text("Tour, 1 of 4")


def test_escape_ends_the_tour_for_good(toy_url, visit):
    page = visit(toy_url, tour=True)
    expect(page.locator(TOUR)).to_be_visible()
    page.keyboard.press("Escape")
    expect(page.locator(TOUR)).to_be_hidden()
    assert page.evaluate("localStorage.getItem('glance.tour')") == "seen"
    page.keyboard.press("Home")
    expect(page.locator(".g-round-label")).to_contain_text("Round 1 of")


def test_a_link_and_a_browser_that_keeps_nothing_get_no_tour(toy_url, visit):
    linked = visit(toy_url + "?ex=page0", tour=True)
    linked.wait_for_timeout(1500)
    expect(linked.locator(TOUR)).to_have_count(0)
    linked.context.add_init_script(NO_STORAGE)
    linked.goto(toy_url)
    linked.wait_for_selector(".g-tree .g-plot .main-svg")
    linked.wait_for_timeout(1500)
    expect(linked.locator(TOUR)).to_have_count(0)
    linked.locator(".g-tour-open").click()
    expect(linked.locator(TOUR)).to_be_visible()
