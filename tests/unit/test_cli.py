"""The command line: what a stranger reads, what it refuses, what it prints and where.

A tiny target with random weights stands in for the shipped one, so nothing here needs weights.

python -m pytest tests/unit/test_cli.py
"""

import json
import os
import random
import subprocess
import sys
from pathlib import Path

import pytest
import torch
from PIL import Image

from glance.cli.main import HEADS, main
from glance.cli.output import show, show_table
from glance.documents import sets
from glance.drafters.toy import RandomDrafter
from glance.heads.block import BlockHead
from glance.heads.config import HeadConfig
from glance.heads.formats import write_head
from glance.scores import Report, report
from glance.targets.base import Target
from glance.targets.embedded import FIRST_CHARACTER, VOCABULARY, build_model, build_processor
from glance.targets.load import make_target
from glance.trace import read_trace

ROOT = Path(__file__).resolve().parents[2]
COMMANDS = (
    "ask", "replay", "audit", "bench", "report", "growth", "record", "law", "probe", "eval",
    "train", "render", "data",
)  # fmt: skip


def noise(width: int, height: int) -> Image.Image:
    """The same grey noise every time, whatever was drawn before."""
    return Image.frombytes("L", (width, height), random.Random(0).randbytes(width * height))


@pytest.fixture
def picture(tmp_path: Path) -> str:
    path = tmp_path / "page.png"
    noise(112, 84).save(path)
    return str(path)


@pytest.fixture
def tiny(monkeypatch: pytest.MonkeyPatch) -> Target:
    """A target with random weights and a drafter that guesses, in place of the shipped ones."""
    torch.manual_seed(0)
    model = build_model(layers=2, width=64, vision_layers=1)
    with torch.no_grad():  # wider than at initialisation, so that the text varies
        for weights in model.parameters():
            if weights.dim() > 1:
                weights.copy_(torch.randn_like(weights) * 1.5 / weights[0].numel() ** 0.5)
        model.get_input_embeddings().weight.mul_(8.0)
    head = torch.randn(VOCABULARY, 64) / 8  # untied: a token no longer calls for itself
    head[:FIRST_CHARACTER] = 0.0
    model.lm_head.weight = torch.nn.Parameter(head)
    target = make_target("tiny", model, processor=build_processor())

    def drafter(
        name: str, target: Target, head: Path | None, shape: object = None
    ) -> RandomDrafter | None:
        assert head is None
        assert shape is None  # these grow no tree by passes
        if name == "ar":
            return None
        return RandomDrafter(target.vocab_size, seed=0, chain=name == "glance-chain")

    monkeypatch.setattr("glance.targets.load.load_target", lambda _name: target)
    monkeypatch.setattr("glance.drafters.load.load_drafter", drafter)
    return target


def python(*arguments: str) -> subprocess.CompletedProcess[str]:
    """The real program, in a process of its own."""
    return subprocess.run(
        [sys.executable, *arguments], cwd=ROOT, capture_output=True, text=True, timeout=600
    )


def refused(capsys: pytest.CaptureFixture[str], *arguments: str) -> str:
    """Exit code 2, nothing on stdout, one sentence and no traceback on stderr."""
    try:
        code = main(arguments)
    except SystemExit as stop:  # argparse
        code = int(str(stop.code))
    said = capsys.readouterr()
    assert code == 2
    assert said.out == ""
    assert "Traceback" not in said.err
    return said.err


