"""The document and the answers point at each other, in Chromium, over the toy page.

Run with: python -m pytest -m browser tests/browser/test_places.py
"""

from __future__ import annotations

import json
from typing import Any

import pytest
from playwright.sync_api import Page, expect

from tests.ui.toy_page import ANSWER

pytestmark = pytest.mark.browser

LINES = ANSWER.split("\n")


def line_box(row: int) -> list[float]:
    """Where the toy page has a line of its text, as shares of the page."""
    x, y = 40, 60 + 44 * row
    return [x / 560, y / 720, (x + 11 * len(LINES[row])) / 560, (y + 22) / 720]


def ground(page: Page, **fields: Any) -> None:
    """The same run, with another grounding line."""
    lines = [json.loads(line) for line in page.evaluate("GLANCE.trace.text").splitlines()]
    lines = [line for line in lines if line["kind"] != "grounding"]
    lines.append({"kind": "grounding", "run": lines[0]["run"], "lane": "glance", **fields})
    page.evaluate("text => GLANCE.trace.feed(text)", "".join(json.dumps(x) + "\n" for x in lines))


def point(page: Page, box: list[float]) -> None:
    """Move the pointer to the middle of a place on the page."""
    frame = page.locator(".g-frame svg").bounding_box()
    assert frame
    page.mouse.move(
        frame["x"] + frame["width"] * (box[0] + box[2]) / 2,
        frame["y"] + frame["height"] * (box[1] + box[3]) / 2,
    )


def lit(page: Page, lane: str) -> str:
    """The text of a lane's tokens that are lit."""
    tokens = page.locator(f".g-strip[data-lane={lane}] .g-tok.g-here")
    return "".join(token.text_content() or "" for token in tokens.all())


def test_a_place_lights_its_tokens_in_every_lane_and_a_token_its_place(toy_url, visit):
    page = visit(toy_url)
    copied = {"source": "layout", "confidence": 1.0, "approximate": False}
    end = len(LINES[0] + LINES[1]) + 1
    ground(page, copy=[{"tokens": [0, end], "boxes": [line_box(0), line_box(1)], **copied}])
    expect(page.locator(".g-frame rect.g-read")).to_have_count(2)  # outlined from the start

    point(page, line_box(1))
    assert [lit(page, lane) for lane in ("glance", "ar")] == [LINES[1]] * 2
    place = page.locator(".g-place")
    expect(place).to_contain_text(f"On the page: “{LINES[1]}”")
    expect(page.locator(".g-frame rect.g-lit")).to_have_count(1)
    expect(page.locator(".g-approximate")).to_be_hidden()
    point(page, [0.9, 0.9, 1.0, 1.0])
    assert lit(page, "glance") == ""

    page.locator(".g-strip[data-lane=ar] .g-tok").nth(3).hover()
    assert lit(page, "glance") == lit(page, "ar") == ANSWER[3]
    expect(place).to_have_text(f"On the page: “{ANSWER[3]}”")
    box = page.locator(".g-frame rect.g-lit").bounding_box()
    frame = page.locator(".g-frame svg").bounding_box()
    assert box
    assert frame
    wanted = frame["x"] + frame["width"] * (40 + 3 * 11) / 560
    assert box["x"] == pytest.approx(wanted, abs=2)


def test_a_place_from_attention_is_called_approximate(toy_url, visit):
    page = visit(toy_url)
    page.evaluate("GLANCE.page.glyphs = null; GLANCE.places.find()")
    patches = [[0.0, 0.0, 0.25, 0.25], [0.5, 0.5, 0.75, 0.75]]
    ground(
        page,
        copy=[],
        head={"layer": 5, "head": 3, "row": 0},
        box=[patches[index >= 4] for index in range(len(ANSWER))],
        share=[0.42] * len(ANSWER),
    )
    expect(page.locator(".g-frame rect.g-guess")).to_have_count(2)
    expect(page.locator(".g-place")).to_contain_text("Dotted places are approximate.")
    page.locator(".g-strip .g-tok").first.hover()
    words = f"Approximate place of “{ANSWER[0]}”, where head 3 of layer 5 looks most, 42% of"
    expect(page.locator(".g-place")).to_contain_text(words)
    expect(page.locator(".g-approximate")).to_have_text("approximate")
    expect(page.locator(".g-approximate")).to_be_visible()
    point(page, patches[0])
    assert lit(page, "glance") == ANSWER[:4]
    expect(page.locator(".g-approximate")).to_be_visible()
    expect(page.locator(".g-place")).to_contain_text("Approximate place of")


def test_places_need_no_pointer(toy_url, visit):
    page = visit(toy_url)
    frame = page.locator(".g-frame[tabindex='0']")
    frame.focus()
    page.keyboard.press("ArrowRight")
    assert lit(page, "glance") == "48.20"
    expect(page.locator(".g-place")).to_have_attribute("aria-live", "polite")
    expect(page.locator(".g-place")).to_have_text("On the page: “48.20”")
    page.keyboard.press("Enter")
    written = page.evaluate(
        "(i => GLANCE.trace.focus().rounds.find((s) => s.from <= i && i < s.to).r)"
        f"({ANSWER.index('48.20')})"
    )
    expect(page.locator(".g-round-label")).to_contain_text(f"Round {written} of")
    page.keyboard.press("Escape")
    assert lit(page, "glance") == ""
