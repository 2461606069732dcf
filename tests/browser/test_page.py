"""The page in Chromium, over a toy runner that answers with the question's own text.

Run with: python -m pytest -m browser tests/browser
"""

from __future__ import annotations

import io
import json
import re
import time

import pytest
from PIL import Image
from playwright.sync_api import Locator, Page, expect

from tests.browser.conftest import NASTY
from tests.ui.toy_page import ANSWER

pytestmark = pytest.mark.browser

LONG = "a rather long question that keeps both lanes busy for a while, " * 3
FREED_MS = 15_000  # a third of what such a run takes on the slow page


def ask(page: Page, question: str) -> None:
    page.fill("#g-question textarea", question)
    page.click("#g-run")


def finished(page: Page) -> None:
    expect(page.locator(".g-state")).to_have_text("Done.")


def drawn(page: Page) -> None:
    """Wait until no view has a redraw ahead."""
    page.wait_for_function("GLANCE.plots.views.every((view) => !view.waits())")


def width_of(picture: Locator) -> int:
    """Of the file, in px, once it is decoded."""
    return picture.evaluate("async (image) => { await image.decode(); return image.naturalWidth; }")


def under_way(page: Page, rounds: int) -> None:
    """Wait until the live run has more than so many rounds."""
    page.wait_for_function(
        "n => GLANCE.player.source === 'live' && GLANCE.trace.focus()?.rounds.length > n",
        arg=rounds,
    )


def strips(page: Page) -> list[str]:
    return [strip.text_content() or "" for strip in page.locator(".g-strip").all()]


def lines(page: Page) -> list[dict]:
    text = page.evaluate("GLANCE.trace.text")
    return [json.loads(line) for line in text.splitlines()]


def zoom(page: Page) -> list[float]:
    return page.evaluate("[...document.querySelector('.g-entropy .g-plot').layout.xaxis.range]")


def drag(page: Page) -> None:
    """Zoom the entropy view by a real drag over its middle."""
    area = page.locator(".g-entropy .g-plot .nsewdrag").first
    area.scroll_into_view_if_needed()
    box = area.bounding_box()
    assert box
    y = box["y"] + box["height"] / 2
    page.mouse.move(box["x"] + 0.3 * box["width"], y)
    page.mouse.down()
    page.mouse.move(box["x"] + 0.5 * box["width"], y, steps=6)
    page.mouse.move(box["x"] + 0.7 * box["width"], y, steps=6)
    page.mouse.up()


def cut_jpeg() -> bytes:
    data = io.BytesIO()
    Image.effect_noise((300, 300), 80).save(data, "JPEG")
    return data.getvalue()[:4000]


def test_first_paint_shows_a_recorded_run_and_says_so(toy_url, visit):
    page = visit(toy_url)
    expect(page.locator(".g-origin")).to_contain_text("Recorded run, 2026-01-02")
    assert strips(page) == [ANSWER, ANSWER]
    expect(page.locator(".g-badge")).to_contain_text(f"{len(ANSWER)}/{len(ANSWER)} tokens equal")
    expect(page.locator(".g-headline")).to_contain_text("target passes instead of")
    assert width_of(page.locator(".g-document img")) > 100
    expect(page.locator(".g-chip-status")).to_contain_text("Model ready")


def test_upload_ask_and_both_lanes_agree(toy_url, visit, tmp_path):
    path = tmp_path / "mine.png"
    Image.new("RGB", (400, 300), "white").save(path)
    page = visit(toy_url)
    page.set_input_files("#g-file input[type=file]", path)
    expect(page.locator(".g-caption")).to_contain_text("mine.png · 400 × 300 pixels")
    expect(page.locator("body")).to_have_class(re.compile("g-stale"))
    ask(page, "What is the total of this page?")
    finished(page)
    assert strips(page) == ["What is the total of this page?"] * 2
    expect(page.locator(".g-badge")).to_have_attribute("data-state", "equal")
    expect(page.locator("body")).not_to_have_class(re.compile("g-stale"))
    expect(page.locator(".g-origin")).to_contain_text("Live")


