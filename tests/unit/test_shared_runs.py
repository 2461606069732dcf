"""eval and bench on a data file: what two processes find together is what one finds.

A model that says "a" and an engine that counts letters stand in for the real ones, which give a
prompt the same answer wherever it is asked.

Run: python -m pytest tests/unit/test_shared_runs.py
"""

import json
import subprocess
import sys
from collections.abc import Iterable
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
import torch
from PIL import Image

from glance import bench, evaluate
from glance.bench_lanes import Threads
from glance.bench_rows import Measured
from glance.cli.main import main
from glance.documents.examples import Example, read_examples, write_examples
from glance.documents.sets import Item
from glance.scores import Marked
from glance.targets.embedded import build_model, build_processor
from glance.together import run_together
from glance.types import PromptError

ROOT = Path(__file__).parents[2]
LANES = ("bare", "ar", "generate", "oracle")
TARGET = SimpleNamespace(
    name="letters",
    revision="abc",
    dtype_name="float32",
    device="cpu",
    prompt=lambda _image, question: question,
    check_length=lambda question, tokens: fits(question, tokens),
)


def fits(question: str, max_new_tokens: int) -> None:
    assert max_new_tokens == 256
    if question == "Too long":
        raise PromptError("The image and the question take too many tokens.")


def data_file(folder: Path) -> Path:
    """Three images, five questions of two tasks, of which one has no answer."""
    examples = []
    for number in range(3):
        path = folder / f"{number}.png"
        Image.new("RGB", (56, 56), "white").save(path)
        asked = f"What is it{'?' * number}"
        examples.append(Example(path, asked, "" if number == 2 else "a", "docvqa"))
        if number:
            examples.append(Example(path, f"How many{'?' * number}", "1", "own"))
    write_examples(examples, folder / "own.jsonl")
    return folder / "own.jsonl"


def answer_item(_target: object, item: Item) -> list[Marked]:
    return [
        Marked(q.task, q.question, q.answer, "a", q.answer == "a", 0, ()) for q in item.questions
    ]


def run_task(
    _target: object, _contenders: object, prompts: Iterable[Any], *_given: object, **_more: object
) -> bench.TaskResult:
    """One sample a prompt and lane; a process without a prompt chooses no threads."""
    asked = list(prompts)
    measured = [
        Measured(
            first_difference=None,
            answer_tokens=len(text),
            characters=len(text),
            committed=(2, len(text)),
            target_passes=2,
            drafter_passes=1,
            nodes=len(text),
            decode_ms=float(len(text)),
            end_to_end_ms=2.0 * len(text),
            ms={},
        )
        for text in asked
    ]
    threads = {name: Threads(1, 2) for name in LANES} if asked else {}
    return bench.TaskResult(dict.fromkeys(LANES, measured), threads, [])


