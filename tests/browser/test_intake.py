"""Documents into the page in Chromium: PDFs and their pages, parts of a page, paste, camera.

Run with: python -m pytest -m browser tests/browser/test_intake.py
"""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from PIL import Image, ImageDraw
from playwright.sync_api import Page, expect

from tests.browser.test_page import ask, finished, lines

pytestmark = pytest.mark.browser

FIELD = "#g-file input[type=file]"


@pytest.fixture
def pdf(tmp_path) -> Path:
    """Three pages of 600 x 800 px at 100 dpi; the second is black in its upper half."""
    pages = [Image.new("RGB", (600, 800), "white") for _ in range(3)]
    ImageDraw.Draw(pages[1]).rectangle((0, 0, 600, 400), fill="black")
    path = tmp_path / "three.pdf"
    pages[0].save(path, "PDF", save_all=True, append_images=pages[1:], resolution=100)
    return path


def shade(page: Page, frame: int = 0) -> int:
    """How light the middle of the upper quarter of a shown page is: 0 to 255."""
    return page.evaluate(
        """async (index) => {
            const image = document.querySelectorAll(".g-frame img")[index];
            await image.decode();
            const canvas = Object.assign(document.createElement("canvas"), { width: 1, height: 4 });
            canvas.getContext("2d").drawImage(image, 0, 0, 1, 4);
            return canvas.getContext("2d").getImageData(0, 0, 1, 1).data[0];
        }""",
        frame,
    )


def sides(page: Page) -> list[float]:
    names = ("left", "top", "right", "bottom")
    return [float(page.locator(f"#g-pages input[name={name}]").input_value()) for name in names]


def test_pages_of_a_pdf_are_turned_and_two_are_asked_about_together(toy_url, visit, pdf):
    page = visit(toy_url)
    expect(page.locator(".g-several")).to_be_hidden()
    page.set_input_files(FIELD, pdf)
    caption = page.locator(".g-caption")
    expect(caption).to_contain_text("three.pdf · 864 × 1152 pixels · PDF, RGB · read at ")
    expect(caption).to_contain_text(re.compile(r"read at \d+ × \d+ · [\d,]+ visual tokens"))
    expect(page.locator(".g-of")).to_have_text("of 3")
    assert shade(page) > 200
    page.get_by_role("button", name="Next page").click()
    expect(caption).to_contain_text("Page 2 of 3.")
    assert shade(page) < 50
    number = page.get_by_label("Page", exact=True)
    expect(number).to_have_value("2")
    number.fill("9")
    number.press("Enter")
    expect(page.locator(".g-state")).to_contain_text("choose a page from 1 to 3")
    expect(number).to_have_value("2")  # where it still is
    number.fill("3")
    number.press("Enter")  # which is not to crop the page that was there before
    expect(caption).to_contain_text("Page 3 of 3.")
    page.wait_for_timeout(500)
    expect(caption).to_contain_text("Page 3 of 3.")
    expect(caption).not_to_contain_text("A part of the page")
    page.get_by_label("and page").fill("2")
    page.get_by_label("and page").press("Tab")
    expect(caption).to_contain_text("Page 3 of 3. · Page 2 of 3.")
    expect(page.locator(".g-frame img").nth(1)).to_be_visible()
    assert (shade(page, 0) > 200, shade(page, 1) < 50) == (True, True)
    expect(page.locator("#g-pages details")).to_be_hidden()
    ask(page, "Which page is dark?")
    finished(page)
    header = lines(page)[0]
    assert (header["image"]["page"], header["second_image"]["page"]) == (3, 2)
    expect(page.locator("body")).not_to_have_class(re.compile("g-stale"))
    page.get_by_role("button", name="Previous page").click()
    expect(page.locator("body")).to_have_class(re.compile("g-stale"))


def test_a_part_is_cropped_by_keyboard_and_by_a_drag(toy_url, visit):
    page = visit(toy_url)
    caption = page.locator(".g-caption")
    expect(caption).to_contain_text("page0.png · 560 × 720 pixels")
    page.locator("#g-pages summary").press("Enter")
    assert sides(page) == [0, 0, 100, 100]
    page.locator("#g-pages input[name=bottom]").fill("50")
    page.locator("#g-pages input[name=bottom]").press("Enter")
    expect(caption).to_contain_text("A part of the page is read: 560 x 360 of 560 x 720 pixels.")
    expect(page.locator("body")).to_have_class(re.compile("g-stale"))
    frame = page.locator(".g-frame").first
    box = frame.bounding_box()
    assert box
    assert box["width"] / box["height"] == pytest.approx(560 / 360, abs=0.02)
    page.mouse.move(box["x"] + box["width"] / 2, box["y"] + 1)
    page.mouse.down()
    page.mouse.move(box["x"] + box["width"] * 0.7, box["y"] + box["height"] / 2, steps=4)
    expect(page.locator(".g-cut")).to_be_visible()
    page.mouse.move(box["x"] + box["width"] + 40, box["y"] + box["height"] + 40, steps=4)
    page.mouse.up()
    expect(page.locator(".g-cut")).to_have_count(0)
    expect(caption).to_contain_text("280 x ")
    assert sides(page) == pytest.approx([50, 0, 100, 50], abs=0.5)
    ask(page, "What is here?")
    finished(page)
    crop = lines(page)[0]["image"]["crop"]
    assert crop == pytest.approx([0.5, 0, 1, 0.5], abs=0.005)
    expect(page.locator("body")).not_to_have_class(re.compile("g-stale"))
    expect(page.locator("body")).not_to_have_class(re.compile("g-cropping"))
    page.locator("#g-pages summary").press("Enter")
    page.locator("#g-pages input[name=left]").fill("99.9")
    page.get_by_role("button", name="Crop").click()
    expect(page.locator(".g-state")).to_contain_text("too small to read")
    page.get_by_role("button", name="Show the whole page").click()
    expect(caption).to_contain_text("560 × 720 pixels")
    assert sides(page) == [0, 0, 100, 100]


