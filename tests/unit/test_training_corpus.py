"""The pages that all heads learn from, and how heads share them and the time.

Run: python -m pytest tests/unit/test_training_corpus.py
"""

import time
from contextlib import nullcontext
from dataclasses import replace
from functools import partial
from pathlib import Path
from types import SimpleNamespace

import pytest

from glance.documents.dataset import page
from glance.heads.config import HeadError
from glance.targets.base import Target
from glance.targets.embedded import build_model, build_processor
from glance.training import capture, head
from glance.training import corpus as gathered
from glance.training.capture import load_answers, load_record, save_record
from glance.training.corpus import Corpus, answering, gather, greedy_answers, record_path
from glance.training.loop import CHECKPOINT, Progress, Stage
from tests.training_records import make_record, tiny_target

TAPS = (-1, 3)


@pytest.fixture(scope="module")
def target() -> Target:
    return tiny_target()


@pytest.fixture(autouse=True)
def small(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(capture, "LONGEST", 4)
    for name, value in (("LEAST_PAGES", 1), ("MOST_PAGES", 2), ("VALIDATION_PAGES", 1)):
        monkeypatch.setattr(gathered, name, value)
    monkeypatch.setattr(gathered, "answering", lambda *_given: nullcontext())


def test_the_set_is_closed_when_its_time_is_up(target: Target, tmp_path: Path) -> None:
    first = gather(target, "tiny", tmp_path, TAPS, seconds=0.0)
    assert first.folder.name == "answers-tiny-in-3"
    assert list(first.pages) == [1]  # from the last page on: the other process has the first
    record = load_record(record_path(first.folder, "train", 1))
    assert (record.target_revision, record.taps) == ("tiny", TAPS)
    assert record.tasks == tuple(q.task for q in page("train", 1).questions)
    assert first.pages[1] == int(record.answer.sum()) == first.tokens("greedy")
    answers = record.ids[record.answer].tolist()
    assert first.counts == {token_id: answers.count(token_id) for token_id in sorted(set(answers))}
    assert len(first.validation()) == 1

    again = gather(target, "tiny", tmp_path, TAPS, seconds=1000.0)
    assert again == first
    assert not record_path(first.folder, "train", 0).exists()

    with pytest.raises(HeadError, match="time was up"):
        again.sample(target, TAPS, seconds=-1.0)
    again.sample(target, TAPS, seconds=1000.0)
    sampled = load_answers(record_path(first.folder, "sampled", 1))
    assert again.sampled == {1: len(sampled)}
    assert again.tokens("rest") + again.tokens("sampled") == first.tokens("greedy")
    assert int(again.load("rest", 1).answer.sum()) == again.tokens("rest")
    again.sample(target, TAPS, seconds=-1.0)  # nothing left to do


def test_of_an_answer_too_short_to_divide_the_rest_is_all(target: Target, tmp_path: Path) -> None:
    record = make_record()
    first = record.answer & (record.segments == 1)  # eight tokens of twelve
    sampled, pages = {0: 8, 1: 8, 2: 7, 3: 6, 4: 1}, {}
    for number, drawn in sampled.items():
        greedy = replace(record, answer=first if number else record.answer)
        pages[number] = int(greedy.answer.sum())
        draw = replace(record, answer=first & (first.cumsum(0) <= drawn))
        save_record(greedy, record_path(tmp_path, "train", number))
        save_record(draw, record_path(tmp_path, "sampled", number))
    corpus = Corpus(tmp_path, "tiny", pages, {}, seconds=1.0)
    corpus.sample(target, TAPS, seconds=0.0)  # they are there already
    assert corpus.sampled == sampled
    assert corpus.uncut == {1, 2}  # page 0 has another question
    rest = {number: int(corpus.load("rest", number).answer.sum()) for number in pages}
    assert rest == {0: 4, 1: 8, 2: 8, 3: 2, 4: 7}
    assert corpus.tokens("rest") == sum(rest.values())
    assert corpus.teaching("rest") == corpus.teaching("greedy") == list(pages)
    assert corpus.teaching("sampled") == [0, 1, 2, 3]


class Run:
    """Stands in for a HeadTraining; each takes half of the time that it is given."""

    given: list[tuple[str, bool, float]]

    def __init__(self, recipe, _corpus, folder: Path, resume: bool, start: str, rates) -> None:
        self.recipe, self.folder, self.resume = recipe, folder, resume
        assert not start
        assert not rates
        self.progress = Progress("tiny", 1, stages=[Stage("greedy", 0.0)])

    def run(self, seconds: float) -> Path:
        self.given.append((self.recipe.name, self.resume, seconds))
        self.progress.seconds = seconds / 2
        folder = self.folder / "head"
        folder.mkdir(parents=True)
        return folder


@pytest.fixture
def runs(
    target: Target, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> list[tuple[str, bool, float]]:
    corpus = Corpus(tmp_path, "tiny", {0: 3}, {20: 3}, seconds=1.0)
    monkeypatch.setattr(head, "load_target", lambda *_given, **_how: target)
    monkeypatch.setattr(head, "gather", lambda *_given: corpus)
    monkeypatch.setattr(head, "answering", lambda *_given: nullcontext())
    monkeypatch.setattr(head, "HeadTraining", Run)
    monkeypatch.setattr(head, "card", lambda run, command: f"{run.recipe.name}: {command}\n")
    Run.given = []
    return Run.given


def test_heads_share_the_time_and_what_one_leaves_goes_to_the_others(
    runs: list[tuple[str, bool, float]], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(head, "time", SimpleNamespace(monotonic=lambda: 0.0))
    folders = head.train(("medusa", "eagle2", "hivis"), "tiny", tmp_path, minutes=1.0, device="cpu")
    names, resumed, seconds = zip(*runs, strict=True)
    assert names == ("medusa", "eagle2", "hivis")
    assert not any(resumed)
    assert seconds == pytest.approx((20, 25, 37.5))
    assert folders == [tmp_path / name / "head" for name in names]
    command = "python -m glance train head --all --minutes 1"
    assert [(f / "README.md").read_text() for f in folders] == [
        f"{name}: {command}\n" for name in names
    ]


def test_of_several_heads_those_go_on_that_had_begun(
    runs: list[tuple[str, bool, float]], tmp_path: Path
) -> None:
    with pytest.raises(HeadError, match="no checkpoint"):
        head.train(("medusa", "eagle2"), "tiny", tmp_path, 1.0, resume=True, device="cpu")
    (tmp_path / "medusa").mkdir()
    (tmp_path / "medusa" / CHECKPOINT).touch()
    head.train(("medusa", "eagle2"), "tiny", tmp_path, 1.0, resume=True, device="cpu")
    assert [(name, resumed) for name, resumed, _ in runs] == [("medusa", True), ("eagle2", False)]


def test_there_is_no_training_for_what_has_no_head(tmp_path: Path) -> None:
    with pytest.raises(HeadError, match="'ngram': choose glance"):
        head.train(("ngram",), "tiny", tmp_path, 1.0)


@pytest.mark.slow
def test_pages_are_answered_in_another_process(tmp_path: Path) -> None:
    build_model(layers=1, width=32, vision_layers=1).save_pretrained(tmp_path / "model")
    build_processor().save_pretrained(tmp_path / "model")
    pages = tmp_path / "pages"
    pages.mkdir()
    work = partial(greedy_answers, folder=pages, taps=(0,))
    with answering(str(tmp_path / "model"), work, range(5, 500)):
        deadline = time.monotonic() + 120
        while not record_path(pages, "train", 5).exists():
            assert time.monotonic() < deadline, "no page was answered"
            time.sleep(0.1)
    record = load_record(record_path(pages, "train", 5))
    assert record.tasks == tuple(q.task for q in page("train", 5).questions)
    assert record.features.shape == (len(record.ids), 1, 32)
    assert not list(pages.glob("*.partial"))


@pytest.mark.slow
def test_two_heads_from_nothing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Everything real, and small: answers, search, two stages, cards."""
    build_model(layers=4, width=32, vision_layers=1).save_pretrained(tmp_path / "model")
    build_processor().save_pretrained(tmp_path / "model")
    monkeypatch.setattr(gathered, "answering", answering)
    for name, steps in (("loop.SEARCH_STEPS", 2), ("plateau.LEAST_STEPS", 4)):
        monkeypatch.setattr(f"glance.training.{name}", steps)
    monkeypatch.setattr("glance.training.plateau.CHECK_STEPS", 2)
    folders = head.train(
        ("medusa", "vispec"), str(tmp_path / "model"), tmp_path / "out", minutes=20, device="cpu"
    )
    for folder in folders:
        card = (folder / "README.md").read_text()
        assert "flat: tau gained" in card
        assert "time was up" not in card
        assert (folder / "curve.svg").is_file()
