"""Heads for any target from a data file: answers, size, and several processes as one.

Run: python -m pytest tests/unit/test_training_data.py
"""

import json
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
import torch
from PIL import Image, ImageDraw
from safetensors.torch import load_file

from glance.cli.main import main
from glance.documents.examples import Example, write_examples
from glance.drafters.load import load_drafter
from glance.heads.config import HeadError
from glance.targets.base import Target
from glance.together import run_together
from glance.training import capture, data_corpus, head, loop
from glance.training.capture import load_record
from glance.training.corpus import Corpus
from glance.training.data_corpus import DataFile, check_size, gather_data
from glance.training.loop import HeadTraining
from glance.training.recipe_glance import ANCHORS, GlanceRecipe, mask_token, recompute
from tests.training_records import tiny_target

IMAGES = 7  # one of them for validation
TAPS = (0, 1, 2)
SHARED = ("glance", "medusa")
ALL_TAPS = (0, 1, 2, 3)  # of both


@pytest.fixture(scope="module")
def target() -> Target:
    return tiny_target()


def shorten(patch: pytest.MonkeyPatch) -> None:
    """Short answers and few of them."""
    patch.setattr(capture, "LONGEST", 4)
    patch.setattr(data_corpus, "LONGEST", 4)
    patch.setattr(loop, "PAGES_A_STEP", 4)
    patch.setattr(loop, "SEARCH_STEPS", 1)
    patch.setattr(loop, "RATES", (1e-3,))


@pytest.fixture(autouse=True)
def small(monkeypatch: pytest.MonkeyPatch) -> None:
    shorten(monkeypatch)


@pytest.fixture(scope="module")
def corpus(target: Target, tmp_path_factory: pytest.TempPathFactory) -> Corpus:
    folder = tmp_path_factory.mktemp("data")
    with pytest.MonkeyPatch.context() as patch:
        shorten(patch)
        return gather_data(target, DataFile(data_file(folder)), folder / "out", TAPS, 600.0)


def data_file(folder: Path, images: int = IMAGES) -> Path:
    """Images that differ, with one question or two."""
    examples = []
    for number in range(images):
        path = folder / f"{number}.png"
        picture = Image.new("L", (84, 56 + 28 * (number % 2)), "white")
        ImageDraw.Draw(picture).rectangle((8, 8, 16 + 5 * number, 30), fill="black")
        picture.save(path)
        for asked in ("What is it?", "How many?")[: 1 + number % 2]:
            examples.append(Example(path, asked, "", "docvqa"))
    write_examples(examples, folder / "own.jsonl")
    return folder / "own.jsonl"


def test_images_are_answered_and_one_of_them_is_kept_for_validation(corpus: Corpus) -> None:
    data = corpus.source
    assert isinstance(data, DataFile)
    assert (data.training, data.validation, data.questions) == (IMAGES - 1, 1, 10)
    assert corpus.folder.name == f"answers-tiny-0-1-2-{data.tag}"
    assert set(corpus.pages) <= set(range(IMAGES - 1))
    assert corpus.apart
    record = load_record(corpus.folder / "train-00000.safetensors")
    assert (record.taps, record.target_revision) == (TAPS, "tiny")
    assert len(record.tasks) == len(data("train", 0).questions)
    assert (record.cells == -1).all()
    assert len(corpus.validation()) == 1


def test_a_closed_set_stays_as_it_is(target: Target, corpus: Corpus) -> None:
    before = {path: path.stat().st_mtime_ns for path in corpus.folder.iterdir()}
    folder = corpus.folder.parents[1]
    again = gather_data(target, DataFile(folder / "own.jsonl"), folder / "out", TAPS, 600.0)
    assert again.pages == corpus.pages
    assert {path: path.stat().st_mtime_ns for path in corpus.folder.iterdir()} == before


