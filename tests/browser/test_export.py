"""Export, replay files, opened traces and links, in Chromium.

Run with: python -m pytest -m browser tests/browser/test_export.py
"""

from __future__ import annotations

import csv
import io
import json
import re
from pathlib import Path
from xml.etree import ElementTree

import pytest
from PIL import Image
from playwright.sync_api import Page, expect

from app.replay_file import replay_html
from glance.trace import dumps
from tests.browser.conftest import NASTY
from tests.browser.test_page import drawn, strips, width_of
from tests.ui.toy_page import ANSWER
from tests.ui.toy_trace import toy_trace

pytestmark = pytest.mark.browser

ATTACK = (
    "</script><script>document.title=1</script><img src=x onerror=document.title=2>"
    "<b>x</b> <a href='https://example.org'>y</a> ${document.title=3} {{4}} </s> $z$ \u202e"
)


def export(page: Page, name: str, folder: Path) -> Path:
    """The file that the menu gives."""
    page.locator("#g-export summary").click()
    with page.expect_download() as download:
        page.locator(f'#g-export button[data-file="{name}"]').click()
    assert download.value.suggested_filename == name
    download.value.save_as(folder / name)
    return folder / name


def open_trace(page: Page, path: Path) -> None:
    page.set_input_files("#g-open input[type=file], input[type=file][accept*=jsonl]", path)
    expect(page.locator(".g-origin")).to_contain_text("Opened trace")


def hostile_trace(path: Path) -> Path:
    """A trace with the attack in every field that is shown."""
    lines = list(toy_trace(text=ATTACK, question=ATTACK, lanes=("glance", ATTACK)))
    header = lines[0]
    header["created"] = header["image"]["name"] = header["image"]["sha256"] = ATTACK
    header["target"] = dict.fromkeys(header["target"], ATTACK)
    header["provenance"] = {"machine": {"cpu": ATTACK, "cores": ATTACK}}
    for line in lines:
        if line["kind"] == "commit":
            for token in line["tokens"]:
                token["top"] = [[token["id"], ATTACK, 0.5]]
        if line["kind"] == "build":
            line["tree"]["text"] = [ATTACK] * len(line["tree"]["text"])
        if line["kind"] == "accept":
            line["verdict"]["bonus"]["text"] = ATTACK
    lines.append({"kind": "notice", "run": "toy", "level": "warning", "code": "x", "text": ATTACK})
    path.write_text("".join(dumps(line) + "\n" for line in lines), encoding="utf-8")
    return path


def expect_literal(page: Page, title: str) -> None:
    """Everything of the attack is on the page as text, and nothing of it as an element."""
    expect(page.locator(".g-strip").first).to_have_text(ATTACK, use_inner_text=False)
    assert strips(page) == [ATTACK, ATTACK]
    expect(page.locator(".g-state")).to_contain_text(ATTACK)
    for twin in page.locator(".g-view summary:visible").all():
        twin.click()
    for tab in page.locator("[role=tab]:not([data-kind=study])").all():  # the study is our own
        tab.click()
    expect(page.locator(".g-tree .g-twin code").first).to_have_text(ATTACK)
    page.locator(".g-tok").nth(3).hover()
    expect(page.locator(".g-tip li code")).to_have_text(ATTACK)
    page.wait_for_timeout(500)
    assert page.title() == title
    shown = ".g-root, .g-tip"
    assert page.locator(f":is({shown}) :is(script, b > *, a[href*=example])").count() == 0
    assert page.locator("img[src=x]").count() == 0


# --- the files -------------------------------------------------------------------------------


def test_a_replay_opens_from_a_disk_without_a_network(toy_url, visit, tmp_path):
    page = visit(toy_url)
    headline = page.locator(".g-headline").text_content()
    page.locator("#g-export input[type=checkbox]").evaluate("box => box.click()")
    path = export(page, "replay.html", tmp_path)
    builds = {
        line["r"]: len(line["tree"]["parent"])
        for line in map(json.loads, page.evaluate("GLANCE.trace.text").splitlines())
        if line["kind"] == "build"
    }

    replay = visit(path.as_uri(), offline=True)
    assert strips(replay) == [ANSWER, ANSWER]
    expect(replay.locator(".g-headline")).to_have_text(headline)
    expect(replay.locator(".g-asked")).to_have_text("Transcribe the page.")
    assert width_of(replay.locator(".g-document img").first) == 560
    expect(replay.locator(".g-frame rect.g-read").first).to_be_attached()
    expect(replay.locator(".g-entropy .g-plot .bars path").first).to_be_attached()
    for number in (2, len(builds), 1):
        replay.locator(".g-scrub input").fill(str(number))
        expect(replay.locator(".g-tree .g-plot-caption")).to_contain_text(f"Round {number}:")
        # one marker a node, and one for the bonus token
        markers = replay.locator(".g-tree .g-plot .scatterlayer path.point")
        expect(markers).to_have_count(builds[number] + 1)


