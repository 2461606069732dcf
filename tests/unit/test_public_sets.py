"""Public question sets in the form of their makers, read from tiny samples.

Run: python -m pytest tests/unit/test_public_sets.py
"""

import json
from pathlib import Path
from typing import Any

import pytest
from PIL import Image

from glance.cli.main import main
from glance.documents.examples import DataError, Example, read_examples, write_examples
from glance.documents.public_sets import read_set

DOCVQA = {
    "dataset_name": "docvqa",
    "dataset_version": "1.0",
    "dataset_split": "train",
    "data": [
        {
            "questionId": 337,
            "question": "what is the date mentioned in this letter?",
            "question_types": ["form"],
            "image": "documents/xnbl0037_1.png",
            "docId": 279,
            "ucsf_document_id": "xnbl0037",
            "ucsf_document_page_no": "1",
            "answers": ["1/8/93", "Jan 8, 1993"],
            "data_split": "train",
        },
        {
            "questionId": 338,
            "question": " Who signed it? ",
            "image": "documents/xnbl0037_1.png",
            "docId": 279,
            "data_split": "test",
        },
    ],
}
INFOVQA = {
    "dataset_name": "infographicVQA",
    "dataset_version": "1.0",
    "dataset_split": "val",
    "data": [
        {
            "questionId": 98313,
            "question": "Which social platform has heavy female audience?",
            "image_local_name": "37313.jpeg",
            "image_url": "https://example.org/37313.jpeg",
            "ocr_output_file": "37313.json",
            "answers": ["pinterest"],
            "data_split": "val",
        }
    ],
}
CHARTQA = [
    {"imgname": "two_col_100022.png", "query": "How many bars are there?", "label": 6},
    {"imgname": "two_col_100022.png", "query": "What is the tallest one?", "label": "2014"},
]


def picture(path: Path) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    Image.new("RGB", (32, 32), "white").save(path)


def put(path: Path, raw: Any) -> Path:
    path.write_text(json.dumps(raw), encoding="utf-8")
    return path


def test_docvqa(tmp_path: Path) -> None:
    page = tmp_path / "documents" / "xnbl0037_1.png"
    picture(page)
    assert read_set("docvqa", put(tmp_path / "train_v1.0.json", DOCVQA)) == [
        Example(page, "what is the date mentioned in this letter?", "1/8/93", "docvqa"),
        Example(page, "Who signed it?", "", "docvqa"),
    ]


def test_infovqa_with_images_elsewhere(tmp_path: Path) -> None:
    images = tmp_path / "infographicsvqa_images"
    picture(images / "37313.jpeg")
    source = put(tmp_path / "infographicsVQA_val_v1.0.json", INFOVQA)
    asked = "Which social platform has heavy female audience?"
    assert read_set("infovqa", source, images) == [
        Example(images / "37313.jpeg", asked, "pinterest", "infovqa")
    ]


def test_chartqa_has_its_images_in_a_folder_beside_the_file(tmp_path: Path) -> None:
    picture(tmp_path / "png" / "two_col_100022.png")
    found = read_set("chartqa", put(tmp_path / "train_human.json", CHARTQA))
    assert [example.answer for example in found] == ["6", "2014"]
    assert {example.image for example in found} == {tmp_path / "png" / "two_col_100022.png"}


def test_a_folder_with_questions_in_a_text_file(tmp_path: Path) -> None:
    for name in ("a.png", "b c.jpg"):
        picture(tmp_path / name)
    text = "a.png\tWhat is the total?\t12.50\n\nb c.jpg\tWho is it for?\n"
    (tmp_path / "questions.txt").write_text("\ufeff" + text, encoding="utf-8")
    assert read_set("folder", tmp_path / "questions.txt") == [
        Example(tmp_path / "a.png", "What is the total?", "12.50", "folder"),
        Example(tmp_path / "b c.jpg", "Who is it for?", "", "folder"),
    ]


def test_a_folder_with_its_questions_in_it(tmp_path: Path) -> None:
    picture(tmp_path / "a.png")
    with pytest.raises(DataError, match=r"holds 0 files ending in \.tsv, not one"):
        read_set("folder", tmp_path)
    (tmp_path / "questions.tsv").write_text("a.png\tWhat is the total?\n")
    assert read_set("folder", tmp_path) == [
        Example(tmp_path / "a.png", "What is the total?", "", "folder")
    ]
    (tmp_path / "others.tsv").touch()
    with pytest.raises(DataError, match="holds 2 files"):
        read_set("folder", tmp_path)


@pytest.mark.parametrize(
    ("name", "text", "words"),
    [
        ("docvqa", json.dumps(CHARTQA), "not a file of docvqa"),
        ("infovqa", json.dumps(DOCVQA), "not a file of infovqa: KeyError.'image_local_name'"),
        ("chartqa", json.dumps(DOCVQA), "not a file of chartqa"),
        ("docvqa", "{", "not a file of docvqa"),
        ("docvqa", '{"data": []}', "holds no questions"),
        ("folder", "a.png What is the total?\n", "line 1 is not IMAGE, tab, QUESTION"),
        ("folder", "a.png\t\n", "line 1"),
        ("folder", "\n", "holds no questions"),
        ("folder", "none.png\tWhat?\nnone2.png\tWhat?\n", r"^2 images .*none\.png the first"),
    ],
)
def test_what_is_not_of_the_form_is_refused(
    tmp_path: Path, name: str, text: str, words: str
) -> None:
    source = tmp_path / "given"
    source.write_text(text, encoding="utf-8")
    with pytest.raises(DataError, match=words):
        read_set(name, source)


def test_the_command_writes_what_training_reads(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    picture(tmp_path / "documents" / "xnbl0037_1.png")
    source = put(tmp_path / "train_v1.0.json", DOCVQA)
    near, far = tmp_path / "docvqa.jsonl", tmp_path / "runs" / "docvqa.jsonl"
    assert main(["data", "docvqa", str(source), "--out", str(near), "--n", "1"]) == 0
    assert capsys.readouterr().out == f"{near}\n"
    assert json.loads(near.read_text())["image"] == "documents/xnbl0037_1.png"
    assert main(["data", "docvqa", str(source), "--out", str(far)]) == 0
    assert read_examples(far) == read_set("docvqa", source)
    assert read_examples(near) == read_examples(far)[:1]


def test_a_file_that_is_missing_is_one_sentence(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    none = str(tmp_path / "none.json")
    assert main(["data", "docvqa", none, "--out", str(tmp_path / "out.jsonl")]) == 2
    assert "none.json cannot be read" in capsys.readouterr().err
    assert not (tmp_path / "out.jsonl").exists()


@pytest.mark.parametrize(
    ("line", "words"),
    [
        ("{", "line 2 is not JSON"),
        ("[]", "line 2 is not an object with the texts image, question, answer, task"),
        ('{"image": "a.png", "question": "What?", "answer": 3, "task": "t"}', "line 2 is not"),
        ('{"image": "a.png", "question": " ", "answer": "", "task": "t"}', "no question"),
    ],
)
def test_lines_of_another_form_are_refused(tmp_path: Path, line: str, words: str) -> None:
    file = tmp_path / "own.jsonl"
    write_examples([Example(tmp_path / "a.png", "What?", "", "t")], file)
    with file.open("a", encoding="utf-8") as more:
        more.write(line + "\n")
    with pytest.raises(DataError, match=words):
        read_examples(file)


def test_an_empty_file_is_refused(tmp_path: Path) -> None:
    (tmp_path / "own.jsonl").write_text("\n")
    with pytest.raises(DataError, match="holds no questions"):
        read_examples(tmp_path / "own.jsonl")
