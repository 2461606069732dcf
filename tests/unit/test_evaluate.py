"""Marks and figures of an exam, with answers that are known beforehand.

python -m pytest tests/unit/test_evaluate.py
"""

import json
from pathlib import Path
from types import SimpleNamespace

import pytest
import torch
from PIL import Image

from glance import evaluate
from glance.documents.fields import NOT_THERE
from glance.documents.kinds import KINDS
from glance.documents.page import Question
from glance.documents.sets import Item, exam
from glance.evaluate import evaluate_in_processes, evaluate_target
from glance.scores import Slice
from glance.targets.embedded import build_model, build_processor
from glance.targets.load import load_target

WHITE = (Image.new("RGB", (56, 56), "white"),)


def ask(task: str, answer: str, **more: object) -> Question:
    return Question(task, "x", f"asks for {answer}", answer, (-1,) * len(answer), **more)  # type: ignore[arg-type]


UNSEEN = KINDS["receipt"].HELD_OUT["test"]
SEEN = next(name for name in KINDS["form"].LAYOUTS if name not in KINDS["form"].HELD_OUT.values())
ITEMS = [
    Item(
        WHITE,
        (
            ask("transcribe", "abcd efgh"),
            ask("docvqa", "12.50"),
            ask("docvqa", NOT_THERE, held_out=True),
        ),
        "receipt",
        UNSEEN,
        12,
        (),
    ),
    Item(
        WHITE,
        (
            ask("transcribe", "x"),
            ask("chartqa", "a\n b", held_out=True),
            ask("docvqa", "Leeds", history=(("q", "a"),)),
            ask("caption", "A form."),
        ),
        "form",
        SEEN,
        20,
        ("blur", "noise"),
    ),
    Item(WHITE, (ask("textvqa", "EXIT"),), "street", "", 40, ("blur",)),
]
GIVEN = {  # what the stub answers where it is not right
    "abcd efgh": "abcd efg",
    "12.50": NOT_THERE,
    "a\n b": " a b ",
    "A form.": "A sign.",
}


@pytest.fixture
def stub(monkeypatch: pytest.MonkeyPatch) -> SimpleNamespace:
    """A target whose ids are characters, and which is asked item by item."""

    def answers(_target: object, prompts: list[str], limits: list[int]) -> SimpleNamespace:
        wanted = [prompt.removeprefix("asks for ") for prompt in prompts]
        assert limits == [2 * len(text) + 32 for text in wanted]
        given = [GIVEN.get(text, text) for text in wanted]
        return SimpleNamespace(answers=[list(map(ord, text)) for text in given])

    monkeypatch.setattr(evaluate, "answer_together", answers)
    return SimpleNamespace(
        prompt=lambda _images, question, _history: question,
        decode_text=lambda ids: "".join(map(chr, ids)),
    )


def test_figures(stub: SimpleNamespace) -> None:
    progress: list[int] = []
    report = evaluate_target(stub, ITEMS, progress.append)  # type: ignore[arg-type]
    assert progress == [1, 2, 3]
    tasks = {task: (s.questions, s.exact) for task, s in report.tasks.items()}
    assert tasks == {
        "transcribe": (2, 0.5),
        "docvqa": (3, 2 / 3),
        "chartqa": (1, 1.0),
        "textvqa": (1, 1.0),
        "caption": (1, 0.0),
    }
    assert report.tasks["transcribe"].cer == 1 / 10
    assert report.extraction is not None
    assert (report.extraction.questions, report.extraction.exact) == (5, 4 / 5)

    rows = {(one.by, one.value): one for one in report.slices}
    assert [(by, value, *shares(one)) for (by, value), one in rows.items()] == [
        ("degradations", "0", 2, 1 / 2, 1, 1 / 9),
        ("degradations", "1", 1, 1.0, 0, None),
        ("degradations", "2+", 2, 1.0, 1, 0.0),
        ("degradation", "blur", 3, 1.0, 1, 0.0),
        ("degradation", "noise", 2, 1.0, 1, 0.0),
        ("kind", "form", 2, 1.0, 1, 0.0),
        ("kind", "receipt", 2, 1 / 2, 1, 1 / 9),
        ("kind", "street", 1, 1.0, 0, None),
        ("size", "10-12", 2, 1 / 2, 1, 1 / 9),
        ("size", "20-24", 2, 1.0, 1, 0.0),
        ("layout", "seen", 2, 1.0, 1, 0.0),
        ("layout", "unseen", 2, 1 / 2, 1, 1 / 9),
        ("phrasing", "held-out", 2, 1.0, 0, None),
        ("phrasing", "known", 3, 2 / 3, 2, 1 / 10),
        ("answer", NOT_THERE, 1, 1.0, 0, None),
        ("answer", "on the page", 4, 3 / 4, 0, None),
        ("dialogue", "first question", 4, 3 / 4, 0, None),
        ("dialogue", "follow-up", 1, 1.0, 0, None),
    ]
    saved = json.loads(json.dumps(report.as_dict()))
    assert saved["answers"][0]["got"] == "abcd efg"
    assert saved["slices"][1]["transcription"] is None


def shares(one: Slice) -> tuple[int, float | None, int, float | None]:
    asked, read = one.extraction, one.transcription
    return (
        asked.questions if asked else 0,
        asked.exact if asked else None,
        read.questions if read else 0,
        read.cer if read else None,
    )


def test_nothing_asked_nothing_reported(stub: SimpleNamespace) -> None:
    report = evaluate_target(stub, [Item(WHITE, (), "form", "", None, ())])  # type: ignore[arg-type]
    assert (report.tasks, report.extraction, report.slices) == ({}, None, ())


@pytest.mark.slow
def test_several_processes_give_the_same_report(tmp_path: Path) -> None:
    torch.manual_seed(0)
    build_model(layers=1, width=64, vision_layers=1).save_pretrained(tmp_path)
    build_processor().save_pretrained(tmp_path)
    here = evaluate_target(load_target(tmp_path), exam("pairs", 2))
    progress: list[int] = []
    there = evaluate_in_processes(str(tmp_path), "pairs", 2, "test", 2, progress.append)
    assert there == here
    assert progress == [1, 2]