@pytest.mark.parametrize("width", [1280, 390])
def test_a_replay_without_the_picture_says_so_and_fits(visit, tmp_path, width):
    path = tmp_path / "replay.html"
    text = "".join(dumps(line) + "\n" for line in toy_trace(text=ANSWER))
    path.write_text(replay_html(text), encoding="utf-8")
    page = visit(path.as_uri(), offline=True, width=width)
    expect(page.locator(".g-document .g-hint")).to_have_text(
        "The picture of the page is not part of this file."
    )
    assert strips(page) == [ANSWER, ANSWER]
    assert page.evaluate("document.documentElement.scrollWidth") <= width
    page.locator(".g-slow").click()
    expect(page.locator(".g-speed")).to_contain_text("Slow motion")


def test_the_picture_goes_into_a_file_only_if_it_is_ticked(toy_url, visit, tmp_path):
    page = visit(toy_url)
    plain = export(page, "trace.jsonl", tmp_path).read_text(encoding="utf-8")
    assert plain == page.evaluate("GLANCE.trace.text")
    assert "data:image" not in plain
    assert ";base64," not in export(page, "replay.html", tmp_path).read_text(encoding="utf-8")
    box = page.locator("#g-export input[type=checkbox]")
    box.evaluate("box => box.click()")
    path = export(page, "trace.jsonl", tmp_path)
    text = path.read_text(encoding="utf-8")
    header = json.loads(text.splitlines()[0])
    assert header["image"].pop("bytes") == page.evaluate("GLANCE.page.src")
    assert [header, *text.splitlines()[1:]] == [
        json.loads(plain.splitlines()[0]),
        *plain.splitlines()[1:],
    ]

    page.locator("#g-examples button").nth(1).click()
    expect(page.locator(".g-caption")).to_contain_text("page1.png")
    expect(box).not_to_be_checked()  # it was said of another page
    open_trace(page, path)
    assert strips(page) == [ANSWER, ANSWER]
    expect(page.locator(".g-state")).to_contain_text("Its picture is only shown")
    expect(page.locator("body")).not_to_have_class(re.compile("g-stale"))
    expect(page.locator(".g-frame rect.g-read").first).to_be_attached()
    assert "data:image" not in page.evaluate("GLANCE.trace.text")
    page.click("#g-run")
    expect(page.locator(".g-state")).to_contain_text("There is no document yet")


def test_the_tree_as_drawn_and_the_rounds_as_a_table(toy_url, visit, tmp_path):
    page = visit(toy_url)
    page.locator("body").press("Home")
    expect(page.locator(".g-tree .g-plot-caption")).to_contain_text("Round 1:")
    drawn(page)
    markers = page.locator(".g-tree .g-plot .scatterlayer path.point").count()
    drawing = ElementTree.parse(export(page, "tree.svg", tmp_path)).getroot()
    points = [node for node in drawing.iter() if node.get("class", "").startswith("point")]
    assert sum(node.tag.endswith("path") for node in points) == markers > 10
    assert not [node for node in drawing.iter() if node.tag.endswith("script")]
    picture = Image.open(export(page, "tree.png", tmp_path))
    assert picture.width == 2 * round(float(drawing.get("width", 0)))
    assert len(picture.convert("RGB").getcolors(100_000)) > 20

    table = export(page, "rounds.csv", tmp_path).read_text(encoding="utf-8-sig")
    rows = list(csv.DictReader(io.StringIO(table, newline="")))
    counts = page.evaluate(
        "[...GLANCE.trace.lanes.values()].flatMap(({ name, rounds }) => rounds.map((step) =>"
        " [name, step.r, step.accepted, step.to - step.from].map(String)))"
    )
    asked = ("lane", "round", "accepted", "committed")
    assert [[row[name] for name in asked] for row in rows] == counts


