"""The foreign pages and the list of scans: whole, within limits, answers on the page."""

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from PIL import Image

from glance.documents import mix
from glance.documents.fields import FIELDS
from glance.documents.values import number_in

ROOT = Path(__file__).resolve().parents[2]
FOLDER = ROOT / "assets" / "foreign"
PAGES = sorted(FOLDER.glob("*.json"))
SCANS: list[dict[str, Any]] = json.loads(
    (ROOT / "tests" / "foreign" / "scans.json").read_text(encoding="utf-8")
)


def fold(text: str) -> str:
    return " ".join(text.split())


def check_size(width: int, height: int) -> None:
    assert width % 28 == height % 28 == 0
    assert width * height <= 448 * 448


def check_answers(questions: list[dict[str, Any]]) -> None:
    """Extraction answers, or all comma parts of one, are in the transcription."""
    text = fold(questions[0]["answer"])
    assert questions[0]["task"] == "transcribe"
    for q in questions[1:]:
        assert q["task"] in mix.EXTRACTION
        assert q["type"] in FIELDS
        assert q["answer"]
        for part in q["answer"].split(", "):
            assert fold(part) in text


def test_there_are_a_hundred_pages_from_every_engine() -> None:
    assert len(PAGES) == 100
    assert {p.name.split("-")[0] for p in PAGES} == {"html", "board", "chart", "pdf"}
    assert sum(p.stat().st_size for p in FOLDER.iterdir()) < 2_500_000


@pytest.mark.parametrize("path", PAGES, ids=lambda path: path.stem)
def test_a_page_is_whole_and_its_answers_are_on_it(path: Path) -> None:
    record = json.loads(path.read_text(encoding="utf-8"))
    with Image.open(path.with_suffix(".png")) as image:
        picture = image.convert("RGB")
    assert list(picture.size) == record["size"]
    check_size(*picture.size)
    assert np.asarray(picture).std() > 5  # not blank
    assert 11 <= record["text_px"] <= 22
    assert record["split"] == "test"
    text = record["questions"][0]["answer"]
    assert 60 <= len(text) <= 350
    assert all(" " <= c <= "~" or c in "£€\n" for c in text)
    assert 4 <= len(record["questions"]) <= 5
    assert all(q["history"] == q["glyphs"] == [] for q in record["questions"])
    check_answers(record["questions"])


def test_the_highest_entry_of_a_chart_has_the_highest_value() -> None:
    checked = 0
    for path in PAGES:
        record = json.loads(path.read_text(encoding="utf-8"))
        rows = [line.rsplit(" ", 1) for line in record["questions"][0]["answer"].split("\n")]
        for q in record["questions"]:
            if record["layout"] in ("barh", "pie") and q["type"] == "highest":
                marks = [row for row in rows if len(row) == 2 and row[1][:1].isdigit()]
                best = max(marks, key=lambda row: number_in(row[1]))
                assert q["answer"] == best[0]
                checked += 1
    assert checked >= 4


def test_the_list_of_scans_is_sound() -> None:
    assert len({s["name"] for s in SCANS}) == len(SCANS) == 20
    for scan in SCANS:
        check_size(*scan["size"])
        left, top, right, bottom = scan["crop"]
        width, height = scan["size"]
        assert len(scan["sha256"]) == 64
        assert width / height == pytest.approx((right - left) / (bottom - top), rel=0.1)
        asked = [q for q in scan["questions"] if q["task"] != "transcribe"]
        assert 2 <= len(asked) <= 3
        assert all(" " <= c <= "~" or c in "£€" for q in asked for c in q["answer"])
        if len(asked) < len(scan["questions"]):
            check_answers(scan["questions"])