def test_the_drawn_tree_has_the_nodes_of_the_trace(toy_url, visit):
    page = visit(toy_url)
    builds = {line["r"]: line for line in lines(page) if line["kind"] == "build"}
    for number in (2, len(builds), 1):
        page.evaluate(
            "r => GLANCE.player.pick(GLANCE.trace.focus().rounds.find((step) => step.r === r))",
            number,
        )
        expect(page.locator(".g-tree .g-plot-caption")).to_contain_text(f"Round {number}:")
        markers = page.locator(".g-tree .g-plot .scatterlayer path.point")
        # one marker a node, and one for the bonus token
        expect(markers).to_have_count(len(builds[number]["tree"]["parent"]) + 1)
        page.locator(".g-tree summary").click()
        items = page.locator(".g-tree .g-twin li")
        expect(items).to_have_count(len(builds[number]["tree"]["parent"]) + 1)
        page.locator(".g-tree summary").click()


def test_a_block_of_four_or_more_is_outlined_tagged_and_lit_on_the_page(toy_url, visit):
    page = visit(toy_url)
    leaps = page.locator(".g-leap")
    found = lines(page)
    drafted = [
        sum(token["origin"] == "drafted" for token in line["tokens"])
        for line in found
        if line["kind"] == "commit" and line["lane"] == "glance"
    ]
    assert leaps.count() == sum(n >= 4 for n in drafted) > 0
    tag = leaps.first.get_attribute("data-tag")
    assert re.fullmatch(r"\d+ in 1 pass", tag or "")
    leaps.first.locator(".g-tok").first.click()
    expect(page.locator(".g-frame rect.g-lit").first).to_be_attached()


def test_zoom_set_before_and_during_a_run_survives_it(toy_url, visit):
    page = visit(toy_url)
    page.wait_for_selector(".g-entropy .g-plot .nsewdrag")
    drag(page)
    before = zoom(page)
    ask(page, LONG)
    page.wait_for_function("GLANCE.player.source === 'live' && GLANCE.trace.lanes.has('ar')")
    page.wait_for_timeout(600)
    assert zoom(page) == pytest.approx(before)
    drag(page)
    during = zoom(page)
    assert during != pytest.approx(before)
    finished(page)
    page.wait_for_timeout(600)
    assert zoom(page) == pytest.approx(during)


def test_the_plots_stay_on_the_same_nodes_and_redraw_at_most_four_times_a_second(toy_url, visit):
    page = visit(toy_url)
    page.evaluate("window.kept = [...document.querySelectorAll('.g-plot .main-svg')]")
    redraws = page.evaluate("GLANCE.plots.redraws")
    start = time.monotonic()
    ask(page, LONG)
    finished(page)
    page.wait_for_timeout(700)
    drawn(page)
    seconds = time.monotonic() - start
    assert page.evaluate("window.kept.every((node) => node.isConnected)")
    assert 3 <= page.evaluate("GLANCE.plots.redraws") - redraws <= 3 * (4 * seconds + 1)
    last = max(line["r"] for line in lines(page) if line["kind"] == "build")
    expect(page.locator(".g-tree .g-plot-caption")).to_contain_text(f"Round {last}:")


def test_no_redraw_while_a_pointer_is_down_and_the_last_value_on_release(toy_url, visit):
    page = visit(toy_url)
    ask(page, LONG)
    under_way(page, 2)
    page.locator(".g-plot-caption").first.hover()
    page.mouse.down()
    redraws = page.evaluate("GLANCE.plots.redraws")
    finished(page)
    assert page.evaluate("GLANCE.plots.redraws") == redraws
    page.mouse.up()
    last = max(line["r"] for line in lines(page) if line["kind"] == "build")
    expect(page.locator(".g-tree .g-plot-caption")).to_contain_text(f"Round {last}:")


