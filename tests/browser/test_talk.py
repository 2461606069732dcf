"""Follow-ups in Chromium: earlier questions are listed and told to the model, until they end.

Run with: python -m pytest -m browser tests/browser/test_talk.py
"""

from __future__ import annotations

import pytest
from PIL import Image
from playwright.sync_api import Page, expect

from tests.browser.test_page import ask, lines

pytestmark = pytest.mark.browser

ATTACK = "<img src=x onerror=document.title=1> ${document.title=2} <b>who</b> {{3}}"


def answered(page: Page, question: str) -> None:
    """Ask, and wait for this run's end: what the one before said still stands there."""
    ask(page, question)
    page.wait_for_function(
        "asked => GLANCE.trace.header.prompt.question === asked && GLANCE.player.phase === 'done'",
        arg=question,
    )


def test_a_follow_up_lists_what_was_asked_and_tells_the_model_of_it(toy_url, visit, tmp_path):
    page = visit(toy_url)
    again = page.get_by_role("button", name="Ask again about this page")
    anew = page.get_by_role("button", name="New conversation")
    turns = page.locator(".g-talk li")
    field = page.locator("#g-question textarea")
    expect(again).to_be_hidden()  # what is shown is a recorded run
    answered(page, ATTACK)
    expect(anew).to_be_hidden()
    ask(page, "  ")
    expect(page.locator(".g-state")).to_contain_text("no question")
    expect(again).to_be_visible()  # the answer is still there
    page.fill("#g-question textarea", ATTACK)
    again.press("Enter")
    expect(turns).to_have_text([ATTACK * 2], use_inner_text=False)  # question and answer, as text
    expect(page.locator(".g-talk :is(img, li b > *, script)")).to_have_count(0)
    expect(field).to_have_value("")
    expect(field).to_be_focused()
    expect(again).to_be_hidden()

    answered(page, "And where?")
    assert lines(page)[0]["prompt"]["history"] == [[ATTACK, ATTACK]]
    expect(page.locator(".g-facts")).to_contain_text("reused 39 of 40 prompt rows")
    again.click()
    expect(turns).to_have_count(2)

    anew.click()
    expect(turns).to_have_count(0)
    expect(anew).to_be_hidden()
    answered(page, "Who?")
    assert "history" not in lines(page)[0]["prompt"]
    again.click()
    expect(turns).to_have_count(1)
    Image.new("RGB", (300, 200), "white").save(tmp_path / "other.png")
    page.set_input_files("#g-file input[type=file]", tmp_path / "other.png")
    expect(page.locator(".g-caption")).to_contain_text("other.png")
    expect(turns).to_have_count(0)
    answered(page, "Who?")
    assert "history" not in lines(page)[0]["prompt"]
    assert page.title() == "GLANCE"
