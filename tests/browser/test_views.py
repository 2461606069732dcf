"""Tabs of the whole run, the tree's list and the jump to the most uncertain token, in Chromium."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from playwright.sync_api import Page, expect

from app.replay_file import replay_html
from glance.trace import dumps
from tests.browser.conftest import NASTY
from tests.ui.toy_trace import toy_trace

pytestmark = pytest.mark.browser


def replay(folder: Path, text: str) -> str:
    """The address of a run over `text`, as a file that opens without a server."""
    path = folder / "replay.html"
    lines = "".join(dumps(line) + "\n" for line in toy_trace(text=text))
    path.write_text(replay_html(lines), encoding="utf-8")
    return path.as_uri()


def caption(page: Page, kind: str) -> str:
    return page.locator(f".g-{kind} .g-plot-caption").text_content() or ""


def test_a_tab_is_drawn_when_it_is_opened_and_the_arrows_go_on(visit, tmp_path):
    page = visit(replay(tmp_path, "The total is 48.20 EUR in all.\n" * 8), offline=True)
    expect(page.locator(".g-acceptance .g-plot .bars path").first).to_be_attached()
    assert page.locator(".g-law .main-svg, .g-stages .main-svg").count() == 0
    page.locator("#g-tab-acceptance").focus()
    page.keyboard.press("ArrowRight")
    expect(page.locator("#g-tab-law")).to_be_focused()
    expect(page.locator("#g-tab-law")).to_have_attribute("aria-selected", "true")
    expect(page.locator(".g-law .scatterlayer path.point").first).to_be_attached()
    assert "logit p" in caption(page, "law")
    page.keyboard.press("End")
    expect(page.locator(".g-stages .g-plot .bars path").first).to_be_attached()
    page.locator(".g-stages summary").click()
    rows = page.locator(".g-stages .g-twin tbody tr")
    expect(rows).to_have_count(page.evaluate("GLANCE.trace.focus().rounds.length"))


def test_the_jump_goes_to_the_round_of_the_most_uncertain_token(visit, tmp_path):
    page = visit(replay(tmp_path, "The total is 48.20 EUR in all."), offline=True)
    page.locator(".g-jump").click()
    goal = page.evaluate(
        """() => { const { tokens, rounds } = GLANCE.trace.focus();
        const most = Math.max(...tokens.map((token) => token.h));
        return rounds.find((step) => tokens.findIndex((t) => t.h === most) < step.to).r; }"""
    )
    expect(page.locator(".g-round-label")).to_contain_text(f"Round {goal} of")
    expect(page.locator(".g-tree .g-plot-caption")).to_contain_text(f"Round {goal}:")
    token = page.evaluate(
        """() => { const { tokens } = GLANCE.trace.focus();
        return tokens.findIndex((each) => each.h === Math.max(...tokens.map(({ h }) => h))); }"""
    )
    expect(page.locator(".g-tip")).to_contain_text(f" token {token},")
    marked = page.locator(".g-strip[data-lane=glance] .g-tok.g-here")
    expect(marked).to_have_attribute("data-i", str(token))
    page.locator(".g-jump").blur()
    expect(page.locator(".g-tip")).to_be_hidden()


def test_a_phone_has_the_tree_as_an_ordered_list_in_view(visit, tmp_path):
    page = visit(replay(tmp_path, "The total is 48.20 EUR"), offline=True, width=390)
    first = page.locator(".g-tree .g-twin > ol > li").first
    expect(first).to_contain_text("root, entropy after it 0.100 nats, target's best after it ")
    expect(first.locator("ol > li").first).to_contain_text(re.compile("drafter 0.800 .rank 0."))
    assert page.evaluate("document.documentElement.scrollWidth") <= 390


def test_text_in_what_hovers_is_literal(visit, tmp_path):
    page = visit(replay(tmp_path, NASTY), offline=True)
    page.wait_for_selector(".g-entropy .g-plot .main-svg")  # its policy lets no test poll by eval
    spelled = page.evaluate(
        "[...document.querySelector('.g-entropy .g-plot').data].flatMap((t) => t.customdata)"
    )
    assert len(spelled) == len(NASTY)
    assert {"&lt;", "&gt;", "&amp;"} <= set(spelled)
    assert not {"<", ">", "&"} & set(spelled)


def test_the_study_says_what_makes_its_results(toy_url, visit):
    page = visit(toy_url)
    page.click("#g-tab-study")
    first = page.locator(".g-sections section").first
    expect(first).to_contain_text("Bench")
    expect(first).to_contain_text(re.compile("python -m glance bench|answers a task"))