def test_stop_keeps_what_was_decoded_and_frees_the_slot(slow_url, visit):
    page = visit(slow_url)
    ask(page, LONG)
    under_way(page, 2)
    page.click("#g-stop")
    expect(page.locator(".g-state")).to_contain_text("Stopped.")
    page.wait_for_timeout(400)
    kept = strips(page)[0]
    assert kept
    assert LONG.startswith(kept)
    assert not any(line["kind"] == "compare" for line in lines(page))
    expect(page.locator(".g-headline")).to_contain_text(re.compile(r"Stopped after \d+ tokens in"))
    expect(page.locator(".g-badge-detail")).to_contain_text("stopped before")
    expect(page.get_by_text("not run", exact=True)).to_be_visible()
    stop = page.locator("#g-stop")
    expect(stop).to_have_attribute("aria-disabled", "true")
    stop.press("Enter")  # with nothing to stop
    page.wait_for_timeout(300)
    assert strips(page)[0] == kept
    ask(page, "And now?")
    # the run that was stopped would have gone on for longer
    page.wait_for_function("GLANCE.trace.header.prompt.question === 'And now?'", timeout=FREED_MS)
    finished(page)
    assert strips(page) == ["And now?"] * 2


def test_closing_the_tab_frees_the_slot(slow_url, visit):
    first, second = visit(slow_url), visit(slow_url)
    ask(first, LONG * 3)
    first.wait_for_function("GLANCE.player.source === 'live'")
    ask(second, "mine")
    expect(second.locator(".g-state")).to_contain_text("1 run is ahead of yours")
    first.close()
    second.wait_for_function("GLANCE.trace.header.prompt.question === 'mine'", timeout=FREED_MS)
    finished(second)


def test_late_lines_of_a_stopped_run_are_dropped(slow_url, visit):
    page = visit(slow_url)
    ask(page, LONG)
    under_way(page, 2)
    old = page.evaluate("GLANCE.trace.text")
    page.click("#g-stop")
    expect(page.locator(".g-state")).to_contain_text("Stopped.")  # until then no run begins
    ask(page, "Newer")
    finished(page)
    page.evaluate("text => GLANCE.trace.feed(text)", old)
    assert strips(page) == ["Newer", "Newer"]


def test_picking_an_example_ends_a_run_that_goes_on(toy_url, visit):
    page = visit(toy_url)
    ask(page, LONG)
    under_way(page, 2)
    page.locator("#g-examples button").nth(1).click()
    expect(page.locator(".g-caption")).to_contain_text("page1.png")
    expect(page.locator(".g-strip").first).to_have_text(NASTY, use_inner_text=False)
    page.wait_for_timeout(700)
    assert strips(page) == [NASTY, NASTY]
    expect(page.locator("body")).not_to_have_class(re.compile("g-running|g-stale"))
    ask(page, "Free again?")
    finished(page)


def test_a_run_needs_no_mouse(toy_url, visit):
    page = visit(toy_url)
    page.locator("#g-question textarea").focus()
    page.keyboard.press("Control+A")
    page.keyboard.type("By keyboard alone")
    for _ in range(8):  # past the suggestions
        page.keyboard.press("Tab")
        if page.evaluate("document.activeElement.id") == "g-run":
            break
    page.keyboard.press("Enter")
    finished(page)
    assert strips(page)[0] == "By keyboard alone"
    page.locator(".g-strip").first.focus()
    page.keyboard.press("ArrowRight")
    expect(page.locator(".g-tip")).to_contain_text("token 0")
    words = re.compile("^B token 0, prefill, the target's own token, entropy 0.200 nats, B 0.900,")
    expect(page.locator(".g-live")).to_have_text(words)


def test_an_answer_of_one_token_has_no_round_and_breaks_nothing(toy_url, visit):
    page = visit(toy_url)
    ask(page, "7")
    finished(page)
    assert strips(page) == ["7", "7"]
    expect(page.locator(".g-round-label")).to_contain_text("No round: the first token")
    expect(page.locator(".g-tree .g-plot-caption")).to_have_text("No round, so no candidate tree.")
    expect(page.locator(".g-headline")).to_contain_text("Too short to gain")
    expect(page.locator(".g-jump")).to_be_disabled()
    page.locator(".g-slow").click()
    for key in ("Home", "ArrowRight", "Space"):
        page.locator("body").press(key)
    expect(page.locator(".g-speed")).to_have_text("")