def test_the_menu_needs_no_mouse(toy_url, visit):
    page = visit(toy_url)
    head, menu = page.locator("#g-export summary"), page.locator("#g-export details")
    head.focus()
    page.keyboard.press("Enter")
    expect(menu).to_have_attribute("open", "")
    page.keyboard.press("Tab")
    page.keyboard.press("Space")
    expect(page.get_by_label("Put the picture of the page into")).to_be_checked()
    page.keyboard.press("Escape")
    expect(menu).not_to_have_attribute("open", "")
    expect(head).to_be_focused()
    page.keyboard.press("Enter")
    for _ in range(3):
        page.keyboard.press("Tab")
    with page.expect_download() as download:
        page.keyboard.press("Enter")
    assert download.value.suggested_filename == "trace.jsonl"
    expect(page.locator("#g-export [role=status]")).to_have_text(
        "trace.jsonl is in your downloads."
    )
    expect(head).to_be_focused()


# --- text that wants to be more than text ----------------------------------------------------


def test_a_hostile_trace_shows_literally_on_the_page(toy_url, visit, tmp_path):
    page = visit(toy_url)
    open_trace(page, hostile_trace(tmp_path / "hostile.jsonl"))
    expect_literal(page, "GLANCE")
    drawing = export(page, "tree.svg", tmp_path).read_text(encoding="utf-8")
    tags = {node.tag.rpartition("}")[2] for node in ElementTree.fromstring(drawing).iter()}
    assert not tags & {"script", "a", "img", "b"}
    table = export(page, "rounds.csv", tmp_path).read_text(encoding="utf-8-sig")
    texts = [row["text"] for row in csv.DictReader(io.StringIO(table, newline=""))]
    assert "".join(text.removeprefix("'") for text in texts).endswith(ATTACK[-8:])


def test_a_hostile_trace_shows_literally_in_a_replay(visit, tmp_path):
    text = hostile_trace(tmp_path / "hostile.jsonl").read_text(encoding="utf-8")
    path = tmp_path / "replay.html"
    path.write_text(replay_html(text), encoding="utf-8")
    page = visit(path.as_uri(), offline=True)
    expect(page.locator(".g-asked")).to_have_text(ATTACK, use_inner_text=False)
    expect_literal(page, "GLANCE replay")


def test_a_replay_runs_no_script_but_its_own(visit, tmp_path):
    path = tmp_path / "replay.html"
    text = "".join(dumps(line) + "\n" for line in toy_trace())
    path.write_text(replay_html(text), encoding="utf-8")
    page = visit(path.as_uri(), offline=True)
    page.evaluate(
        "document.body.append(GLANCE.el('script', {}, 'document.title = 1'),"
        " GLANCE.el('div', { id: 'bad', onclick: 'document.title = 2' }));"
    )
    page.evaluate("document.getElementById('bad').click()")
    assert page.title() == "GLANCE replay"


# --- links -----------------------------------------------------------------------------------


def test_a_link_opens_its_example_round_view_and_theme(toy_url, visit):
    query = "?ex=page1&round=2&tab=prefix&theme=dark"
    page = visit(toy_url + query, motion=True)  # the recorded run would play of itself
    expect(page.locator(".g-strip").first).to_have_text(NASTY, use_inner_text=False)
    expect(page.locator(".g-round-label")).to_contain_text("Round 2 of")
    assert strips(page) == [NASTY, NASTY]
    expect(page.locator("body")).to_have_class(re.compile(r"\bdark\b"))
    expect(page.locator(".g-prefix .g-plot")).to_be_in_viewport()
    page.wait_for_timeout(1500)
    expect(page.locator(".g-round-label")).to_contain_text("Round 2 of")
    assert page.url == toy_url + query


@pytest.mark.parametrize(
    ("query", "kept"),
    [
        ("?ex=nothing&round=2&tab=tree&theme=dark", "?ex=page0"),
        ("?ex=%3Cscript%3E&round=%3Cb%3E", "?ex=page0"),
        ("?ex=page0&round=999&tab=nowhere&theme=pink", "?ex=page0"),
        ("?ex=page0&round=2.0&tab=__proto__&theme=", "?ex=page0"),
        ("?round=2", "?ex=page0"),
    ],
)
def test_what_a_link_may_not_say_is_ignored(toy_url, visit, query, kept):
    page = visit(toy_url + query)
    page.wait_for_function("kept => location.search === kept", arg=kept)
    assert strips(page) == [ANSWER, ANSWER]
    last = page.evaluate("GLANCE.trace.focus().rounds.length")
    expect(page.locator(".g-round-label")).to_contain_text(f"Round {last} of {last}")
    expect(page.locator("body")).not_to_have_class(re.compile(r"\bdark\b"))