def test_the_size_said_bounds_the_taps(
    target: Target,
    corpus: Corpus,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    monkeypatch.setattr(data_corpus, "PROBED", IMAGES)  # of all images, so that it is a bound
    monkeypatch.setattr(data_corpus, "GB", 1.0)
    assert isinstance(corpus.source, DataFile)
    check_size(target, corpus.source, corpus.folder, len(TAPS))
    said = capsys.readouterr().err
    assert "7 images with 10 questions: their records take up to " in said
    taps = sum(
        load_record(path).features.numel() * data_corpus.BYTES
        for path in corpus.folder.glob("*-0*.safetensors")
    )
    bound = float(said.split("take up to ")[1].split(" GB")[0])
    assert 0.6 * bound < taps <= 1.1 * bound  # one of them is for validation, and not probed


def test_records_that_would_not_fit_are_refused(
    target: Target, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(data_corpus, "BYTES", 10**15)
    with pytest.raises(HeadError, match=r"take up to \d+ GB, more than is free"):
        gather_data(target, DataFile(data_file(tmp_path)), tmp_path / "out", TAPS, 600.0)


def test_an_image_that_cannot_be_read_is_left_out(
    target: Target, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    data = DataFile(data_file(tmp_path))
    (tmp_path / "3.png").write_bytes(b"no image")
    corpus = gather_data(target, data, tmp_path / "out", TAPS, seconds=600.0)
    assert len(list(corpus.folder.glob("*-0*.safetensors"))) == IMAGES - 1
    assert capsys.readouterr().err.count("left out: ") == 1


def test_too_few_images_are_refused(tmp_path: Path) -> None:
    with pytest.raises(HeadError, match="has 3 images, fewer than the 5 needed"):
        DataFile(data_file(tmp_path, images=3))


def test_a_tokenizer_without_a_mask_token_has_an_id_to_spare() -> None:
    def model(mask: int | None, vocab_size: int) -> Any:
        tokenizer = SimpleNamespace(mask_token_id=mask, get_vocab=lambda: {"a": 3, "b": 7})
        return SimpleNamespace(name="some", tokenizer=tokenizer, vocab_size=vocab_size)

    assert mask_token(model(5, 8)) == 5
    assert mask_token(model(None, 9)) == 8
    with pytest.raises(HeadError, match="some has no token id to spare"):
        mask_token(model(None, 8))


def test_layers_that_run_twice_give_the_same_gradients(target: Target, corpus: Corpus) -> None:
    record = corpus.load("greedy", next(iter(corpus.pages)))
    found = []
    for twice in (False, True):
        torch.manual_seed(0)
        recipe = GlanceRecipe(target, corpus)
        if twice:
            recompute(recipe.head)
        recipe.generator.manual_seed(1)
        recipe.loss([record.tapped(recipe.taps(target))], "greedy").backward()
        found.append({name: p.grad for name, p in recipe.head.named_parameters()})
    for name, gradient in found[0].items():
        assert gradient is not None
        assert torch.equal(gradient, found[1][name]), name


def steps(rank: int, count: int, folder: Path) -> None:
    """Two steps and a validation of runs that `count` processes share; the first writes it down."""
    torch.set_num_threads(1)
    with pytest.MonkeyPatch.context() as patch:
        shorten(patch)
        target = tiny_target()
        data = DataFile(folder / "own.jsonl")
        corpus = gather_data(target, data, folder / f"out-{count}", ALL_TAPS, seconds=600.0)
        found = {}
        for name in SHARED:
            torch.manual_seed(0)
            recipe = head.RECIPES[name](target, corpus)
            run = HeadTraining(recipe, corpus, folder / f"{name}-{count}")
            losses = [run.step("greedy", 1e-3) for _ in range(2)]
            found[name] = (losses, str(run.validate()), list(corpus.pages))
            run.save()
    if rank == 0:
        (folder / f"{count}.json").write_text(json.dumps(found))


def test_two_processes_give_the_loss_of_one(tmp_path: Path) -> None:
    data_file(tmp_path)
    steps(0, 1, tmp_path)
    run_together(2, steps, tmp_path)
    one, two = (json.loads((tmp_path / f"{count}.json").read_text()) for count in (1, 2))
    for name in SHARED:
        losses, says, pages = one[name]
        assert two[name] == [pytest.approx(losses, rel=1e-5), says, pages]
        assert losses[1] != losses[0]
        alone, shared = (
            load_file(tmp_path / f"{name}-{count}" / "state.safetensors") for count in (1, 2)
        )
        for parameter, tensor in alone.items():
            assert torch.allclose(shared[parameter], tensor, atol=1e-5), (name, parameter)
    assert len(list((tmp_path / "out-2").glob("*/*.safetensors"))) == IMAGES


def test_the_command_trains_resumes_and_writes_a_card(
    target: Target, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys
) -> None:
    monkeypatch.setattr(head, "load_target", lambda *_given: target)
    monkeypatch.setattr(torch, "set_num_threads", lambda _count: None)
    out, file = tmp_path / "out", data_file(tmp_path)
    command = ["train", "head", "--target", "tiny", "--data", str(file), "--out", str(out)]
    assert main([*command, "--minutes", "0.001"]) == 0
    folder = out / "glance" / "head"
    assert capsys.readouterr().out == f"{folder}\n"
    assert load_drafter("glance", target, folder) is not None
    text = (folder / "README.md").read_text()
    assert "images of people's own" in text
    assert f"--target tiny --data {file}" in text
    assert f"up to {ANCHORS['cpu']} blocks" in text
    steps_before = json.loads((out / "glance" / "state.json").read_text())["stages"][0]["steps"]
    assert main([*command, "--minutes", "0.002", "--resume"]) == 0
    after = json.loads((out / "glance" / "state.json").read_text())["stages"][0]["steps"]
    assert after >= steps_before
    assert main(["train", "target", "--data", str(file)]) == 2
