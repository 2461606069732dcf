"""Race, answers and the round slider, in Chromium, over the toy page.

Run with: python -m pytest -m browser tests/browser/test_lanes.py
"""

from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import Path

import pytest
from playwright.sync_api import Locator, Page, expect

from app.replay_file import replay_html
from glance.trace import dumps
from tests.ui.toy_trace import toy_trace

pytestmark = pytest.mark.browser

# Starts a replay by its button; for each of its frames: ms since then, the clock of the replay, and
# what the page says of the speed.
WATCHED = """(name) => new Promise((done) => {
  const start = performance.now(), seen = [];
  GLANCE.on('time', () => {
    if (!GLANCE.player.playing) { done(seen); return; }
    const words = ['.g-speed', '.g-rates [aria-pressed=true]']
      .map((each) => document.querySelector(each).textContent);
    seen.push([performance.now() - start, GLANCE.player.now, ...words]);
  });
  document.querySelector(name).click();
})"""


def test_the_race_has_three_speeds(toy_url, visit):
    page = visit(toy_url)
    speed, pressed = page.locator(".g-speed"), page.locator(".g-rates [aria-pressed=true]")
    expect(pressed).to_have_text("instant")
    for button, rate, name, words in (
        (".g-quarter", 0.25, "0.25×", "Slow motion: 1/4 speed"),
        (".g-real", 1.0, "1×", "Real speed"),
    ):
        frames = page.evaluate(WATCHED, button)
        assert len(frames) > 2
        for passed, now, said, chosen in frames:
            assert (said, chosen) == (words, name)
            assert now <= rate * passed + 1
    page.locator(".g-quarter").click()
    expect(pressed).to_have_text("0.25×")
    page.locator(".g-skip").click()
    expect(speed).to_have_text("")
    expect(pressed).to_have_text("instant")
    assert page.locator(".g-round.g-off").count() == 0


def test_prefill_and_the_first_draft_are_parts_of_their_own(toy_url, visit):
    page = visit(toy_url)
    expect(page.locator(".g-prefill")).to_have_text(["prefill 120 ms"] * 2)
    first = page.locator(".g-first")
    expect(first).to_have_count(1)  # token by token, nothing is drafted
    assert first.evaluate("node => node.closest('.g-lane').dataset.lane") == "glance"
    block = page.locator(".g-lane[data-lane=glance] .g-block").first
    expect(block).to_have_attribute("title", re.compile(r"round 1: .* first draft 4 ms of it"))
    inner, outer = first.bounding_box(), block.bounding_box()
    assert inner
    assert outer
    assert inner["x"] == pytest.approx(outer["x"], abs=1)
    # 4 of the 17 ms of the round
    assert inner["width"] == pytest.approx(outer["width"] * 4 / 17, abs=1.5)


@pytest.mark.parametrize("width", [1280, 390])
def test_a_token_stands_at_the_same_place_of_both_answers(toy_url, visit, width):
    page = visit(toy_url, width=width)
    assert page.locator(".g-leap").count() > 0
    paces = page.locator(".g-strip[data-lane=ar] .g-pace")
    expect(paces).to_have_count(page.locator(".g-leap").count())
    # AR took a pass for each of the tokens that the tag in the other answer counts
    tags = page.locator(".g-leap").evaluate_all("all => all.map((node) => node.dataset.tag)")
    counts = [tag.split()[0] for tag in tags]
    assert paces.evaluate_all("all => all.map((node) => node.dataset.tag)") == [
        f"{count} passes" for count in counts
    ]
    places = page.evaluate(
        """['glance', 'ar'].map((lane) => {
          const strip = document.querySelector(`.g-strip[data-lane=${lane}]`);
          const home = strip.getBoundingClientRect();
          return [...strip.querySelectorAll('.g-tok')].map((node) => {
            const box = node.getClientRects()[0];
            const down = box.top - home.top + strip.scrollTop;
            return [Math.round(box.left - home.left), Math.round(down)];
          });
        })"""
    )
    assert places[0] == places[1]

    page.add_style_tag(content=".g-strip { height: 60px; min-height: 0 !important; }")
    page.locator(".g-strip").first.hover()
    page.mouse.wheel(0, 30)
    page.wait_for_function(
        "(([a, b]) => a.scrollTop > 20 && a.scrollTop === b.scrollTop)"
        "(document.querySelectorAll('.g-strip'))"
    )


def test_what_was_copied_is_marked_in_both_answers(toy_url, visit):
    page = visit(toy_url)
    legend = page.locator(".g-legend .g-copied")
    expect(legend).to_be_visible()
    for strip in page.locator(".g-strip").all():
        assert "".join(strip.locator(".g-copied").all_text_contents()) == "48.20"
        expect(strip.locator(".g-copied").first).to_have_css("border-top-style", "dotted")
    page.locator("#g-examples button").nth(1).click()
    expect(page.locator(".g-strip .g-copied")).to_have_count(0)
    expect(legend).to_be_hidden()


def test_a_chosen_round_comes_into_sight_in_its_own_strip_alone(toy_url, visit):
    page = visit(toy_url)
    page.add_style_tag(content=".g-strip { height: 60px; min-height: 0 !important; }")
    seen = """() => { const group = document.querySelector(".g-strip .g-round.g-chosen");
      const [home, box] = [group.parentNode, group].map((each) => each.getBoundingClientRect());
      return home.top <= box.top && box.bottom <= home.bottom + 1; }"""
    scrolled = page.evaluate("scrollY")
    for key in ("Home", "End"):
        page.locator("body").press(key)
        page.wait_for_function(seen)
    assert page.evaluate("scrollY") == scrolled


