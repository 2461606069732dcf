"""Heads for any target from a data file: answers, size, and several processes as one.

Run: python -m pytest tests/unit/test_training_data.py
"""

import json
import subprocess
import sys
import time
from dataclasses import replace
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
from glance.targets.embedded import build_model, build_processor
from glance.targets.load import load_target
from glance.together import run_together
from glance.training import capture, data_corpus, head, loop
from glance.training.capture import load_record
from glance.training.corpus import Corpus
from glance.training.data_corpus import DataFile, check_size, gather_data
from glance.training.loop import CHECKPOINT, HeadTraining, read_progress
from glance.training.recipe_glance import (
    FEW_ANCHORS,
    GlanceRecipe,
    mask_token,
    most_anchors,
    recompute,
)
from tests.training_records import tiny_target

ROOT = Path(__file__).parents[2]

IMAGES = 7  # one of them for validation
TAPS = (0, 1, 2)
SHARED = ("glance", "medusa")
ALL_TAPS = (0, 1, 2, 3)  # of both
WAYS = {"cached": SHARED, "online": ("glance",)}  # whose taps are several


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


@pytest.fixture(scope="module")
def online(target: Target, corpus: Corpus) -> Corpus:
    """The same, without taps on disk."""
    assert isinstance(corpus.source, DataFile)
    with pytest.MonkeyPatch.context() as patch:
        shorten(patch)
        out = corpus.folder.parent
        return gather_data(target, corpus.source, out, TAPS, 600.0, online=True)


def data_file(folder: Path, images: int = IMAGES, most: int = 2) -> Path:
    """Images that differ, with one question or two, unless one is the most."""
    examples = []
    for number in range(images):
        path = folder / f"{number}.png"
        picture = Image.new("L", (84, 56 + 28 * (number % 2)), "white")
        ImageDraw.Draw(picture).rectangle((8, 8, 16 + 5 * number, 30), fill="black")
        picture.save(path)
        for asked in ("What is it?", "How many?")[: 1 + number % most]:
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


def test_what_is_not_answered_in_time_never_is_and_that_is_said(
    target: Target, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys
) -> None:
    monkeypatch.setattr(data_corpus, "LEAST_PAGES", 3)
    data, out = DataFile(data_file(tmp_path)), tmp_path / "out"
    for seconds in (0.0, 600.0):
        assert set(gather_data(target, data, out, TAPS, seconds).pages) <= {0, 1, 2}
        said = capsys.readouterr().err
        assert f"3 of {IMAGES - 1} images to learn from are answered, and no more will be" in said


def same(one: capture.Record, other: capture.Record) -> None:
    """All is equal, and the features but for the last digit of bfloat16."""
    for name in capture.TENSORS:
        if name != "features":
            assert torch.equal(getattr(one, name), getattr(other, name)), name
    assert (one.tasks, one.taps, one.target_revision) == (
        other.tasks,
        other.taps,
        other.target_revision,
    )
    torch.testing.assert_close(one.features, other.features, rtol=2**-7, atol=1e-4)


def test_taps_taken_online_are_those_of_the_cache(
    target: Target, corpus: Corpus, online: Corpus
) -> None:
    assert online.folder.name == corpus.folder.name.replace("0-1-2", "online")
    assert (online.pages, online.counts) == (corpus.pages, corpus.counts)
    for path in online.folder.glob("*-0*.safetensors"):
        assert load_record(path).features.shape[1] == 0
    for each in (corpus, online):
        each.sample(target, TAPS, seconds=600.0)
    for number in corpus.pages:
        for answers in ("greedy", "sampled", "rest"):
            same(online.load(answers, number), corpus.load(answers, number))
    same(online.validation()[0], corpus.validation()[0])


def test_taps_are_those_of_the_image(online: Corpus) -> None:
    record = load_record(online.folder / "train-00000.safetensors")
    sheet = online.source("train", 0)
    blank = replace(sheet, image=Image.new("RGB", sheet.image.size, "white"))
    assert online.online is not None
    right, wrong = (online.online(page, record, 0).features for page in (sheet, blank))
    assert (right - wrong).abs().max() > 0.1
    other = replace(sheet, image=sheet.image.resize((140, 140)))
    with pytest.raises(HeadError, match="An image is another one"):
        online.online(other, record, 0)


def test_losses_are_the_same_either_way(
    target: Target, corpus: Corpus, online: Corpus, tmp_path: Path
) -> None:
    found = []
    for way, each in (("cached", corpus), ("online", online)):
        torch.manual_seed(0)
        run = HeadTraining(GlanceRecipe(target, each), each, tmp_path / way)
        found.append(([run.step("greedy", 1e-3) for _ in range(2)], str(run.validate())))
    (cached, says), (taken, says_too) = found
    assert taken == pytest.approx(cached, rel=1e-3)
    assert says_too == says
    assert cached[0] != cached[1]


