"""Draw assets/foreign: pages by Chromium, matplotlib and reportlab with pdfium.

Run as `python tests/foreign/draw.py`. Needs `pip install matplotlib reportlab pypdfium2
playwright`, a Chromium on the path, and the faces that assets/foreign/README.md names. A page's
values follow from its seed; its pixels also depend on the engines' versions.
"""

import sys
from collections.abc import Callable
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT))  # run as a script, only this folder would be on the path

from tests.foreign import charts, html_boards, html_papers, pdfs  # noqa: E402
from tests.foreign.browser import Browser  # noqa: E402
from tests.foreign.record import Drawn, Paper, UnfitError, check, save  # noqa: E402

FOLDER = ROOT / "assets" / "foreign"
CHARTS, HTML, PDFS = 30, {"papers": 33, "boards": 12}, 25
TRIES = 500

Draw = Callable[[str, str], tuple[Drawn, Paper]]  # gets a layout and a seed


def main() -> None:
    FOLDER.mkdir(parents=True, exist_ok=True)
    for old in (*FOLDER.glob("*.png"), *FOLDER.glob("*.json")):
        old.unlink()
    series("chart", charts.draw, list(charts.LAYOUTS), CHARTS)
    series("pdf", pdfs.draw, list(pdfs.LAYOUTS), PDFS)
    with Browser() as browser:
        papers, boards = list(html_papers.LAYOUTS), list(html_boards.LAYOUTS)
        series("html", browser.drawer(html_papers), papers, HTML["papers"])
        series("board", browser.drawer(html_boards), boards, HTML["boards"])


def series(engine: str, draw: Draw, layouts: list[str], n: int) -> None:
    """Draw and save `n` pages, the layouts in turn."""
    for i in range(n):
        layout = layouts[i % len(layouts)]
        drawn, paper = fitting(draw, layout, f"{engine}/{i}")
        save(drawn, paper, i, FOLDER, f"{engine}-{i:02d}")


def fitting(draw: Draw, layout: str, seed: str) -> tuple[Drawn, Paper]:
    """The first page drawn that passes all checks."""
    for attempt in range(TRIES):
        try:
            drawn, paper = draw(layout, f"foreign/{seed}/{attempt}")
            check(drawn, paper)
        except UnfitError:
            continue
        return drawn, paper
    raise SystemExit(f"no page of layout {layout} fits in {TRIES} tries")


if __name__ == "__main__":
    main()