def test_a_lost_connection_is_told_and_the_next_run_need_not_wait(toy_url, visit):
    page = visit(toy_url)
    ask(page, LONG)
    told = page.wait_for_function(  # lost in the middle of the run, however slow this page is
        """() => GLANCE.player.source === 'live' && GLANCE.trace.focus()?.rounds.length > 2
          && (dispatchEvent(new Event('offline')), [document.body.classList.contains('g-running')
            ? '' : document.querySelector('.g-state').textContent])"""
    ).json_value()
    words = "The connection is lost: ask again when it is back. Save this run within ten minutes."
    assert told == [words]
    kept = page.get_by_role("link", name="Save this run").evaluate("link => link.href")
    ask(page, "Back again")
    page.wait_for_function("GLANCE.trace.header.prompt.question === 'Back again'")
    finished(page)
    assert strips(page) == ["Back again"] * 2
    saved = page.request.get(kept).text().splitlines()  # Open trace reads such a file
    assert json.loads(saved[0])["prompt"]["question"] == LONG.strip()


def test_a_double_click_starts_one_run(toy_url, visit):
    page = visit(toy_url)
    page.evaluate("window.runs = new Set(); GLANCE.on('trace', () => runs.add(GLANCE.trace.run))")
    page.fill("#g-question textarea", "Once only, please")
    page.dblclick("#g-run")
    finished(page)
    page.wait_for_timeout(1500)
    assert page.evaluate("runs.size") == 1


def test_text_of_documents_and_traces_shows_literally_and_runs_nowhere(toy_url, visit, tmp_path):
    page = visit(toy_url)
    page.locator("#g-examples button").nth(1).click()
    expect(page.locator(".g-strip").first).to_have_text(NASTY, use_inner_text=False)
    assert strips(page) == [NASTY, NASTY]
    name = "<img src=x onerror=document.title=1> ${document.title=2}.png"
    Image.new("RGB", (300, 200), "white").save(tmp_path / name)
    page.set_input_files("#g-file input[type=file]", tmp_path / name)
    expect(page.locator(".g-caption")).to_contain_text("300 × 200")
    attack = (
        "<script>document.title=3</script><img src=x onerror=document.title=4>${document.title=5}"
    )
    ask(page, attack)
    finished(page)
    assert strips(page) == [attack, attack]
    for twin in page.locator(".g-view summary:visible").all():
        twin.click()
    page.locator(".g-tok").first.hover()
    page.wait_for_timeout(500)
    assert page.title() == "GLANCE"
    assert page.locator(".g-strip b, .g-strip img, .g-twin img, .g-view script").count() == 0
    drawn = page.locator(".g-entropy .g-twin td", has_text="<").count()
    assert drawn > 0


@pytest.mark.parametrize(
    ("name", "data", "words"),
    [
        ("empty.png", b"", "empty"),
        ("page.png", b"this is text", "not an image"),
        ("cut.jpg", cut_jpeg(), "damaged"),
    ],
)
def test_a_bad_file_gets_one_sentence_and_the_page_stays_usable(
    toy_url, visit, tmp_path, name, data, words
):
    (tmp_path / name).write_bytes(data)
    page = visit(toy_url)
    page.set_input_files("#g-file input[type=file]", tmp_path / name)
    message = page.locator(".g-state")
    expect(message).to_have_attribute("data-level", "error")
    expect(message).to_contain_text(re.compile(words, re.IGNORECASE))
    page.click("#g-run")  # there is nothing to ask about: what is told stays
    page.wait_for_timeout(300)
    expect(message).to_contain_text(re.compile(words, re.IGNORECASE))
    page.locator("#g-examples button").first.click()
    expect(page.locator(".g-caption")).to_contain_text("page0.png")
    ask(page, "Does it still work?")
    finished(page)
    assert strips(page)[0] == "Does it still work?"