def test_a_run_waits_for_a_page_that_is_still_read(toy_url, visit, pdf):
    page = visit(toy_url)
    page.fill("#g-question textarea", "Which page is this?")
    page.set_input_files(FIELD, pdf)
    page.click("#g-run")  # a PDF takes a second to draw
    expect(page.locator(".g-state")).to_contain_text("still being read: the run begins then")
    page.wait_for_function("GLANCE.player.source === 'live' && GLANCE.player.phase === 'done'")
    expect(page.locator(".g-caption")).to_contain_text("three.pdf")
    assert lines(page)[0]["prompt"]["question"] == "Which page is this?"
    assert page.evaluate("GLANCE.trace.isOfPage()")


def test_a_run_is_not_begun_on_a_file_that_cannot_be_read(toy_url, visit, tmp_path):
    page = visit(toy_url)
    (tmp_path / "bad.pdf").write_bytes(b"%PDF-1.7 and nothing more")
    page.set_input_files(FIELD, tmp_path / "bad.pdf")
    for _pressed in ("while it is read", "after it was read"):
        page.click("#g-run")
        expect(page.locator(".g-state")).to_contain_text("damaged")
        page.wait_for_timeout(500)
        expect(page.locator(".g-state")).to_contain_text("damaged")


def test_a_picture_is_pasted_and_another_after_it(toy_url, visit):
    page = visit(toy_url)
    paste = """async ([width, selector, text]) => {
        const canvas = Object.assign(document.createElement("canvas"), { width, height: 200 });
        const blob = await new Promise((done) => canvas.toBlob(done));
        const clipboardData = new DataTransfer();
        clipboardData.items.add(new File([blob], "image.png", { type: "image/png" }));
        if (text) clipboardData.setData("text/plain", text);
        const about = { clipboardData, bubbles: true, cancelable: true };
        const event = new ClipboardEvent("paste", about);
        document.querySelector(selector).dispatchEvent(event);
        return event.defaultPrevented;
    }"""
    assert page.evaluate(paste, [300, "body", ""])
    expect(page.locator(".g-caption")).to_contain_text("image.png · 300 × 200 pixels")
    assert page.evaluate(paste, [400, "#g-question textarea", ""])
    expect(page.locator(".g-caption")).to_contain_text("image.png · 400 × 200 pixels")
    # text that was copied with a picture of itself belongs into the field
    assert not page.evaluate(paste, [500, "#g-question textarea", "text"])


def test_a_phone_can_take_a_photo(toy_url, visit, tmp_path):
    desk = visit(toy_url)
    expect(desk.locator(".g-camera")).to_be_hidden()
    Image.new("RGB", (800, 600), "white").save(tmp_path / "photo.jpg")
    page = visit(toy_url, width=390, height=844, touch=True)
    shot = page.locator("#g-intake input")
    assert shot.get_attribute("capture") == "environment"
    with page.expect_file_chooser() as chooser:
        page.get_by_role("button", name="Take a photo").click()
    chooser.value.set_files(tmp_path / "photo.jpg")
    expect(page.locator(".g-caption")).to_contain_text("photo.jpg · 800 × 600 pixels · JPEG, RGB")
    assert page.evaluate("document.documentElement.scrollWidth") <= 390


def test_nothing_of_an_upload_stays_on_the_disk_and_the_page_says_so(toy_url, visit, pdf, uploads):
    page = visit(toy_url)
    expect(page.locator("#g-intake")).to_contain_text("Nothing is kept")
    page.set_input_files(FIELD, pdf)
    expect(page.locator(".g-caption")).to_contain_text("three.pdf")
    page.get_by_role("button", name="Next page").click()  # read from memory
    expect(page.locator(".g-caption")).to_contain_text("Page 2 of 3.")
    assert [path for path in uploads.rglob("*") if path.is_file() and path.stat().st_size] == []


def test_a_file_dropped_anywhere_is_taken_as_the_document(toy_url, visit):
    page = visit(toy_url)
    stopped = page.evaluate(
        """async () => {
          const canvas = document.createElement("canvas");
          Object.assign(canvas, { width: 300, height: 200 });
          const blob = await new Promise((done) => canvas.toBlob(done));
          const dataTransfer = new DataTransfer();
          dataTransfer.items.add(new File([blob], "dropped.png", { type: "image/png" }));
          const options = { dataTransfer, bubbles: true, cancelable: true };
          return ["dragover", "drop"].map((name) =>
            !document.querySelector("h1").dispatchEvent(new DragEvent(name, options)));
        }"""
    )
    assert stopped == [True, True]  # the browser does not leave for the file
    expect(page.locator(".g-caption")).to_contain_text("dropped.png · 300 × 200 pixels")
