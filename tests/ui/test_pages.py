"""Choosing pages and parts of them, and what is held of a visit. No browser, no model.

python -m pytest tests/ui/test_pages.py
"""

from __future__ import annotations

import json
from types import SimpleNamespace

import gradio as gr
import pytest
from gradio.state_holder import StateHolder
from PIL import Image

from app.cost import hint
from app.examples import load_examples
from app.handlers import FORGOTTEN, on_pages, on_run, on_upload
from app.held import Held
from app.host import Host
from app.preview import document_value
from app.session import LANES, NO_DOCUMENT, Session
from app.settings import NO_LANE, Settings
from app.troubles import MEMORY
from app.ui import build
from glance.documents.intake import load_document
from tests.ui.toy_page import make_assets, toy_runner

HALF = [0.0, 0.0, 1.0, 0.5]


@pytest.fixture
def held(tmp_path) -> Held:
    """A TIFF of three pages of different sizes, uploaded."""
    pages = [Image.new("RGB", (200 + 10 * n, 300), "white") for n in range(3)]
    pages[0].save(tmp_path / "three.tif", save_all=True, append_images=pages[1:])
    held, *_ = on_upload(str(tmp_path / "three.tif"))
    return held


def test_a_page_is_turned_to(held):
    turned, view, told = on_pages(held, {"pages": ["2"], "crop": None})
    shown = json.loads(view)
    assert (shown["page"], shown["pages"], shown["width"]) == (2, 3, 210)
    assert shown["second"] is None
    assert json.loads(told)["text"] == "Page 2 of 3."
    assert [document.page for document in turned.documents] == [2]


def test_a_page_that_does_not_fit_into_memory_is_told(held, tmp_path, monkeypatch):
    def too_large(*_given):
        raise MemoryError

    monkeypatch.setattr("app.held.load_pages", too_large)
    *_, told = on_upload(str(tmp_path / "three.tif"))
    kept, view, told_too = on_pages(held, {"pages": [2], "crop": None})
    assert (kept, view) == (held, None)
    assert [json.loads(each)["text"] for each in (told, told_too)] == [MEMORY.text] * 2


def test_two_pages_are_asked_about_together(held):
    turned, view, told = on_pages(held, {"pages": [3, 1], "crop": None})
    shown = json.loads(view)
    assert (shown["page"], shown["second"]["page"]) == (3, 1)
    assert (shown["width"], shown["second"]["width"]) == (220, 200)
    assert json.loads(told)["text"] == "Page 3 of 3. Page 1 of 3."
    session = Session(lambda: toy_runner(0))
    session.start()
    updates = session.run(turned.documents, "Which?", Settings(("ar",)))
    header = next(line for each in updates for line in each.lines)
    assert (header["image"]["page"], header["second_image"]["page"]) == (3, 1)


def test_the_same_page_twice_is_one_page(held):
    turned, *_ = on_pages(held, {"pages": [2, 2], "crop": None})
    assert len(turned.documents) == 1


def test_a_part_is_cut_from_the_full_page(held):
    cropped, view, told = on_pages(held, {"pages": [1], "crop": HALF})
    shown = json.loads(view)
    assert (shown["width"], shown["height"], shown["crop"]) == (200, 150, HALF)
    assert "200 x 150 of 200 x 300 pixels" in json.loads(told)["text"]
    whole, view, _ = on_pages(cropped, {"pages": [1], "crop": None})
    assert json.loads(view)["crop"] is None
    assert whole.documents[0].image.size == (200, 300)


@pytest.mark.parametrize(
    ("chosen", "words"),
    [
        ({"pages": [9], "crop": None}, "1 to 3"),
        ({"pages": [1, 2, 3], "crop": None}, "one page or two"),
        ({"pages": [], "crop": None}, "one page or two"),
        ({"pages": [1, 2], "crop": HALF}, "one page"),
        ({"pages": [1], "crop": [0, 0, 0.01, 0.01]}, "too small"),
        ({"pages": [1], "crop": [0.9, 0, 0.1, 1]}, "left to right"),
        ({"pages": [1], "crop": [0, 0, 2, 1]}, "within the page"),
        ({"pages": [1], "crop": [0, float("nan"), 1, 1]}, "within the page"),
        ({"pages": ["x"], "crop": None}, "choose again"),
        ({"pages": [float("inf")], "crop": None}, "choose again"),
        ({"pages": [1], "crop": [0, 1]}, "choose again"),
        ({}, "choose again"),
        (None, "choose again"),
        ("pages", "choose again"),
    ],
)
def test_a_bad_choice_is_one_sentence_and_changes_nothing(held, chosen, words):
    kept, view, told = on_pages(held, chosen)
    assert kept is held
    assert view is None
    assert json.loads(told)["level"] == "error"
    assert words in json.loads(told)["text"]
    assert json.loads(told)["text"].count(".") == 1


