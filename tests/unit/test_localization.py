"""The head that looks at where a token stands: its file, and how its hits are counted.

python -m pytest tests/unit/test_localization.py
"""

import json
import logging
from pathlib import Path
from types import SimpleNamespace

import pytest
import torch

from glance import hits, localization
from glance.documents.dataset import page
from glance.grounding import patch_grid
from glance.hits import HitRate, choose, hit_rates, truth
from glance.localization import Choice, LocalizationError, LocalizationHead
from glance.targets.base import Target
from glance.targets.embedded import CELL, build_model, build_processor
from glance.targets.load import load_target, make_target
from tests.tiny_models import target as family_target

LAYERS, HEADS = 3, 4
PAGES = [page("train", index) for index in range(3)]


@pytest.fixture(scope="module")
def target() -> Target:
    torch.manual_seed(0)
    model = build_model(layers=LAYERS, width=64, vision_layers=1)
    return make_target("tiny", model, processor=build_processor())


@pytest.fixture
def sharp(monkeypatch: pytest.MonkeyPatch) -> LocalizationHead:
    """Passes in which one head looks at every token's glyph from its own row, and others do not."""
    right = LocalizationHead(1, 2, own=True)
    truths = {}
    original = hits.truth

    def remembered(*given):
        made = original(*given)
        truths[id(made.prompt)] = made
        return made

    def forced(_target, prompt, ids, _layers):
        made = truths[id(prompt)]
        assert ids == made.ids
        patches = made.touched.shape[1]

        def to_patches(layer):
            weights = torch.zeros(HEADS, len(ids) + 1, patches)
            weights[..., -1] = 0.5  # the lower right corner, which is blank
            if layer == right.layer:
                weights[right.head, 1 + made.inked] = made.touched.float()
            return weights

        return SimpleNamespace(to_patches=to_patches)

    monkeypatch.setattr(hits, "truth", remembered)
    monkeypatch.setattr(hits, "forced", forced)
    return right


def inked(pages) -> dict[str, int]:
    """Characters with ink in the true answers, by task."""
    counts: dict[str, int] = {}
    for one in pages:
        for asked in one.questions:
            glyphs = [one.glyphs[index] for index in asked.glyphs if index >= 0]
            count = sum(not glyph.char.isspace() for glyph in glyphs)
            counts[asked.task] = counts.get(asked.task, 0) + count
    return {task: count for task, count in counts.items() if count}


def test_the_patches_of_a_true_answer(target: Target) -> None:
    one = PAGES[0]
    asked = one.questions[0]
    prompt = target.prompt(one.image, asked.question)
    grid = patch_grid(target, prompt, one.image.size)
    assert grid is not None
    true = truth(target, prompt, grid, one, asked)
    assert target.decode_text(true.ids) == asked.answer
    assert len(true.inked) == inked([one])["transcribe"] > 50
    for token, touched in zip(true.inked.tolist(), true.touched, strict=True):
        glyph = one.glyphs[asked.glyphs[token]]
        assert glyph.char == asked.answer[token]
        x, y = glyph.middle
        assert touched[int(y // CELL) * grid.columns + int(x // CELL)]
        x0, y0, x1, y1 = glyph.box
        assert int(touched.sum()) <= (2 + (x1 - x0) / CELL) * (2 + (y1 - y0) / CELL)
        assert not touched[-1]


def test_the_head_that_hits_most_is_chosen(target: Target, sharp: LocalizationHead) -> None:
    read: list[int] = []
    choice = choose(target, PAGES, read.append)
    tokens = sum(inked(PAGES).values())
    assert choice == Choice(sharp, hits=tokens, tokens=tokens, pages=3)
    assert read == [1, 2, 3]


def test_hit_rates_by_task_and_degradation(target: Target, sharp: LocalizationHead) -> None:
    read: list[int] = []
    rates = {(one.by, one.value): one for one in hit_rates(target, sharp, PAGES, read.append)}
    tokens = inked(PAGES)
    total = sum(tokens.values())
    assert rates[("all", "")] == HitRate("all", "", total, total)
    assert rates[("all", "")].percent == 100.0
    assert {task: one.tokens for (by, task), one in rates.items() if by == "task"} == tokens
    for name in {each.name for one in PAGES for each in one.degradations}:
        having = [one for one in PAGES if name in {each.name for each in one.degradations}]
        assert rates[("degradation", name)].tokens == sum(inked(having).values())
    clean = [one for one in PAGES if not one.degradations]
    assert rates[("degradation", "none")].tokens == sum(inked(clean).values())
    assert read == [1, 2, 3]
    before = LocalizationHead(sharp.layer, sharp.head, own=False)
    misses = hit_rates(target, before, PAGES, read.append)[0]
    assert misses.hits < total / 2  # not none: neighbours may share a cell


def test_nothing_counted_has_no_rate(target: Target) -> None:
    [rate] = hit_rates(target, LocalizationHead(0, 0, own=False), [], print)
    assert (rate.tokens, rate.percent) == (0, None)
    with pytest.raises(LocalizationError, match="answer nothing"):
        choose(target, [], print)


def test_a_target_without_an_image_grid_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    tiny = family_target("llava")
    monkeypatch.setattr(tiny, "prompt", lambda *_: SimpleNamespace(model_inputs={}))
    with pytest.raises(LocalizationError, match="llava keeps no image grid"):
        choose(tiny, PAGES[:1], print)


CHOICE = Choice(LocalizationHead(5, 0, own=False), hits=9, tokens=10, pages=2)


@pytest.mark.parametrize("own", [True, False])
def test_a_choice_is_kept(tmp_path: Path, own: bool) -> None:
    head = LocalizationHead(5, 0, own)
    path = localization.save(Choice(head, 9, 10, 2), tmp_path, "abc")
    assert localization.load(tmp_path, "abc") == head
    saved = json.loads(path.read_text("utf-8"))
    assert (saved["revision"], saved["hits"], saved["tokens"], saved["pages"]) == ("abc", 9, 10, 2)


def test_a_choice_for_other_weights_is_refused(tmp_path: Path) -> None:
    assert localization.load(tmp_path, "abc") is None
    localization.save(CHOICE, tmp_path, "abc")
    with pytest.raises(LocalizationError, match="about weights abc, but these are def"):
        localization.load(tmp_path, "def")


@pytest.mark.parametrize("text", ["", "[]", "{}", '{"revision": "abc", "layer": 1, "head": 0}'])
def test_a_damaged_file_is_refused(tmp_path: Path, text: str) -> None:
    (tmp_path / localization.FILE).write_text(text)
    with pytest.raises(LocalizationError, match="damaged"):
        localization.load(tmp_path, "abc")


def test_a_target_loads_with_its_head_and_without_another_s(
    target: Target, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    target.model.save_pretrained(tmp_path)
    build_processor().save_pretrained(tmp_path)
    bare = load_target(tmp_path)
    assert bare.localization is None
    localization.save(CHOICE, tmp_path, bare.revision)
    loaded = load_target(tmp_path)
    assert (loaded.localization, loaded.revision) == (CHOICE.head, bare.revision)
    localization.save(CHOICE, tmp_path, "other")
    with caplog.at_level(logging.ERROR):
        assert load_target(tmp_path).localization is None
    assert "until a head is chosen again" in caplog.text