def test_an_unread_validation_image_leaves_the_others(corpus: Corpus, tmp_path: Path) -> None:
    path = corpus.folder / "validation-00000.safetensors"
    (tmp_path / "validation-00001.safetensors").hardlink_to(path)
    assert len(replace(corpus, folder=tmp_path).validation()) == 1


def test_answers_at_another_size_are_another_corpus(target: Target, corpus: Corpus) -> None:
    data, out = corpus.source, corpus.folder.parent
    assert isinstance(data, DataFile)
    scaled = gather_data(target, data, out, TAPS, seconds=600.0, max_pixels=4000)
    assert scaled.folder.name == f"{corpus.folder.name}-4000px"


@pytest.mark.parametrize("way", ["cached", "online"])
def test_the_size_said_bounds_the_records(
    request: pytest.FixtureRequest,
    way: str,
    target: Target,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    monkeypatch.setattr(data_corpus, "PROBED", IMAGES)  # of all images, so that it is a bound
    monkeypatch.setattr(data_corpus, "GB", 1.0)
    corpus: Corpus = request.getfixturevalue("corpus" if way == "cached" else "online")
    assert isinstance(corpus.source, DataFile)
    check_size(target, corpus.source, corpus.folder, len(TAPS) if way == "cached" else 0)
    said = capsys.readouterr().err
    assert "7 images with 10 questions: their records (" in said
    assert f"{'taps cached' if way == 'cached' else 'gives online at every step'}) take" in said
    size = sum(
        tensor.nbytes
        for split in ("train", "validation")
        for path in corpus.folder.glob(f"{split}-*.safetensors")
        for tensor in load_file(path).values()
    )
    bound = float(said.split("take up to ")[1].split(" GB")[0])
    assert 0.6 * bound < size <= 1.1 * bound  # one of them is for validation, and not probed


def test_sampled_answers_are_part_of_the_size(
    target: Target, corpus: Corpus, monkeypatch: pytest.MonkeyPatch, capsys
) -> None:
    monkeypatch.setattr(data_corpus, "GB", 1.0)
    assert isinstance(corpus.source, DataFile)
    for sampled in (False, True):
        check_size(target, corpus.source, corpus.folder, len(TAPS), sampled)
    without, both = (
        float(line.split("take up to ")[1].split(" GB")[0])
        for line in capsys.readouterr().err.splitlines()
    )
    assert 1.5 * without < both < 2 * without


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


def test_any_device_has_a_number_of_anchors() -> None:
    most = [most_anchors(torch.device(kind)) for kind in ("cpu", "cuda", "mps", "xpu")]
    assert most == [24, 512, 24, 24]


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
        data, out = DataFile(folder / "own.jsonl"), folder / f"out-{count}"
        found = {}
        for way, names in WAYS.items():
            corpus = gather_data(target, data, out, ALL_TAPS, 600.0, online=way == "online")
            for name in names:
                torch.manual_seed(0)
                recipe = head.RECIPES[name](target, corpus)
                run = HeadTraining(recipe, corpus, folder / f"{name}-{way}-{count}")
                losses = [run.step("greedy", 1e-3) for _ in range(2)]
                found[f"{name}-{way}"] = (losses, str(run.validate()), list(corpus.pages))
                run.save()
    if rank == 0:
        (folder / f"{count}.json").write_text(json.dumps(found))


def test_two_processes_give_the_loss_of_one(tmp_path: Path) -> None:
    """Whether taps are cached or taken online."""
    data_file(tmp_path)
    steps(0, 1, tmp_path)
    run_together(2, steps, tmp_path)
    one, two = (json.loads((tmp_path / f"{count}.json").read_text()) for count in (1, 2))
    assert list(one) == ["glance-cached", "medusa-cached", "glance-online"]
    for name in one:
        losses, says, pages = one[name]
        assert two[name] == [pytest.approx(losses, rel=1e-5), says, pages]
        assert losses[1] != losses[0]
        alone, shared = (
            load_file(tmp_path / f"{name}-{count}" / "state.safetensors") for count in (1, 2)
        )
        for parameter, tensor in alone.items():
            assert torch.allclose(shared[parameter], tensor, atol=1e-5), (name, parameter)
    assert len(list((tmp_path / "out-2").glob("*/*.safetensors"))) == len(WAYS) * IMAGES


def short_answers(rank: int, count: int, folder: Path) -> None:
    """A step of each of ViSpec's stages on one question an image; the first writes it down."""
    torch.set_num_threads(1)
    with pytest.MonkeyPatch.context() as patch:
        shorten(patch)
        target = tiny_target()
        recipe = head.RECIPES["vispec"]
        taps = recipe.taps(target)
        data = DataFile(folder / "own.jsonl")
        corpus = gather_data(target, data, folder / "out", taps, 600.0, sampled=True)
        corpus.sample(target, taps, 600.0)
        torch.manual_seed(0)
        run = HeadTraining(recipe(target, corpus), corpus, folder / f"vispec-{count}")
        losses = [run.step(answers, 1e-3) for answers in recipe.stages]
        corpus.sampled = dict.fromkeys(corpus.sampled, 1)
        with pytest.raises(HeadError, match="single tokens"):
            run.step("sampled", 1e-3)
    if rank == 0:
        (folder / f"{count}.json").write_text(json.dumps(losses))


def test_answers_that_are_too_short_to_divide_are_learned_whole(tmp_path: Path) -> None:
    """With one question an image the sampled answer leaves nothing of the greedy one."""
    data_file(tmp_path, most=1)
    short_answers(0, 1, tmp_path)
    run_together(2, short_answers, tmp_path)  # none of them waits for the other
    one, two = (json.loads((tmp_path / f"{count}.json").read_text()) for count in (1, 2))
    assert two == pytest.approx(one, rel=1e-4)


def test_the_command_trains_resumes_and_writes_a_card(
    target: Target, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys
) -> None:
    asked: list[dict[str, Any]] = []

    def load(*_given: object, **how: Any) -> Target:
        asked.append(how)
        return target

    monkeypatch.setattr(head, "load_target", load)
    monkeypatch.setattr(torch, "set_num_threads", lambda _count: None)
    out, file = tmp_path / "out", data_file(tmp_path)
    command = ["train", "head", "--target", "tiny", "--data", str(file), "--out", str(out)]
    assert main([*command, "--minutes", "0.001"]) == 0
    folder = out / "glance" / "head"
    assert capsys.readouterr().out == f"{folder}\n"
    assert load_drafter("glance", target, folder) is not None
    text = (folder / "README.md").read_text()
    assert f" of {IMAGES - 1} images of people's own" in text
    assert f"--target tiny --data {file}" in text
    assert f"up to {FEW_ANCHORS} blocks" in text
    steps_before = read_progress(out / "glance").steps
    assert main([*command, "--minutes", "0.002", "--resume"]) == 0
    assert read_progress(out / "glance").steps >= steps_before
    assert asked == [{"max_pixels": None}] * 2
    command[-1] = str(tmp_path / "other")
    options = ["--taps", "online", "--max-pixels", "4000"]
    assert main([*command, "--minutes", "0.001", *options]) == 0
    assert asked[2] == {"max_pixels": 4000}
    assert [path.name for path in (tmp_path / "other").glob("answers-tiny-online-*-4000px")]
    text = (tmp_path / "other" / "glance" / "head" / "README.md").read_text()
    assert f"--data {file} --taps online --max-pixels 4000`" in text
    assert main(["train", "target", "--data", str(file)]) == 2


@pytest.mark.slow
def test_accelerate_launches_processes_that_train_one_head_and_resume(tmp_path: Path) -> None:
    """Everything real. Without graphics cards --multi_gpu is what starts more than one process."""
    build_model(layers=1, width=32, vision_layers=1).save_pretrained(tmp_path / "model")
    build_processor().save_pretrained(tmp_path / "model")
    file, out = data_file(tmp_path, images=5), tmp_path / "out"
    launch = [sys.executable, "-m", "accelerate.commands.launch", "--multi_gpu"]
    launch += ["--num_processes", "2", "--main_process_port", "0", "-m", "glance"]
    train = ["train", "head", "--drafter", "medusa", "--target", str(tmp_path / "model")]
    train += ["--data", str(file), "--out", str(out), "--device", "cpu", "--minutes"]
    run = out / "medusa"

    first = subprocess.Popen([*launch, *train, "2"], cwd=ROOT)
    deadline = time.monotonic() + 600
    try:
        while not (run / CHECKPOINT).exists():  # the search is over
            assert first.poll() is None, "it ended before its first checkpoint"
            assert time.monotonic() < deadline, "no checkpoint was written"
            time.sleep(0.1)
    finally:
        first.terminate()
    assert first.wait(60) != 0
    before = read_progress(run)
    assert not before.stages[0].ended

    minutes = f"{before.seconds / 60 + 0.5:.2f}"
    again = [*launch, *train, minutes, "--resume"]
    done = subprocess.run(again, cwd=ROOT, capture_output=True, text=True, timeout=600, check=False)
    assert done.returncode == 0, done.stderr
    assert done.stdout == f"{run / 'head'}\n"  # one of them speaks
    after = read_progress(run)
    assert after.stages[0].tried == before.stages[0].tried
    assert after.steps > before.steps
    [head_file] = out.rglob("config.json")
    text = (head_file.parent / "README.md").read_text()
    assert "`accelerate launch --num_processes 2 -m glance train head" in text
    assert load_drafter("medusa", load_target(tmp_path / "model"), head_file.parent) is not None