@pytest.mark.parametrize(("question", "words"), [("  ", "no question"), ("x" * 2001, "2,001")])
def test_a_bad_question_gets_one_sentence(toy_url, visit, question, words):
    page = visit(toy_url)
    ask(page, question)
    expect(page.locator(".g-state")).to_contain_text(words)
    if len(question) > 2000:
        expect(page.locator(".g-counter")).to_have_class(re.compile("g-over"))
    ask(page, "A fine question")
    finished(page)


def test_a_new_question_greys_the_results_until_it_is_taken_back(toy_url, visit):
    page = visit(toy_url)
    body = page.locator("body")
    expect(body).not_to_have_class(re.compile("g-stale"))
    boxes = page.locator(".g-frame rect")
    expect(boxes.first).to_be_attached()
    page.fill("#g-question textarea", "Something else")
    expect(body).to_have_class(re.compile("g-stale"))
    expect(boxes).to_have_count(0)
    page.fill("#g-question textarea", "Transcribe the page.")
    expect(body).not_to_have_class(re.compile("g-stale"))
    expect(boxes.first).to_be_attached()
    other = page.locator("#g-suggestions button").last
    other.click()  # nothing is typed here
    expect(body).to_have_class(re.compile("g-stale"))
    expect(page.locator(".g-counter")).to_have_text(f"{len(other.inner_text())} / 2,000")


def test_the_slider_follows_the_run_until_it_is_touched(toy_url, visit):
    page = visit(toy_url)
    ask(page, LONG)
    under_way(page, 4)
    page.locator(".g-scrub input").fill("2")
    expect(page.locator(".g-back")).to_be_visible()
    finished(page)
    expect(page.locator(".g-round-label")).to_contain_text("Round 2 of")
    page.locator(".g-back").click()
    last = max(line["r"] for line in lines(page) if line["kind"] == "build")
    expect(page.locator(".g-round-label")).to_contain_text(f"Round {last} of {last}")
    expect(page.locator(".g-back")).to_be_hidden()


def test_a_short_run_is_replayed_in_labelled_slow_motion(toy_url, visit):
    page = visit(toy_url, motion=True)
    expect(page.locator(".g-speed")).to_contain_text("Slow motion: 1/")  # the recorded run
    page.locator(".g-skip").click()
    expect(page.locator(".g-speed")).to_have_text("")
    page.evaluate(
        """() => { window.seen = []; GLANCE.on('time', () => { const { player } = GLANCE;
        if (player.playing) seen.push([performance.now(), player.now, player.rate]); }); }"""
    )
    ask(page, "A question with a longer answer, so that one block is the longest")
    finished(page)
    expect(page.locator(".g-speed")).to_contain_text("Slow motion: 1/")
    page.wait_for_selector(".g-spot")  # it pauses on the longest accepted block
    expect(page.locator(".g-speed")).to_have_text("")
    # ten seconds by the clock of the replay, for which a slow frame counts 100 ms at most
    frames, span = page.evaluate("[seen, GLANCE.player.span()]")
    assert [rate for _, _, rate in frames] == pytest.approx([span / 10_000] * len(frames))
    assert frames[-1][1] > 0.98 * span
    assert frames[-1][0] - frames[0][0] > 5_000


def test_reduced_motion_plays_nothing_unasked(toy_url, visit):
    page = visit(toy_url)
    page.wait_for_timeout(1500)
    expect(page.locator(".g-speed")).to_have_text("")
    page.locator(".g-slow").click()
    expect(page.locator(".g-speed")).to_contain_text("Slow motion")