def test_nothing_can_be_chosen_of_nothing():
    assert json.loads(on_pages(None, {"pages": [1], "crop": None})[2])["text"] == NO_DOCUMENT


def test_the_page_tells_how_the_model_will_see_it(tmp_path):
    Image.new("CMYK", (900, 1200)).save(tmp_path / "scan.jpg")
    shown = json.loads(document_value(load_document(tmp_path / "scan.jpg")))
    assert (shown["kind"], shown["mode"]) == ("JPEG", "CMYK")
    width, height = shown["processed"]
    assert width % 14 == height % 14 == 0
    assert 0.9 * 448 * 448 < width * height <= 448 * 448
    assert shown["tokens"] == width * height / 14**2


def test_an_uploaded_file_is_gone_once_it_is_read(tmp_path, monkeypatch):
    monkeypatch.setenv("GRADIO_TEMP_DIR", str(tmp_path))
    path = tmp_path / "mine.png"
    Image.new("RGB", (100, 100)).save(path)
    demo = build(Session(lambda: toy_runner()), ())
    [upload] = [fn for fn in demo.fns.values() if fn.name == "upload"]
    held, *_ = upload.fn({"path": str(path)})
    assert isinstance(held.source, bytes)
    assert not path.exists()
    bad = tmp_path / "bad.png"
    bad.write_bytes(b"no picture")
    assert upload.fn({"path": str(bad)})[0] is None
    assert not bad.exists()
    assert "choose it again" in upload.fn({"path": str(bad)})[3]
    assert "choose it again" in upload.fn(None)[3]


def test_a_file_that_is_no_upload_is_neither_read_nor_deleted(tmp_path, monkeypatch):
    monkeypatch.setenv("GRADIO_TEMP_DIR", str(tmp_path / "uploads"))
    for place in (tmp_path, tmp_path / "uploads"):
        place.mkdir(exist_ok=True)
        Image.new("RGB", (100, 100)).save(place / "mine.png")
    (tmp_path / "uploads" / "link.png").symlink_to(tmp_path / "mine.png")
    demo = build(Session(lambda: toy_runner()), ())
    [upload] = [fn for fn in demo.fns.values() if fn.name == "upload"]
    for name in ("mine.png", "uploads/../mine.png", "uploads/link.png"):
        assert "choose it again" in upload.fn({"path": str(tmp_path / name)})[3]
        assert (tmp_path / name).exists()


def test_what_is_held_is_forgotten_when_the_tab_is_closed(held, tmp_path):
    uploaded = held
    demo = build(Session(lambda: toy_runner()), load_examples(make_assets(tmp_path / "assets")))
    [held] = [block for block in demo.blocks.values() if isinstance(block, gr.State)]
    [unload] = [fn for fn in demo.fns.values() if (None, "unload") in fn.targets]
    StateHolder().set_blocks(demo)
    mine, other = demo.state_holder["mine"], demo.state_holder["other"]
    assert mine[held._id].documents
    assert other[held._id].documents
    mine[held._id] = uploaded
    for visitor in ("mine", "other", "unknown"):
        unload.fn(SimpleNamespace(session_hash=visitor))
    assert mine[held._id].is_forgotten
    assert not other[held._id].is_forgotten  # an example, which everybody has
    assert "unknown" not in demo.state_holder


def test_a_tab_that_lost_its_connection_is_told_that_its_page_is_forgotten(held):
    left = held.forgotten()
    [frame] = on_run(
        Session(lambda: toy_runner()), left, "What?", "ar", NO_LANE, 15, False, 64, 0.0, 0
    )
    turned, shown, told = on_pages(left, {"pages": [1], "crop": None})
    assert (turned, shown) == (left, None)
    for each in (frame.state, told):
        assert json.loads(each)["text"] == FORGOTTEN
    assert hint(Host(), left, *LANES, 100) == ""
