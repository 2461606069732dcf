"""Pictures of the page in light, dark and on a phone, kept in build/screenshots for a look.

Run with: python -m pytest -m browser tests/browser/test_screenshots.py
"""

from __future__ import annotations

import pytest
from PIL import Image

from tests.browser.conftest import ROOT
from tests.browser.test_page import drawn

pytestmark = pytest.mark.browser

KEPT = ROOT / "build" / "screenshots"


@pytest.mark.parametrize(
    ("name", "query", "width"),
    [("light", "", 1280), ("dark", "?__theme=dark", 1280), ("phone", "", 390)],
)
def test_the_page_is_kept_as_a_picture(toy_url, visit, name, query, width):
    page = visit(toy_url + query, width=width, height=900 if width > 400 else 844)
    drawn(page)
    path = KEPT / f"{name}.png"
    page.screenshot(path=path, full_page=True)
    with Image.open(path) as picture:
        assert picture.width == width
        corner = picture.convert("RGB").getpixel((2, 2))
        assert (sum(corner) < 150) == (name == "dark")
        assert len(picture.convert("RGB").resize((200, 400)).getcolors(80_000) or []) > 50
