"""The page as it is shipped: its own model, its own examples, nothing made up.

Run with: python -m pytest -m browser tests/browser/test_live.py
"""

from __future__ import annotations

import json
import re

import pytest
from PIL import Image, ImageDraw, ImageFont
from playwright.sync_api import Page, expect

from app.examples import load_examples
from tests.ui.toy_page import FONT

pytestmark = pytest.mark.browser

MINUTE = 60_000


def lines(page: Page) -> list[dict]:
    return [json.loads(line) for line in page.evaluate("GLANCE.trace.text").splitlines()]


def ready(page: Page) -> None:
    expect(page.locator(".g-chip-status")).to_contain_text("Model ready on", timeout=2 * MINUTE)


def choose(page: Page, control: str, name: str) -> None:
    page.get_by_label(control).click()
    page.get_by_role("option", name=name, exact=True).click()


def run(page: Page, question: str) -> list[dict]:
    page.fill("#g-question textarea", question)
    page.click("#g-run")
    page.wait_for_function("GLANCE.player.source === 'live' && GLANCE.player.phase === 'done'")
    return lines(page)


def depth(parents: list[int]) -> int:
    """Tokens of the longest path below the root of a tree."""
    depths: list[int] = []
    for parent in parents:
        depths.append(0 if parent < 0 else depths[parent] + 1)
    return max(depths)


def check_run(page: Page, found: list[dict]) -> None:
    """Equal answers on the page and in the trace; the tree drawn with the trace's nodes."""
    texts = [strip.text_content() for strip in page.locator(".g-strip").all()]
    assert len(texts) == 2
    assert texts[0] == texts[1]
    assert texts[0]
    expect(page.locator(".g-badge")).to_have_attribute("data-state", "equal")
    finish = {line["lane"]: line for line in found if line["kind"] == "finish"}
    assert finish["glance"]["tokens"] == finish["ar"]["tokens"]
    builds = [line for line in found if line["kind"] == "build"]
    if builds:
        r = builds[-1]["r"]
        commit = next(
            x for x in found if x["kind"] == "commit" and x["lane"] == "glance" and x["r"] == r
        )
        bonus = commit["tokens"][-1]["origin"] == "bonus"  # an end token in a block drops it
        expect(page.locator(".g-tree .g-plot-caption")).to_contain_text(f"Round {r}:")
        markers = page.locator(".g-tree .g-plot .scatterlayer path.point")
        expect(markers).to_have_count(len(builds[-1]["tree"]["parent"]) + bonus)


def test_every_shipped_example_has_a_recorded_run_and_eight_are_shipped():
    examples = load_examples()
    assert len(examples) == 8
    assert all(example.recorded() for example in examples)


def test_first_paint_is_a_recorded_run_and_an_example_runs_live(live_url, visit):
    page = visit(live_url)
    page.set_default_timeout(2 * MINUTE)
    expect(page.locator(".g-origin")).to_contain_text("Recorded run")
    ready(page)
    question = page.locator("#g-question textarea").input_value()
    check_run(page, run(page, question))
    expect(page.locator(".g-origin")).to_contain_text("Live")


def test_a_page_from_disk_is_read_and_both_lanes_agree(live_url, visit, tmp_path):
    image = Image.new("RGB", (420, 300), "white")
    font = ImageFont.truetype(FONT, 18)
    ImageDraw.Draw(image).text((30, 40), "Total 48.20 EUR\nPaid & done", "black", font)
    image.save(tmp_path / "mine.png")
    page = visit(live_url)
    page.set_default_timeout(2 * MINUTE)
    ready(page)
    page.set_input_files("#g-file input[type=file]", tmp_path / "mine.png")
    expect(page.locator(".g-caption")).to_contain_text("mine.png")
    check_run(page, run(page, "Transcribe the page."))
    expect(page.locator(".g-caption")).to_contain_text(re.compile(r"read at \d+ × \d+"))


def test_stop_is_heard_while_the_model_decodes(live_url, visit):
    page = visit(live_url)
    page.set_default_timeout(2 * MINUTE)
    ready(page)
    choose(page, "Decode with", "Token by token")
    page.fill("#g-question textarea", "Transcribe the page.")
    page.click("#g-run")
    page.wait_for_function(  # pressed by the page itself: the model may be done in a second
        "GLANCE.player.source === 'live' && GLANCE.trace.focus()?.rounds.length > 2"
        " && (document.querySelector('#g-stop').click(), true)"
    )
    expect(page.locator(".g-state")).to_contain_text("Stopped.")
    choose(page, "Decode with", "GLANCE")
    check_run(page, run(page, page.locator("#g-question textarea").input_value()))


def test_a_deep_tree_on_a_phone_pans_in_its_own_box(live_url, visit):
    _, deepest, example = max(
        (depth(line["tree"]["parent"]), line["r"], example)
        for example in load_examples()
        for line in map(json.loads, example.recorded().splitlines())
        if line["kind"] == "build"
    )
    page = visit(f"{live_url}?ex={example.id}&round={deepest}", width=390, height=844)
    expect(page.locator(".g-round-label")).to_contain_text(f"Round {deepest} of")
    # until this round is drawn, the frame is as wide as another one's tree
    expect(page.locator(".g-tree .g-plot-caption")).to_contain_text(f"Round {deepest}:")
    expect(page.locator(".g-tree .g-plot .scatterlayer path.point").first).to_be_attached()
    shown, whole = page.evaluate(
        "(() => { const f = document.querySelector('.g-tree .g-plot-frame');"
        " return [f.clientWidth, f.scrollWidth]; })()"
    )
    assert shown < 390 < whole
    assert page.evaluate("document.documentElement.scrollWidth") <= 390