def two_drafters(path: Path, made: Callable[[str], str] = str) -> Path:
    """A file of a run with two drafting lanes, whose rounds differ: its trace, or made of it."""
    text = "".join(dumps(line) + "\n" for line in toy_trace(lanes=("glance", "eagle3")))
    path.write_text(made(text), encoding="utf-8")
    return path


def switch(page: Page, lane: str) -> Locator:
    return page.get_by_role("group", name="Rounds of").locator(f"input[value={lane}]")


def rounds_drawn(page: Page) -> None:
    """Wait until the prefix view has a bar for each round of the lane that is looked at."""
    page.wait_for_selector(".g-prefix .g-plot .bars path")
    rounds = page.evaluate("GLANCE.trace.focus().rounds.length")
    expect(page.locator(".g-prefix .g-plot-caption")).to_contain_text(f"{rounds} rounds,")


def test_of_two_drafters_either_is_looked_at(toy_url, visit, tmp_path):
    page = visit(toy_url)
    expect(page.locator(".g-which fieldset")).to_be_hidden()
    trace = two_drafters(tmp_path / "two.jsonl")
    page.set_input_files("#g-open input[type=file], input[type=file][accept*=jsonl]", trace)
    expect(page.locator(".g-state")).to_contain_text("Opened two.jsonl.")
    glance, eagle = switch(page, "glance"), switch(page, "eagle3")
    expect(glance).to_be_checked()
    counts = page.evaluate("GLANCE.trace.drafting().map((lane) => lane.rounds.length)")
    assert counts[0] != counts[1]
    glance.focus()
    page.keyboard.press("ArrowRight")
    expect(eagle).to_be_checked()
    label = page.locator(".g-round-label")
    expect(label).to_contain_text(f"Round {counts[1]} of {counts[1]}:")
    expect(page.locator(".g-tree .g-plot-caption")).to_contain_text(f"Round {counts[1]}:")
    rounds_drawn(page)
    page.locator("body").press("Home")
    expect(page.locator(".g-strip[data-lane=eagle3] .g-round.g-chosen")).to_have_count(1)
    expect(page.locator(".g-strip[data-lane=glance] .g-round.g-chosen")).to_have_count(0)


def test_a_block_or_a_token_chooses_its_lane_and_round(visit, tmp_path):
    path = two_drafters(tmp_path / "two.html", replay_html)
    page = visit(path.as_uri(), offline=True)
    counts = page.evaluate("GLANCE.trace.drafting().map((lane) => lane.rounds.length)")
    label = page.locator(".g-round-label")
    page.locator(".g-lane[data-lane=eagle3] .g-block[data-r='2']").click()
    expect(switch(page, "eagle3")).to_be_checked()
    expect(label).to_contain_text(f"Round 2 of {counts[1]}:")
    expect(page.locator(".g-tree .g-plot-caption")).to_contain_text("Round 2:")
    rounds_drawn(page)
    page.locator(".g-strip[data-lane=glance] .g-round[data-r='1'] .g-tok").first.click()
    expect(switch(page, "glance")).to_be_checked()
    expect(label).to_contain_text(f"Round 1 of {counts[0]}:")
    rounds_drawn(page)


def test_the_keys_that_the_page_names_are_the_keys_that_work(toy_url, visit):
    page = visit(toy_url)
    label, body = page.locator(".g-round-label"), page.locator("body")
    named = page.locator(".g-keys kbd").all_text_contents()
    assert named == ["←", "→", "Home", "End", "Space"]
    last = page.evaluate("GLANCE.trace.focus().rounds.length")
    for key, words in (
        ("Home", "Round 1 of"),
        ("ArrowRight", "Round 2 of"),
        ("End", f"Round {last} of"),
        ("ArrowLeft", f"Round {last - 1} of"),
    ):
        body.press(key)
        expect(label).to_contain_text(words)
    body.press("Space")
    expect(page.locator(".g-speed")).to_contain_text("Slow motion")
    body.press("Space")
    expect(page.locator(".g-speed")).to_have_text("Paused")


def test_a_pause_holds_the_clock_and_goes_on_from_there(toy_url, visit):
    page = visit(toy_url)
    play = page.locator(".g-play")
    expect(play).to_have_text("Play")
    play.click()
    page.wait_for_function("GLANCE.player.playing && GLANCE.player.now > 1")
    play.click()
    expect(play).to_have_text("Play")
    held = page.evaluate("GLANCE.player.now")
    assert 1 < held < page.evaluate("GLANCE.player.span()")
    page.wait_for_timeout(300)
    assert page.evaluate("GLANCE.player.now") == held
    page.evaluate("GLANCE.on('time', () => { window.next ??= GLANCE.player.now; })")
    page.locator("body").press("Space")
    expect(play).to_have_text("Pause")
    page.wait_for_function("now => GLANCE.player.now > now", arg=held)
    assert held <= page.evaluate("window.next") < held + 20
    page.locator(".g-skip").click()
    expect(play).to_have_text("Play")
    page.get_by_role("button", name="First round").click()
    expect(page.locator(".g-round-label")).to_contain_text("Round 1 of")
    page.get_by_role("button", name="Last round").click()
    last = page.evaluate("GLANCE.trace.focus().rounds.length")
    expect(page.locator(".g-round-label")).to_contain_text(f"Round {last} of")
