"""HTML pages through Chromium: the screenshot, and the visual lines from the engine's own boxes."""

import shutil
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass
from io import BytesIO
from types import ModuleType
from typing import Any

from PIL import Image
from playwright.sync_api import sync_playwright

from tests.foreign.record import STEP, TEXT_PX, Drawn, Paper, UnfitError

# Every visible character: itself, its box in px, its font size, the number of its region (regions
# are read one after the other), and whether a new word begins with it.
CHARACTERS = """() => {
  const regions = [...document.querySelectorAll('body, [data-region]')];
  const walker = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT);
  const range = document.createRange(), found = [];
  while (walker.nextNode()) {
    const node = walker.currentNode, text = node.data, around = node.parentElement;
    const region = regions.indexOf(around.closest('body, [data-region]'));
    const size = parseFloat(getComputedStyle(around).fontSize);
    for (let i = 0; i < text.length; i++) {
      if (/\\s/.test(text[i])) continue;
      range.setStart(node, i); range.setEnd(node, i + 1);
      const b = range.getBoundingClientRect();
      const first = i === 0 || /\\s/.test(text[i - 1]);
      found.push([text[i], b.left, b.top, b.right, b.bottom, size, region, first]);
    }
  }
  return found;
}"""
EXTENT = """() => {
  const page = document.documentElement;
  return [page.scrollWidth, Math.ceil(document.body.getBoundingClientRect().bottom)];
}"""


@dataclass(slots=True)
class Piece:
    """Neighbouring characters of one word on one visual line."""

    text: str
    box: list[float]
    region: int


class Browser:
    """A headless Chromium for as long as the `with` block lasts."""

    def __enter__(self) -> "Browser":
        self._playwright = sync_playwright().start()
        self._chromium = self._playwright.chromium.launch(
            executable_path=shutil.which("chromium"), args=["--no-sandbox", "--disable-gpu"]
        )
        self._page = self._chromium.new_page()
        return self

    def __exit__(self, *_: object) -> None:
        self._chromium.close()
        self._playwright.stop()

    def drawer(self, module: ModuleType) -> Callable[[str, str], tuple[Drawn, Paper]]:
        """A function that draws the layouts of an HTML module."""

        def draw(layout: str, seed: str) -> tuple[Drawn, Paper]:
            kind, make = module.LAYOUTS[layout]
            sheet = module.Sheet(seed)
            body = make(sheet)
            lines, text_px, image = self._print(sheet.document(body), sheet.extent, sheet.whole)
            return Drawn(kind, layout, sheet.face, text_px, image, lines), sheet

        return draw

    def _print(
        self, html: str, extent: tuple[int, int], whole: bool
    ) -> tuple[list[str], int, Image.Image]:
        """Lines, usual font size and picture of a document.

        Unless `whole`, the page ends soon after its text. Raises UnfitError when it is larger than
        `extent`, or its text too small or too large.
        """
        width, height = extent
        self._page.set_viewport_size({"width": width, "height": height})
        self._page.set_content(html)
        wide, high = self._page.evaluate(EXTENT)
        if wide > width or high > height:
            raise UnfitError(f"{wide}x{high} px do not fit")
        if not whole:
            height = -int(-high // STEP) * STEP
        characters: list[list[Any]] = self._page.evaluate(CHARACTERS)
        sizes = Counter(c[5] for c in characters)
        if min(sizes) < TEXT_PX[0] or max(sizes) > TEXT_PX[1]:
            raise UnfitError("font size")
        clip = {"x": 0, "y": 0, "width": width, "height": height}
        image = Image.open(BytesIO(self._page.screenshot(clip=clip)))  # type: ignore[arg-type]
        return lines_of(characters), round(sizes.most_common(1)[0][0]), image.convert("RGB")


def lines_of(characters: list[list[Any]]) -> list[str]:
    """Characters to visual lines: regions in turn, from top to bottom, from left to right."""
    pieces: list[Piece] = []
    for char, x0, y0, x1, y1, _, region, first in characters:
        last = pieces[-1] if pieces else None
        if last and not first and last.region == region and abs(last.box[1] - y0) < 1:
            last.text += char
            last.box[2] = x1
        else:
            pieces.append(Piece(char, [x0, y0, x1, y1], region))
    pieces.sort(key=lambda p: (p.region, p.box[1] + p.box[3]))
    rows: list[list[Piece]] = []
    for piece in pieces:
        if rows and rows[-1][0].region == piece.region and _level(rows[-1][0], piece):
            rows[-1].append(piece)
        else:
            rows.append([piece])
    return [_joined(sorted(row, key=lambda p: p.box[0])) for row in rows]


def _level(a: Piece, b: Piece) -> bool:
    """Whether two pieces stand on one line: more than half of the lower one is shared."""
    shared = min(a.box[3], b.box[3]) - max(a.box[1], b.box[1])
    return shared > 0.5 * min(a.box[3] - a.box[1], b.box[3] - b.box[1])


def _joined(row: list[Piece]) -> str:
    text = ""
    last = row[0]
    for piece in row:
        gap = piece.box[0] - last.box[2]
        text += (" " if text and gap > 0.08 * (piece.box[3] - piece.box[1]) else "") + piece.text
        last = piece
    return text