@pytest.mark.parametrize("command", COMMANDS)
def test_every_command_explains_itself(command: str, capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as stop:
        main([command, "--help"])
    assert stop.value.code == 0
    text = capsys.readouterr().out
    assert f"python -m glance {command}" in text
    assert "example:" in text


def test_help_names_every_command() -> None:
    done = python("-m", "glance", "--help")
    assert done.returncode == 0
    assert done.stderr == ""
    assert all(f"\n    {command} " in done.stdout for command in COMMANDS)


def test_bare_call_and_unknown_command(capsys: pytest.CaptureFixture[str]) -> None:
    assert "--help" in refused(capsys)
    assert "--help" in refused(capsys, "decode")


@pytest.mark.parametrize(
    ("arguments", "word"),
    [
        (["ask", "nowhere.png", "What?"], "no file"),
        (["ask", str(ROOT / "pyproject.toml"), "What?"], "not an image"),
        (["ask", str(ROOT), "What?"], "folder"),
        (["ask", "page.png"], "QUESTION"),
        (["ask", "page.png", "What?", "--drafter", "eagle"], "glance-chain"),
        (["ask", "page.png", "What?", "--budget", "0"], "1 to 1024"),
        (["ask", "page.png", "What?", "--budget", "many"], "whole number"),
        (["ask", "page.png", "What?", "--budget", "many"], "or auto"),
        (["audit", "--budget", "1025"], "1 to 1024"),
        (["audit", "--head", "nowhere"], "NAME=FOLDER"),
        (["audit", "--head", "ngram=nowhere"], "one of glance, eagle3"),
        (["bench", "--head", "eagle2="], "NAME=FOLDER"),
        (["ask", "page.png", "What?", "--max-tokens", "0"], "from 1"),
        (["ask", "page.png", "What?", "--page", "0"], "from 1"),
        (["ask", "page.png", "What?", "--crop", "0,0,1"], "four numbers"),
        (["ask", "page.png", "What?", "--crop", "upper half"], "four numbers"),
        (["ask", "page.png", "What?", "--temperature", "11"], "0 to 10"),
        (["ask", "page.png", "What?", "--temperature", "warm"], "invalid number"),
        (["record", "--out", "nowhere", "--seed", "-1"], "from 0"),
        (["audit", "--temperature", "1"], "unrecognized"),
        (["replay", "nowhere.jsonl"], "could not be opened"),
        (["replay", str(ROOT / "pyproject.toml")], "trace"),
        (["audit", "--break", "everything"], "compaction"),
        (["audit", "--n", "0"], "from 1"),
        (["audit", "--break", "mask", "--drafters", "ar"], "where something drafts"),
        (["bench", "--tasks", "chess"], "docvqa"),
        (["bench", "--drafters", "oracle"], "glance-chain"),
        (["bench", "--search", "--budget", "7"], "leave --budget and --widths away"),
        (["bench", "--search", "--widths", "7"], "leave --budget and --widths away"),
        (["bench", "--data", "own.jsonl", "--tasks", "docvqa"], "leave --tasks away"),
        (["eval", "head"], "target"),
        (["eval", "target", "--split", "holdout"], "validation"),
        (["eval", "target", "--set", "easy"], "unseen-faces"),
        (["eval", "target", "--choose", "2"], "eval grounding only"),
        (["eval", "target", "--data", "own.jsonl", "--set", "test"], "leave --set and --split"),
        (["eval", "target", "--data", "own.jsonl", "--split", "test"], "leave --set and --split"),
        (["eval", "grounding", "--set", "pairs"], "leave out --set"),
        (["eval", "grounding", "--processes", "2"], "leave out --set"),
        (["eval", "grounding", "--data", "own.jsonl"], "leave out --set, --data"),
        (["eval", "grounding", "--choose", "2", "--target", "own/er"], "give --target a folder"),
        (["train", "everything"], "head"),
        (["train", "target", "--resume", "--out", "nowhere"], "resume"),
        (["train", "target", "--target", "embedded"], "leave --target and --drafter away"),
        (["train", "target", "--drafter", "glance"], "leave --target and --drafter away"),
        (["train", "target", "--start", "nowhere"], "head"),
        (["train", "head", "--start", "nowhere", "--resume"], "--resume"),
        (["train", "head", "--drafter", "ngram"], "vispec"),
        (["train", "head", "--drafter", "eagle2", "--all"], "--drafter"),
        (["train", "head", "--all", "--start", "nowhere"], "random weights"),
        (["train", "target", "--all"], "trains heads"),
        (["train", "target", "--rate", "1e-3"], "recipe"),
        (["train", "head", "--rate", "2"], "between 0 and 1"),
        (["train", "target", "--draft-layers", "2"], "Only the glance head"),
        (["train", "head", "--drafter", "eagle3", "--draft-layers", "2"], "Only the glance head"),
        (["train", "head", "--all", "--without", "residual"], "one head"),
        (["train", "head", "--taps", "online"], "online needs --data"),
        (["train", "head", "--taps", "none"], "cached"),
        (["train", "head", "--max-pixels", "1000"], "pixels needs --data"),
        (["render", "--n", "2"], "--out"),
        (["ask", "page.png", "What?", "--target", "nowhere"], "no file"),
    ],
)
def test_refusals_are_one_sentence(
    arguments: list[str], word: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert word in refused(capsys, *arguments)


@pytest.mark.parametrize("question", ["", "  ", "x" * 2001])
def test_bad_questions_are_refused_before_a_model_loads(
    question: str, picture: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert "question" in refused(capsys, "ask", picture, question)


def test_a_folder_without_a_model_is_refused(
    picture: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert "no model" in refused(capsys, "ask", picture, "What?", "--target", str(tmp_path))


def test_a_folder_as_training_writes_it_can_be_asked(
    picture: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    build_model(layers=1, width=64, vision_layers=1).save_pretrained(tmp_path)
    build_processor().save_pretrained(tmp_path)
    options = ["--drafter", "ar", "--max-tokens", "3", "--target", str(tmp_path)]
    assert main(["ask", picture, "What?", *options]) == 0
    assert "ar" in capsys.readouterr().out


def test_warnings_come_on_the_side_and_into_the_json(
    picture: str,
    tiny: Target,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    monkeypatch.setattr(tiny, "name", "embedded")
    result = tmp_path / "result.json"
    options = ["--drafter", "ar", "--max-tokens", "3", "--json", str(result)]
    assert main(["ask", picture, "Сколько?", *options]) == 0
    said = capsys.readouterr()
    assert "This model reads Latin letters only.\n" in said.err
    assert "Latin" not in said.out
    told = json.loads(result.read_text(encoding="utf-8"))
    assert told["notices"] == ["This model reads Latin letters only."]


def test_two_pages_or_a_part_of_one_are_read(
    tiny: Target,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    monkeypatch.setattr(tiny, "name", "embedded")
    pages = [noise(112 + 28 * n, 84).convert("RGB") for n in range(3)]
    paper = tmp_path / "three.pdf"
    pages[0].save(paper, "PDF", save_all=True, append_images=pages[1:], resolution=144)
    trace = tmp_path / "run.jsonl"
    asked = ["ask", str(paper), "What?", "--drafter", "ar", "--max-tokens", "3"]
    kept = ["--trace", str(trace)]
    assert main([*asked, *kept, "--page", "3", "--page", "1"]) == 0
    header = read_trace(trace)[0]
    assert (header["image"]["page"], header["second_image"]["page"]) == (3, 1)
    assert (header["image"]["processed"], header["second_image"]["processed"]) == (
        [168, 84],
        [112, 84],
    )
    assert header["prompt"]["image_tokens"] == (168 + 112) * 84 // 14**2
    said = capsys.readouterr().err
    assert "page 3 (PDF, RGB) read at 168 x 84; page 1 (PDF, RGB) read at 112 x 84; 120" in said
    assert "Page 3 of 3.\nPage 1 of 3.\n" in said
    assert main([*asked, *kept, "--crop", "0,0,0.5,1"]) == 0
    header = read_trace(trace)[0]
    assert header["image"]["crop"] == [0, 0, 0.5, 1]
    assert "56 x 84 of 112 x 84 pixels" in capsys.readouterr().err
    assert "second_image" not in header
    assert "one page" in refused(capsys, *asked, "--page", "1", "--page", "2", "--crop", "0,0,1,1")
    assert "within the page" in refused(capsys, *asked, "--crop", "0,0,1,1.5")
    assert "1 to 3" in refused(capsys, *asked, "--page", "4")


def test_a_folder_without_a_head_is_refused(
    picture: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    model, head = tmp_path / "model", tmp_path / "head"
    build_model(layers=1, width=64, vision_layers=1).save_pretrained(model)
    build_processor().save_pretrained(model)
    for command in (["ask", picture, "What?"], ["audit", "--n", "1", "--drafters", "glance"]):
        said = refused(capsys, *command, "--target", str(model), "--head", f"glance={head}")
        assert f"There is no head in {head}" in said


def test_a_head_of_another_target_is_refused_with_a_way_out(
    picture: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    model, head = tmp_path / "model", tmp_path / "head"
    build_model(layers=1, width=64, vision_layers=1).save_pretrained(model)
    build_processor().save_pretrained(model)
    sizes = {"hidden_size": 32, "intermediate_size": 32, "head_dim": 8, "vocab_size": VOCABULARY}
    counts = {"num_hidden_layers": 1, "num_attention_heads": 4, "num_key_value_heads": 2}
    config = HeadConfig(
        **sizes, **counts, num_target_layers=1, mask_token_id=8, target_layer_ids=(0,)
    )
    write_head(BlockHead(config), head)
    options = ["--target", str(model), "--head", f"glance={head}"]
    said = refused(capsys, "ask", picture, "What?", *options)
    assert "hidden size of 32" in said
    assert said.endswith("Use --drafter ar.\n")
    assert main(["ask", picture, "What?", "--drafter", "ar", "--max-tokens", "3", *options]) == 0


def test_a_trace_that_cannot_be_written_is_refused_before_a_model_loads(
    picture: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = tmp_path / "missing" / "run.jsonl"
    said = refused(capsys, "ask", picture, "What?", "--trace", str(path))
    assert said == f"{path}: No such file or directory.\n"


@pytest.mark.parametrize(
    "command",
    [
        ["ask", "nowhere.png", "What?", "--json"],
        ["replay", "nowhere.jsonl", "--json"],
        ["replay", "nowhere.jsonl", "--html"],
        ["audit", "--json"],
        ["bench", "--json"],
        ["growth", "--json"],
        ["growth", "--image"],
        ["law", "nowhere.jsonl", "--json"],
        ["law", "nowhere.jsonl", "--svg"],
        ["probe", "zeroed-states", "--json"],
        ["eval", "target", "--json"],
        ["eval", "grounding", "--json"],
    ],
)
def test_a_result_that_cannot_be_written_is_refused_before_all_else(
    command: list[str],
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    monkeypatch.setattr("glance.targets.load.load_target", None)
    (tmp_path / "file").write_text("")
    said = refused(capsys, *command, str(tmp_path / "file" / "in" / "x"))
    assert said == f"{tmp_path / 'file' / 'in'}: Not a directory.\n"
    assert refused(capsys, *command, str(tmp_path)) == f"{tmp_path}: Is a directory.\n"
    monkeypatch.setattr("os.access", lambda *_: False)  # as for a user who is not root
    said = refused(capsys, *command, str(tmp_path / "x"))
    assert said == f"{tmp_path / 'x'}: Permission denied.\n"


def test_the_folder_of_a_result_is_made_before_all_else(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    refused(capsys, "ask", "nowhere.png", "What?", "--json", str(tmp_path / "new" / "in" / "x"))
    assert [path.name for path in tmp_path.rglob("*")] == ["new", "in"]


@pytest.mark.usefixtures("tiny")
def test_a_run_that_is_stopped_leaves_the_lines_it_wrote(
    picture: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    trace = tmp_path / "run.jsonl"

    def interrupt(text: str) -> None:
        if "round 2" in text:
            raise KeyboardInterrupt

    monkeypatch.setattr("glance.cli.ask.live", interrupt)
    assert main(["ask", picture, "What?", "--drafter", "ar", "--trace", str(trace)]) == 130
    kinds = [line["kind"] for line in read_trace(trace)]
    assert kinds == ["header", "prefill", "commit", "commit"]


@pytest.mark.parametrize(
    ("error", "said"),
    [
        (torch.OutOfMemoryError("CUDA out of memory.\nTried to allocate"), True),
        (RuntimeError("[enforce fail] DefaultCPUAllocator: can't allocate memory"), True),
        (MemoryError(), True),
        (RuntimeError("shapes differ"), False),
    ],
)
def test_too_little_memory_is_one_sentence(
    error: Exception, said: bool, picture: str, monkeypatch: pytest.MonkeyPatch, capsys
) -> None:
    def run(_options: object) -> int:
        raise error

    monkeypatch.setattr("glance.cli.ask.run", run)
    if said:
        assert main(["ask", picture, "What?"]) == 2
        told = capsys.readouterr().err
        assert told == "This does not fit into memory: take a smaller image or model.\n"
    else:
        with pytest.raises(RuntimeError, match="shapes differ"):
            main(["ask", picture, "What?"])


def test_errors_of_the_real_program_have_no_traceback() -> None:
    done = python("-m", "glance", "ask", "nowhere.png", "What?")
    assert done.returncode == 2
    assert done.stdout == ""
    assert done.stderr == "There is no file nowhere.png: check the path.\n"


@pytest.mark.usefixtures("tiny")
def test_ask_prints_the_answer_and_keeps_the_trace(
    picture: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    trace, result = tmp_path / "run.jsonl", tmp_path / "run.json"
    options = ["--max-tokens", "12", "--trace", str(trace), "--json", str(result)]
    assert main(["ask", picture, " What is this? ", *options]) == 0
    out = capsys.readouterr().out
    lines = read_trace(trace)
    assert lines[0]["prompt"]["question"] == "What is this?"
    assert [line["seq"] for line in lines] == list(range(len(lines)))
    saved = json.loads(result.read_text("utf-8"))
    first, second = saved["answers"].values()
    assert first == second
    assert out.startswith(first)
    [compared] = saved["compare"]
    assert compared["state"] == "equal"
    assert f"{compared['of']} of {compared['of']} token ids equal." in out
    assert [lane["lane"] for lane in saved["lanes"]] == list(saved["answers"])

    assert main(["replay", str(trace)]) == 0
    again = capsys.readouterr().out
    assert out in again
    assert "Question: What is this?" in again
    assert again.count("\nround ") == saved["lanes"][0]["rounds"]


@pytest.mark.usefixtures("tiny")
@pytest.mark.parametrize(("state", "code"), [("equal", 0), ("near_tie", 0), ("mismatch", 1)])
def test_another_answer_to_any_question_is_no_success(
    state: str,
    code: int,
    picture: str,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    bodies = iter([state, "equal"])  # of the first question and of the follow-up

    def compared(*_given: object) -> dict[str, object]:
        parted = {"equal": 1, "of": 3, "at": 1, "ids": [7, 8], "gap": 0.0, "dtype": "float32"}
        return {"state": next(bodies), **parted}

    monkeypatch.setattr("glance.ask.compare", compared)
    options = ["--max-tokens", "3", "--then", "And that?"]
    assert main(["ask", picture, "What?", *options]) == code
    assert ("Different answers between" in capsys.readouterr().out) == bool(code)
    assert list(bodies) == []


@pytest.mark.usefixtures("tiny")
def test_a_follow_up_is_answered_after_the_first_and_says_what_it_reused(
    picture: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    trace, result = tmp_path / "run.jsonl", tmp_path / "run.json"
    options = ["--max-tokens", "12", "--trace", str(trace), "--json", str(result)]
    assert main(["ask", picture, "What is this?", "--then", "And that?", *options]) == 0
    out = capsys.readouterr().out
    lines = read_trace(trace)
    assert lines[0]["prompt"]["question"] == "And that?"
    [[asked, told]] = lines[0]["prompt"]["history"]
    assert asked == "What is this?"
    assert out.startswith(told)
    assert out.count("token ids equal.") == 2
    [rows] = {line["reused"] for line in lines if line["kind"] == "prefill"}
    of = lines[0]["prompt"]["tokens"]
    assert 0 < rows < of
    assert f"glance: reused {rows} of {of} prompt rows" in out.replace("random:", "glance:")
    assert json.loads(result.read_text("utf-8"))["history"] == [[asked, told]]

    assert main(["ask", picture, "And that?", "--max-tokens", "12"]) == 0
    assert "reused" not in capsys.readouterr().out
    assert main(["ask", picture, "What?", "--then", " "]) == 2  # before anything is decoded
    assert "no question" in capsys.readouterr().err


@pytest.mark.usefixtures("tiny")
def test_an_automatic_budget_is_recorded_and_its_run_can_be_had_again(
    picture: str,
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    trace, second = tmp_path / "run.jsonl", tmp_path / "again.jsonl"
    options = ["ask", picture, "What?", "--drafter", "glance", "--max-tokens", "24"]
    assert main([*options, "--budget", "auto", "--trace", str(trace)]) == 0
    said = capsys.readouterr()
    assert "measuring" in said.err
    assert "Node budget of random: auto, " in said.out
    assert main(["replay", str(trace)]) == 0
    assert said.out in capsys.readouterr().out

    monkeypatch.setattr("glance.profiling.measure_costs", None)  # it must not be needed
    assert main([*options, "--profile", str(trace), "--trace", str(second)]) == 0
    first, again = read_trace(trace), read_trace(second)
    assert again[0]["settings"] == first[0]["settings"]
    assert first[0]["settings"]["node_budget"] == "auto"
    built = [
        [(line["tree"], line["node_budget"]) for line in lines if line["kind"] == "build"]
        for lines in (first, again)
    ]
    assert built[0] == built[1] != []


@pytest.mark.usefixtures("tiny")
def test_nothing_is_measured_for_plain_decoding_alone(
    picture: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("glance.profiling.measure_costs", None)
    trace = tmp_path / "run.jsonl"
    asked = ["ask", picture, "What?", "--drafter", "ar", "--max-tokens", "3", "--budget", "auto"]
    assert main([*asked, "--trace", str(trace)]) == 0
    assert read_trace(trace)[0]["settings"]["costs"] is None


@pytest.mark.usefixtures("tiny")
def test_a_trace_without_costs_is_refused_before_a_model_loads(
    picture: str,
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    trace = tmp_path / "run.jsonl"
    main(["ask", picture, "What?", "--max-tokens", "3", "--trace", str(trace)])
    capsys.readouterr()
    monkeypatch.setattr("glance.targets.load.load_target", None)
    said = refused(capsys, "ask", picture, "What?", "--profile", str(trace))
    assert said == "The trace has no cost profile: its run did not use --budget auto.\n"


@pytest.mark.usefixtures("tiny")
def test_audit_takes_an_automatic_budget(tmp_path: Path) -> None:
    result = tmp_path / "audit.json"
    options = ["--n", "1", "--max-tokens", "16", "--drafters", "noisy", "glance"]
    assert main(["audit", *options, "--budget", "auto", "--json", str(result)]) == 0
    saved = json.loads(result.read_text("utf-8"))
    assert saved["settings"]["node_budget"] == "auto"
    assert saved["settings"]["costs"]["nodes"][-1] == 63


@pytest.mark.usefixtures("tiny")
def test_one_lane_makes_no_comparison(picture: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["ask", picture, "What?", "--drafter", "ar", "--max-tokens", "3"]) == 0
    out = capsys.readouterr().out
    assert "Same answer" not in out
    assert "ar: cut off at 3 tokens, the limit." in out


@pytest.mark.usefixtures("tiny")
def test_draws_are_repeated_by_their_seed_and_not_called_different_answers(
    picture: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    def drawn(seed: int) -> tuple[str, dict]:
        result = tmp_path / "run.json"
        options = ["--max-tokens", "12", "--temperature", "0.9", "--seed", str(seed)]
        assert main(["ask", picture, "What?", *options, "--json", str(result)]) == 0
        return capsys.readouterr().out, json.loads(result.read_text("utf-8"))

    out, saved = drawn(3)
    assert (saved["settings"]["temperature"], saved["settings"]["seed"]) == (0.9, 3)
    assert saved["compare"] == []
    assert "Drawn at temperature 0.9 with seed 3: every lane from the same distribution" in out
    assert "Same answer" not in out
    assert "Different answers" not in out
    assert drawn(3)[1]["answers"] == saved["answers"]
    assert drawn(4)[1]["answers"] != saved["answers"]


@pytest.mark.usefixtures("tiny")
def test_too_long_an_answer_is_refused_in_words(
    picture: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert "max tokens" in refused(capsys, "ask", picture, "What?", "--max-tokens", "5000")


@pytest.mark.usefixtures("tiny")
def test_replay_and_help_need_no_torch(picture: str, tmp_path: Path) -> None:
    trace = tmp_path / "run.jsonl"
    main(["ask", picture, "What?", "--max-tokens", "4", "--trace", str(trace)])
    code = (
        "import sys; from glance.cli.main import main; main(sys.argv[1:]); "
        "sys.exit('torch' in sys.modules)"
    )
    assert python("-c", code, "replay", str(trace)).returncode == 0


@pytest.mark.usefixtures("tiny")
@pytest.mark.parametrize("lost", ["target", "prompt", "created"])
def test_a_trace_with_a_field_missing_is_refused(
    lost: str, picture: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    trace = tmp_path / "run.jsonl"
    main(["ask", picture, "What?", "--max-tokens", "4", "--trace", str(trace)])
    header, *rest = trace.read_text("utf-8").splitlines()
    damaged = {key: value for key, value in json.loads(header).items() if key != lost}
    trace.write_text("\n".join([json.dumps(damaged), *rest]), encoding="utf-8")
    capsys.readouterr()
    assert lost in refused(capsys, "replay", str(trace))


@pytest.mark.usefixtures("tiny")
def test_a_trace_cut_off_replays_its_whole_rounds(
    picture: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    trace = tmp_path / "run.jsonl"
    main(["ask", picture, "What?", "--max-tokens", "8", "--trace", str(trace)])
    lines = trace.read_text("utf-8").splitlines()
    accepts = [number for number, line in enumerate(lines) if '"kind":"accept"' in line]
    trace.write_text("\n".join(lines[: accepts[1] + 1]), encoding="utf-8")
    capsys.readouterr()
    assert main(["replay", str(trace)]) == 0
    assert capsys.readouterr().out.count("\nround ") == 1


@pytest.mark.usefixtures("tiny")
def test_audit_prints_a_line_a_drafter(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    result = tmp_path / "audit.json"
    names = ["ar", "noisy", "random", "oracle", "always-wrong"]
    options = ["--n", "2", "--max-tokens", "24", "--drafters", *names, "--json", str(result)]
    assert main(["audit", *options]) == 0
    said = capsys.readouterr()
    *rows, rests_on = said.out.splitlines()
    assert [row.split()[0] for row in rows] == ["control", *names]
    assert all(" 2/2 identical, " in row for row in rows)
    saved = json.loads(result.read_text("utf-8"))
    assert saved["passed"] is True
    assert saved["rows"][2]["partial_rounds"] > 0
    assert [row["passed"] for row in saved["rows"]] == [True] * 6
    assert saved["target"]["dtype"] == "float32"
    partial = sum(row["partial_rounds"] for row in saved["rows"])
    tokens = saved["rows"][0]["tokens"]
    assert rests_on == (
        "2 prompts (transcribe 1, docvqa 1), 0 of them with 128 new tokens or more, "
        f"{tokens} tokens in all, {partial} partial rounds"
    )
    assert "less than a full audit: 10 prompts of every task" in said.err
    assert saved["coverage"]["full"] is False
    assert saved["coverage"]["prompts"] == {"transcribe": 1, "docvqa": 1}


@pytest.mark.usefixtures("tiny")
@pytest.mark.parametrize("fault", ["mask", "positions", "compaction"])
def test_audit_finds_a_planted_fault(fault: str, capsys: pytest.CaptureFixture[str]) -> None:
    options = ["--n", "2", "--max-tokens", "48", "--drafters", "noisy", "--break", fault]
    assert main(["audit", *options]) == 1
    control, plain, noisy, *where = capsys.readouterr().out.splitlines()
    assert " 2/2 identical" in control
    assert " 2/2 identical" in plain
    assert " 2/2 identical" not in noisy
    assert "expected" in where[0]


@pytest.mark.usefixtures("tiny")
def test_a_fault_that_no_lane_could_notice_is_no_success(
    capsys: pytest.CaptureFixture[str],
) -> None:
    """A chain's accepted rows lie where they belong: leaving them there is no fault at all."""
    options = ["--n", "1", "--max-tokens", "8", "--drafters", "glance-chain"]
    assert main(["audit", *options, "--break", "compaction"]) == 2
    assert "The planted fault was not noticed" in capsys.readouterr().err
    assert main(["audit", *options]) == 0


@pytest.mark.usefixtures("tiny")
def test_answers_are_generated_once_for_all_test_drafters(monkeypatch: pytest.MonkeyPatch) -> None:
    import glance.audit

    made: list[int] = []
    original = glance.audit.reference_ids
    monkeypatch.setattr(
        "glance.audit.reference_ids", lambda *given: made.append(1) or original(*given)
    )
    options = ["--n", "1", "--max-tokens", "4", "--drafters", "noisy", "oracle", "always-wrong"]
    assert main(["audit", *options]) == 0
    assert len(made) == 2  # the references, and once more as the control


@pytest.mark.usefixtures("tiny")
def test_eval_prints_a_row_a_task_and_a_row_a_slice(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    result = tmp_path / "eval.json"
    progress: list[str] = []
    monkeypatch.setattr("glance.cli.eval.live", progress.append)
    options = ["--n", "1", "--split", "validation", "--json", str(result)]
    assert main(["eval", "target", *options]) == 0
    assert progress == ["1 of 1"]
    tasks, slices = capsys.readouterr().out.split("\n\n")
    heads, *rows, last = tasks.splitlines()
    assert heads.split()[0] == "task"
    saved = json.loads(result.read_text("utf-8"))
    assert (saved["set"], saved["split"], saved["items"]) == ("test", "validation", 1)
    assert [row.split()[0] for row in rows] == list(saved["tasks"])
    assert last.startswith("all but transcribe and caption")
    assert saved["extraction"]["questions"] == int(last.split()[-3])
    assert all(task["exact"] == 0.0 and task["cer"] > 0.5 for task in saved["tasks"].values())
    heads, *rows = slices.splitlines()
    assert heads.split()[0] == "slice"
    assert [row.split()[0] for row in rows] == [one["by"] for one in saved["slices"]]
    assert saved["answers"]
    assert saved["provenance"]


@pytest.mark.usefixtures("tiny")
def test_eval_grounding_chooses_a_head_and_prints_its_hits(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    result = tmp_path / "hits.json"
    options = ["--target", str(tmp_path), "--n", "1", "--json", str(result)]
    assert "--choose 50" in refused(capsys, "eval", "grounding", *options)
    assert main(["eval", "grounding", "--choose", "1", *options]) == 0
    heads, every, *rows = capsys.readouterr().out.splitlines()
    assert heads.split() == ["tokens", "of", "tokens", "hits", "%"]
    assert every.split()[0] == "all"
    assert {row.split()[0] for row in rows} == {"task", "degradation"}
    saved = json.loads(result.read_text("utf-8"))
    assert (saved["split"], saved["pages"], len(saved["rates"])) == ("test", 1, 1 + len(rows))
    assert saved["rates"][0]["tokens"] == int(every.split()[1]) > 0
    kept = json.loads((tmp_path / "grounding.json").read_text("utf-8"))
    assert saved["head"] == {name: kept[name] for name in ("layer", "head", "row")}
    assert kept["hits"] <= kept["tokens"]


def test_eval_of_pages_that_are_not_there_is_refused_before_a_model_loads(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    hint = "run it first"
    monkeypatch.setitem(sets.FOLDERS, "scans", (tmp_path / "scans", hint))
    monkeypatch.setattr("glance.targets.load.load_target", None)
    assert hint in refused(capsys, "eval", "target", "--set", "scans")
    said = refused(capsys, "eval", "target", "--set", "foreign", "--split", "validation")
    assert "no validation split" in said


@pytest.mark.usefixtures("tiny")
def test_eval_hands_its_pages_out_to_processes(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    calls: list[tuple[object, ...]] = []

    def elsewhere(*given: object) -> Report:
        calls.append(given[:-1])
        return report([])

    monkeypatch.setattr("glance.evaluate.evaluate_in_processes", elsewhere)
    options = ["--set", "pairs", "--n", "7", "--processes", "2"]
    assert main(["eval", "target", *options]) == 0
    assert calls == [("embedded", "pairs", 7, "test", 2)]
    assert capsys.readouterr().out.startswith("task")


def test_train_hands_its_options_on(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    calls: list[tuple[object, ...]] = []

    def train(drafters: tuple[str, ...], *given: object, **records: object) -> list[Path]:
        calls.append((drafters, *given, records))
        return [tmp_path / name / "head" for name in drafters]

    def train_target(*given: object, **shape: object) -> None:
        calls.append((*given, shape))

    monkeypatch.setattr("glance.training.target.train", train_target)
    monkeypatch.setattr("glance.training.head.train", train)
    options = ["--out", str(tmp_path), "--minutes", "7", "--resume", "--device", "cpu"]
    assert main(["train", "target", *options]) == 0
    assert main(["train", "head", "--target", "runs/target/model", *options]) == 0
    cached = {"online": False, "max_pixels": None, "without": "", "rates": []}
    cached |= {"draft_layers": None}
    assert calls == [
        (tmp_path, 7.0, True, "cpu", {"layers": 8, "width": 256}),
        (("glance",), "runs/target/model", tmp_path, 7.0, True, "cpu", None, None, cached),
    ]
    assert main(["train", "head", "--drafter", "eagle2", *options]) == 0
    assert calls[-1][0] == ("eagle2",)
    assert main(["train", "head", "--all", *options]) == 0
    assert calls[-1][0] == HEADS
    shape = ["--layers", "12", "--width", "512"]
    assert main(["train", "target", "--out", str(tmp_path), *shape]) == 0
    assert calls[-1][-1] == {"layers": 12, "width": 512}
    assert main(["train", "head", *shape]) == 2
    assert main(["train", "target", *options, *shape]) == 2
    start = tmp_path / "head"
    assert main(["train", "head", "--out", str(tmp_path), "--start", str(start)]) == 0
    assert calls[-1][-3:] == (start, None, cached)
    own = ["--data", "own.jsonl", "--taps", "online", "--max-pixels", "1000", "--without", "guide"]
    own += ["--rate", "1e-3", "--rate", "2e-3", "--draft-layers", "4"]
    assert main(["train", "head", "--out", str(tmp_path), *own]) == 0
    given = {"online": True, "max_pixels": 1000, "without": "guide", "rates": [1e-3, 2e-3]}
    given |= {"draft_layers": 4}
    assert calls[-1][-2:] == (Path("own.jsonl"), given)
    said = capsys.readouterr().out
    for folder in (tmp_path / "model", *(tmp_path / name / "head" for name in HEADS)):
        assert str(folder) in said


def test_text_of_a_page_cannot_drive_the_terminal(capsys: pytest.CaptureFixture[str]) -> None:
    show("a\x1b[2Jb\x9b\tc\r\nd")
    assert capsys.readouterr().out == "a\ufffd[2Jb\ufffd\tc\ufffd\nd\n"


def test_a_table_lines_up(capsys: pytest.CaptureFixture[str]) -> None:
    show_table(("lane", "n", "tau"), [("glance", 7, 3.456), ("ar", 12, None)])
    assert capsys.readouterr().out.splitlines() == [
        "lane     n   tau",
        "glance   7  3.46",
        "ar      12     -",
    ]


def test_render_draws_the_same_page_for_a_number(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    for folder in ("one", "two"):
        assert main(["render", "--out", str(tmp_path / folder), "--n", "2", "--seed", "7"]) == 0
    paths = [Path(line) for line in capsys.readouterr().out.splitlines()]
    assert len(paths) == 4
    assert [path.name for path in paths[:2]] == [path.name for path in paths[2:]]
    assert all(
        first.read_bytes() == second.read_bytes()
        for first, second in zip(paths[:2], paths[2:], strict=True)
    )
    record = json.loads(paths[0].with_suffix(".json").read_text("utf-8"))
    assert record["seed"] == 7
    assert record["questions"]


def test_what_is_written_into_nowhere_is_said(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "file").write_text("")
    assert "file" in refused(capsys, "render", "--n", "1", "--out", str(tmp_path / "file" / "in"))


@pytest.mark.parametrize(("command", "threads"), [("replay", "1"), ("train", None)])
def test_threads_are_set_before_torch_could_load(command: str, threads: str | None) -> None:
    code = (
        f"import os, sys; os.environ.pop('OMP_NUM_THREADS', None); sys.argv = ['glance', "
        f"'{command}']; import glance.__main__; print(os.environ['OMP_NUM_THREADS'], "
        "os.environ['OMP_WAIT_POLICY'], 'torch' in sys.modules)"
    )
    wanted = threads or str(os.cpu_count())
    assert python("-c", code).stdout.split() == [wanted, "PASSIVE", "False"]