def run(_rank: int, count: int, folder: Path) -> None:
    """Both commands in one of `count` processes; the first writes what all found."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("glance.targets.load.load_target", lambda *_given, **_more: TARGET)
        patch.setattr(evaluate, "answer_item", answer_item)
        patch.setattr(bench, "run_task", run_task)
        data = ["--data", str(folder / "own.jsonl"), "--json"]
        assert main(["eval", "target", *data, str(folder / f"eval-{count}.json")]) == 0
        few = ["bench", "--force", "--drafters", "ar", "--n", "2"]
        assert main([*few, *data, str(folder / f"bench-{count}.json")]) == 0


def test_two_processes_find_what_one_finds(
    tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    data_file(tmp_path)
    run(0, 1, tmp_path)
    alone = capfd.readouterr()
    run_together(2, run, tmp_path)
    together = capfd.readouterr()
    found = {path.stem: json.loads(path.read_text()) for path in tmp_path.glob("*-?.json")}

    one, two = found["eval-1"], found["eval-2"]
    assert [marked["question"] for marked in one["answers"]] == [
        "What is it",
        "What is it?",
        "How many?",
        "How many??",
    ]
    assert {task: score["exact"] for task, score in one["tasks"].items()} == {
        "docvqa": 1.0,
        "own": 0.0,
    }
    assert "1 questions have no answer to mark by" in alone.err
    for name in ("answers", "tasks", "slices", "items", "set"):
        assert two[name] == one[name], name

    one, two = found["bench-1"], found["bench-2"]
    assert {(row["task"], row["n"]) for row in one["rows"]} == {("docvqa", 2), ("own", 2)}
    # question by question: 10 and 11 letters of one task, 9 and 10 of the other
    assert {row["answer_tokens_mean"] for row in one["rows"]} == {10.5, 9.5}
    for name in ("rows", "means", "mismatches", "threads"):
        assert two[name] == one[name], name
    assert together.out.count("exact %") == alone.out.count("exact %") == 1  # one speaks


@pytest.mark.slow
def test_accelerate_launches_processes_that_find_what_one_finds(tmp_path: Path) -> None:
    """Everything real. Without graphics cards --multi_gpu is what starts more than one process."""
    torch.manual_seed(4)
    model = build_model(layers=2, width=32, vision_layers=1)
    for weights in model.parameters():
        if weights.dim() > 1:  # so large that it says something
            torch.nn.init.normal_(weights, std=0.5)
    model.save_pretrained(tmp_path / "model")
    build_processor().save_pretrained(tmp_path / "model")
    launch = [sys.executable, "-m", "accelerate.commands.launch", "--multi_gpu"]
    launch += ["--num_processes", "2", "--main_process_port", "0", "-m", "glance"]
    data = ["--target", str(tmp_path / "model"), "--device", "cpu"]
    data += ["--data", str(data_file(tmp_path)), "--json"]
    bench_few = ["bench", "--force", "--drafters", "ngram", "--n", "2", "--max-tokens", "8"]
    found: dict[str, list[dict[str, Any]]] = {}
    for name, command in (("eval", ["eval", "target"]), ("bench", bench_few)):
        for start in ([sys.executable, "-m", "glance"], launch):
            file = tmp_path / "found.json"
            done = subprocess.run(
                [*start, *command, *data, str(file)],
                cwd=ROOT,
                capture_output=True,
                text=True,
                timeout=300,
                check=False,
            )
            assert done.returncode == 0, done.stderr
            found.setdefault(name, []).append(json.loads(file.read_text()))
            file.unlink()

    one, two = found["eval"]
    assert len(one["answers"]) == 4
    assert any(marked["got"] for marked in one["answers"])
    for name in ("answers", "tasks", "items", "target"):
        assert two[name] == one[name], name

    one, two = found["bench"]
    kept = ("drafter", "task", "n", "tau", "target_passes", "answer_tokens_mean")
    same = [[[row[name] for name in kept] for row in each["rows"]] for each in (one, two)]
    assert len(same[0]) >= 4
    assert same[1] == same[0]


def broken(folder: Path, questions: Iterable[str]) -> list[Example]:
    """Questions about a file that is no image."""
    (folder / "broken.png").write_text("no picture")
    return [Example(folder / "broken.png", asked, "a", "docvqa") for asked in questions]


def test_an_image_that_cannot_be_read_is_left_out(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    own = read_examples(data_file(tmp_path))
    long = Example(own[0].image, "Too long", "", "long")
    first = [*broken(tmp_path, ["What is it"]), Example(tmp_path / "no.png", "What", "a", "own")]
    write_examples([*first, *own, long], tmp_path / "own.jsonl")
    run(0, 1, tmp_path)
    said = capsys.readouterr().err
    assert said.count("broken.png is left out: This file is not an image") == 2  # by each command
    assert said.count("no.png is left out: There is no file") == 2
    assert "0.png is left out: The image and the question take too many" in said
    evaluated = json.loads((tmp_path / "eval-1.json").read_text())
    assert evaluated["items"] == 3
    assert len(evaluated["answers"]) == 4
    benched = json.loads((tmp_path / "bench-1.json").read_text())
    assert {(row["task"], row["n"]) for row in benched["rows"]} == {("docvqa", 1), ("own", 1)}


@pytest.mark.parametrize("command", [["eval", "target"], ["bench", "--force", "--drafters", "ar"]])
def test_a_file_without_any_readable_image_is_refused(
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
    command: list[str],
) -> None:
    monkeypatch.setattr("glance.targets.load.load_target", lambda *_given, **_more: TARGET)
    monkeypatch.setattr(bench, "run_task", run_task)
    write_examples(broken(tmp_path, ["What", "Who"]), tmp_path / "own.jsonl")
    assert main([*command, "--data", str(tmp_path / "own.jsonl")]) == 2
    said = capsys.readouterr()
    assert said.out == ""
    assert said.err.splitlines()[-1].startswith("No ")


def test_a_file_without_answers_cannot_be_marked(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    write_examples([Example(tmp_path / "a.png", "What?", "", "own")], tmp_path / "own.jsonl")
    assert main(["eval", "target", "--data", str(tmp_path / "own.jsonl")]) == 2
    assert "has no answers to mark by" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("command", "words"),
    [
        (["eval", "target", "--processes", "2"], "accelerate launch"),
        (["bench", "--search"], "leave --data away"),
    ],
)
def test_options_that_do_not_go_together_are_refused(
    capsys: pytest.CaptureFixture[str], command: list[str], words: str
) -> None:
    assert main([*command, "--data", "own.jsonl"]) == 2
    assert words in capsys.readouterr().err