def test_the_exported_trace_opens_to_the_same_page(toy_url, visit, tmp_path):
    page = visit(toy_url)
    with page.expect_download() as download:
        page.locator("#g-export summary").click()
        page.locator("#g-export button[data-file='trace.jsonl']").click()
    path = tmp_path / "trace.jsonl"
    download.value.save_as(path)
    assert path.read_text(encoding="utf-8") == page.evaluate("GLANCE.trace.text")
    page.locator("#g-examples button").nth(1).click()
    expect(page.locator(".g-strip").first).to_have_text(NASTY, use_inner_text=False)
    question = page.locator("#g-question textarea")
    question.fill("Of another page")
    page.set_input_files("#g-open input[type=file], input[type=file][accept*=jsonl]", path)
    expect(page.locator(".g-origin")).to_contain_text("Opened trace")
    assert strips(page) == [ANSWER, ANSWER]
    # the page that was shown was another one
    expect(page.locator(".g-state")).to_contain_text("The trace has no picture of its page.")
    expect(page.locator(".g-document")).to_have_class(re.compile("g-empty"))
    expect(question).to_have_value("Transcribe the page.")
    body = page.locator("body")
    expect(body).not_to_have_class(re.compile("g-stale"))
    question.fill("Something else")
    expect(body).to_have_class(re.compile("g-stale"))
    question.fill("Transcribe the page.")
    expect(body).not_to_have_class(re.compile("g-stale"))
    Image.new("RGB", (400, 300), "white").save(tmp_path / "other.png")
    page.set_input_files("#g-file input[type=file]", tmp_path / "other.png")
    expect(body).to_have_class(re.compile("g-stale"))


def test_modes_decode_one_lane(toy_url, visit):
    page = visit(toy_url)
    for control, name in (("Decode with", "Token by token"), ("Beside it", "Nothing")):
        page.get_by_label(control).click()
        page.get_by_role("option", name=name, exact=True).click()
    ask(page, "Plain words")
    finished(page)
    assert strips(page) == ["Plain words"]
    expect(page.locator(".g-badge")).to_contain_text("Not checked")
    expect(page.locator(".g-tree .g-plot-caption")).to_contain_text("No candidate tree")


def test_keys_move_through_the_rounds_unless_someone_types(toy_url, visit):
    page = visit(toy_url)
    label = page.locator(".g-round-label")
    page.locator("body").press("Home")
    expect(label).to_contain_text("Round 1 of")
    page.locator("body").press("ArrowRight")
    expect(label).to_contain_text("Round 2 of")
    page.locator("#g-question textarea").press("ArrowRight")
    expect(label).to_contain_text("Round 2 of")


@pytest.mark.parametrize("query", ["", "?__theme=dark"])
def test_a_phone_has_no_horizontal_overflow(toy_url, visit, query):
    page = visit(toy_url + query, width=390, height=844)
    assert page.evaluate("document.documentElement.scrollWidth") <= 390
    ask(page, LONG)
    finished(page)
    assert page.evaluate("document.documentElement.scrollWidth") <= 390


def test_dark_mode_recolours_page_and_plots(toy_url, visit):
    page = visit(toy_url + "?__theme=dark")
    card, axis = page.locator(".g-card").first, page.locator(".g-tree .g-plot .xtick text").first
    expect(card).to_have_css("background-color", "rgb(21, 26, 33)")
    drawn(page)
    dark = axis.evaluate("text => getComputedStyle(text).fill")
    page.locator(".g-theme").click()
    expect(card).to_have_css("background-color", "rgb(255, 255, 255)")
    expect(axis).not_to_have_css("fill", dark)


def test_the_page_does_not_jump_while_a_run_goes_on(toy_url, visit):
    page = visit(toy_url)
    page.fill("#g-question textarea", LONG[:80])
    height = page.evaluate("document.documentElement.scrollHeight")
    page.evaluate(
        """() => { window.heights = new Set();
        const look = () => { heights.add(document.documentElement.scrollHeight);
          requestAnimationFrame(look); };
        look(); }"""
    )
    page.click("#g-run")
    finished(page)
    heights = page.evaluate("[...heights]")
    assert max(heights) - min(heights) <= 24, (height, heights)


def test_an_automatic_node_budget_puts_the_slider_to_rest(toy_url, visit):
    page = visit(toy_url)
    page.click("#g-settings button")
    slider = page.locator("#g-settings input[type=range]").first
    expect(slider).to_be_enabled()
    page.locator("#g-auto input").check()
    expect(slider).to_be_disabled()
    ask(page, "What is the total?")
    finished(page)
    page.locator("#g-auto input").uncheck()
    expect(slider).to_be_enabled()
