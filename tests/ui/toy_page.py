"""A drawn page with known glyphs, its manifest, and a runner that plays made-up traces slowly.

They stand in for the shipped samples and the model wherever a test is about the page alone.
"""

from __future__ import annotations

import json
import time
from collections.abc import Iterator, Sequence
from pathlib import Path
from threading import Event
from typing import Any

from PIL import Image, ImageDraw, ImageFont

from app.session import Runner
from app.settings import Settings
from app.talk import Talk
from glance.documents.intake import Document
from glance.trace import dumps
from tests.ui.toy_trace import toy_trace

ANSWER = "Northgate Stationers\n12 Mill Lane, Oxbridge OX4 2TT\nTotal due: 48.20 EUR"
FONT = Path(__file__).parents[2] / "assets" / "fonts" / "DejaVuSansMono.ttf"


def draw_page(path: Path, text: str) -> None:
    """A page with `text`, and beside it the JSON that knows every glyph's box."""
    image = Image.new("RGB", (560, 720), "white")
    pen = ImageDraw.Draw(image)
    font = ImageFont.truetype(FONT, 18)
    glyphs = []
    for row, line in enumerate(text.split("\n")):
        for column, char in enumerate(line):
            x, y = 40 + 11 * column, 60 + 44 * row
            pen.text((x, y), char, "black", font)
            glyphs.append({"c": char, "box": [x, y, x + 11, y + 22]})
    image.save(path)
    questions = [
        {"task": "transcribe", "question": "Transcribe the page.", "answer": text},
        {"task": "docvqa", "question": "What is the total?", "answer": "48.20 EUR"},
    ]
    record = {"size": list(image.size), "glyphs": glyphs, "questions": questions}
    path.with_suffix(".json").write_text(json.dumps(record), encoding="utf-8")


def make_assets(root: Path, answers: tuple[str, ...] = (ANSWER,)) -> Path:
    """Samples, manifest and recorded traces under `root`, one example an answer."""
    (root / "samples").mkdir(parents=True)
    (root / "traces").mkdir()
    manifest = []
    for number, answer in enumerate(answers):
        name = f"page{number}"
        image = root / "samples" / f"{name}.png"
        draw_page(image, answer)
        lines = list(toy_trace(text=answer, run=name, question="Transcribe the page.", seed=number))
        write_with_document(lines, image, root / "traces" / f"{name}.jsonl")
        manifest.append(
            {
                "id": name,
                "image": image.name,
                "question": "Transcribe the page.",
                "title": f"Page {number}",
                "trace": f"{name}.jsonl",
            }
        )
    (root / "samples" / "examples.json").write_text(json.dumps(manifest), encoding="utf-8")
    return root


def write_with_document(lines: list[dict[str, Any]], image: Path, path: Path) -> None:
    """The lines as a trace file that names the image as its document."""
    from glance.documents.intake import load_document

    lines[0]["image"]["sha256"] = load_document(image).sha256
    path.write_text("".join(dumps(line) + "\n" for line in lines), encoding="utf-8")


def toy_runner(pause: float = 0.02) -> Runner:
    """A runner that answers with the question's own text, one line every `pause` seconds."""

    def run(
        documents: Sequence[Document],
        question: str,
        settings: Settings,
        run_id: str,
        talk: Talk | None = None,
    ) -> Iterator[dict[str, Any]]:
        text = question[: settings.max_tokens]
        for line in toy_trace(text, run_id, lanes=settings.lanes, question=question):
            if line["kind"] == "header":
                records = [
                    {**line["image"], "sha256": each.sha256, "page": each.page, "crop": each.crop}
                    for each in documents
                ]
                line.update(zip(("image", "second_image"), records, strict=False))
                line["settings"] |= {"temperature": settings.temperature, "seed": settings.seed}
                if talk and talk.turns:
                    line["prompt"]["history"] = talk.turns
            if line["kind"] == "prefill" and talk and talk.turns:
                line["reused"] = line["cache"] - 1
            if line["kind"] == "compare" and settings.temperature:
                continue
            time.sleep(pause)
            yield line

    return run


def held_back(runner: Runner, gate: Event, lines: int) -> Runner:
    """The runner, which waits after its first `lines` lines until the gate is open."""

    def run(*given: Any) -> Iterator[dict[str, Any]]:
        for number, line in enumerate(runner(*given)):
            if number == lines:
                assert gate.wait(60), "nobody opened the gate"
            yield line

    return run