def test_the_address_follows_an_example_and_is_what_the_button_copies(toy_url, visit):
    page = visit(toy_url)
    page.context.grant_permissions(["clipboard-read", "clipboard-write"])
    page.locator("#g-examples button").nth(1).click()
    page.wait_for_function("location.search === '?ex=page1'")
    page.locator("body").press("Home")
    page.locator(".g-theme").click()
    page.locator(".g-entropy summary").click()
    wanted = "?ex=page1&round=1&tab=entropy&theme=dark"
    page.wait_for_function("wanted => location.search === wanted", arg=wanted)
    length = page.evaluate("history.length")
    page.locator("#g-link button").click()
    expect(page.locator("#g-link [role=status]")).to_have_text("Link copied.")
    assert page.evaluate("navigator.clipboard.readText()") == toy_url + wanted
    page.locator(".g-next").click()
    page.wait_for_function("location.search.includes('round=2')")
    assert page.evaluate("history.length") == length


def test_what_plots_refer_to_is_found_at_any_address(toy_url, visit):
    """Patterns of bars, and clips: bars were invisible once the address named another round."""
    page = visit(toy_url)
    expect(page.locator(".g-prefix .g-plot pattern").first).to_be_attached()
    page.locator("body").press("Home")
    page.wait_for_function("location.search.includes('round=1')")
    found = page.evaluate(
        """() => [...document.querySelectorAll('.g-plot *')]
          .flatMap((node) => [node.style.fill, node.getAttribute('clip-path')])
          .filter((text) => text?.includes('url('))"""
    )
    assert found
    assert all(re.match(r"""url\(["']?#""", text) for text in found), found


@pytest.mark.parametrize("example", ["page0", "page1"])
@pytest.mark.parametrize("tab", ["law", "study"])
def test_a_link_opens_a_tab_of_the_whole_run(toy_url, visit, example, tab):
    query = f"?ex={example}&round=2&tab={tab}"
    page = visit(toy_url + query)
    expect(page.locator(f"#g-tab-{tab}")).to_have_attribute("aria-selected", "true")
    expect(page.locator(f"#g-panel-{tab}")).to_be_in_viewport()
    expect(page.locator(".g-round-label")).to_contain_text("Round 2 of")
    page.wait_for_timeout(500)
    assert page.url == toy_url + query
    page.locator("#g-tab-stages").click()
    page.wait_for_function("location.search.includes('tab=stages')")


def test_nothing_of_the_reader_s_own_stands_in_the_address(toy_url, visit, tmp_path):
    page = visit(toy_url + "?ex=page0&round=2")
    button = page.locator("#g-link button")
    expect(page.locator(".g-round-label")).to_contain_text("Round 2 of")
    expect(button).to_be_enabled()
    page.fill("#g-question textarea", "a private question")
    page.click("#g-run")
    page.wait_for_function("GLANCE.player.source === 'live' && GLANCE.player.phase === 'done'")
    expect(button).to_be_disabled()
    page.wait_for_function("location.search === ''")
    trace = export(page, "trace.jsonl", tmp_path)

    page.locator("#g-examples button").first.click()
    page.wait_for_function("location.search === '?ex=page0'")
    Image.new("RGB", (400, 300), "white").save(tmp_path / "private.png")
    page.set_input_files("#g-file input[type=file]", tmp_path / "private.png")
    page.wait_for_function("location.search === ''")
    expect(button).to_be_disabled()

    page.locator("#g-examples button").first.click()
    page.wait_for_function("location.search === '?ex=page0'")
    open_trace(page, trace)
    page.wait_for_function("location.search === ''")
    expect(button).to_be_disabled()
    # the run was dropped when the example took its place, and is whole again
    page.wait_for_function("GLANCE.trace.header.prompt.question === 'a private question'")
    assert strips(page) == ["a private question"] * 2
