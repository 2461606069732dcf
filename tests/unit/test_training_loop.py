"""Training of every kind of head: the search, the steps, the checkpoint, the folder.

Run: python -m pytest tests/unit/test_training_loop.py
"""

import json
from collections import Counter
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import huggingface_hub
import pytest
import torch
from huggingface_hub.errors import LocalEntryNotFoundError
from torch import Tensor

from glance.cli.main import HEADS, PARTS
from glance.config import DecodeConfig
from glance.decode import Decoder
from glance.drafters.block import BlockDrafter
from glance.drafters.load import load_drafter
from glance.heads.block import BlockHead
from glance.heads.config import HeadError
from glance.heads.eagle3 import Eagle3Head, eagle3_taps
from glance.heads.formats import read_head, write_head
from glance.heads.formats_eagle import write_eagle3
from glance.sampling import Sampler
from glance.targets.base import Target
from glance.training import blocks, head, loop, recipe_eagle2, recipe_eagle3
from glance.training import corpus as gathered
from glance.training.blocks import Gaze
from glance.training.capture import Record, answer_page, save_record
from glance.training.card import card
from glance.training.corpus import Corpus, record_path
from glance.training.loop import HeadTraining, Stage
from glance.training.plateau import LEVELS, Plateau
from glance.training.recipe import Recipe
from glance.training.recipe_glance import block_taps, deepened, head_config
from glance.training.recipes import RECIPES, all_taps
from glance.training.replayed import Replayed, replay
from tests import tiny_models
from tests.training_records import questions

FAMILY = "qwen3_vl"
TOKENS = 24  # of an answer
NO_TIME = -1.0  # seconds: the search alone


@pytest.fixture(autouse=True)
def small(monkeypatch: pytest.MonkeyPatch) -> None:
    for name, value in (
        ("PAGES_A_STEP", 1),
        ("SEARCH_STEPS", 2),
        ("RATES", (1e-3, 3e-3)),
        ("WARM_UP", 1),
    ):
        monkeypatch.setattr(loop, name, value)
    monkeypatch.setattr(gathered, "VALIDATION_PAGES", 1)
    # three layers are too few for the rule
    monkeypatch.setattr("glance.training.recipe_eagle3.eagle3_taps", lambda _layers: (0, 1, 2))


@pytest.fixture(scope="module")
def target() -> Iterator[Target]:
    tiny = tiny_models.target(FAMILY)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(tiny, "revision", "tiny")
        patch.setattr(tiny.tokenizer, "mask_token_id", tiny_models.VOCAB - 1, raising=False)
        yield tiny


@pytest.fixture(scope="module")
def corpus(target: Target, tmp_path_factory: pytest.TempPathFactory) -> Corpus:
    """One page of three questions, to learn by heart; validation asks the same."""
    folder, taps = tmp_path_factory.mktemp("answers"), (-1, 0, 1, 2)
    prompts = questions((8, 3, 5))
    record = answer_page(target, prompts, ["docvqa"] * 3, taps, TOKENS)
    for split in ("train", "validation"):
        save_record(record, record_path(folder, split, 0))
    sampler = Sampler(1.0, seed=0)

    def draw(logits: Tensor) -> Tensor:
        return torch.tensor([sampler.pick(row) for row in logits])

    drawn = answer_page(target, prompts[:1], ["docvqa"], (-1, 2), TOKENS - 5, draw)
    save_record(drawn, record_path(folder, "sampled", 0))
    answers = record.ids[record.answer].tolist()
    made = Corpus(folder, "tiny", {0: len(answers)}, dict(Counter(answers)), seconds=60.0)
    made.sample(target, (-1, 2), seconds=0.0)  # it is there already
    return made


def training(
    target: Target,
    corpus: Corpus,
    folder: Path,
    name: str,
    without: str = "",
    given: Path | None = None,
    **how,
) -> HeadTraining:
    torch.manual_seed(0)
    recipe = RECIPES[name]
    head = recipe.given(target, given, without) if given else None
    start = str(given or "")
    return HeadTraining(recipe(target, corpus, without, head), corpus, folder, start=start, **how)


@pytest.mark.parametrize("name", RECIPES)
def test_every_kind_of_head_gets_as_many_answer_tokens(corpus: Corpus, name: str) -> None:
    total = sum(
        int(corpus.load(answers, page).answer.sum())
        for answers in RECIPES[name].stages
        for page in corpus.pages
    )
    assert total == corpus.tokens("greedy") == 3 * TOKENS
    assert total == sum(corpus.tokens(answers) for answers in RECIPES[name].stages)


def test_the_sampled_answers_take_the_place_of_greedy_tokens(corpus: Corpus) -> None:
    assert RECIPES["vispec"].stages == ("rest", "sampled")
    assert corpus.sampled == {0: TOKENS - 5}
    rest, sampled = corpus.load("rest", 0), corpus.load("sampled", 0)
    assert torch.bincount(rest.segments[rest.answer]).tolist() == [0, 5, TOKENS, TOKENS]
    assert int(sampled.answer.sum()) == TOKENS - 5


def test_the_command_line_knows_every_recipe(target: Target) -> None:
    assert tuple(RECIPES) == HEADS
    parts = dict.fromkeys(part for recipe in RECIPES.values() for part in recipe.parts)
    assert tuple(parts) == PARTS
    assert all(name == recipe.name for name, recipe in RECIPES.items())
    assert all_taps(target) == (-1, 0, 1, 2)
    for recipe in RECIPES.values():
        taps = recipe.taps(target)
        assert list(taps) == sorted(set(taps))


@pytest.mark.parametrize("name", RECIPES)
def test_a_head_learns_a_page_by_heart_and_drafts_it(
    target: Target, corpus: Corpus, tmp_path: Path, name: str
) -> None:
    """End to end: were training and drafting shifted against each other, tau would stay at 1."""
    run = training(target, corpus, tmp_path, name)
    assert run.validate().tau < 1.6
    for _ in range(80):
        loss = run.step("greedy", 3e-3)
    assert loss == loss
    result = run.validate()
    assert result.rounds.total() < 3 * (TOKENS - 1)
    assert result.tau > 2.2

    drafter = load_drafter(name, target, run.head)
    assert drafter is not None
    ask = questions((8, 3, 5))[1]
    config = DecodeConfig(max_new_tokens=2 * TOKENS)
    plain = Decoder(target, None, config).generate(ask)
    drafted = Decoder(target, drafter, config).generate(ask)
    assert drafted.ids == plain.ids
    assert drafted.stats["tau"] > 1.2


@pytest.mark.parametrize("name", RECIPES)
def test_a_run_writes_a_head_with_card_and_curve(
    target: Target, corpus: Corpus, tmp_path: Path, name: str
) -> None:
    run = training(target, corpus, tmp_path, name)
    before = {n: p.clone() for n, p in run.recipe.head.named_parameters()}
    folder = run.run(NO_TIME)
    assert all(not torch.equal(p, before[n]) for n, p in run.recipe.head.named_parameters())
    assert load_drafter(name, target, folder) is not None
    curve = [json.loads(line) for line in (folder / "curve.jsonl").read_text().splitlines()]
    assert [point["answers"] for point in curve] == list(RECIPES[name].stages)
    assert (folder / "curve.svg").read_text().startswith("<svg")
    text = card(run, "python -m glance train head --all")
    parameters = sum(p.numel() for p in before.values())
    for words in (
        f"{parameters:,}",
        "random weights",
        "1 generated training pages",
        f"| answer tokens | {3 * TOKENS}",
        "0.001 | 0.003",
        "the time was up",
        run.progress.validation,
        "`tiny`",
        "`python -m glance train head --all`",
    ):
        assert words in text
    raw = json.loads((folder / "config.json").read_text())
    assert raw["target_revision"] == "tiny"


def test_a_card_says_where_answers_were_learned_twice(
    target: Target, corpus: Corpus, tmp_path: Path
) -> None:
    short = replace(corpus, uncut={0})
    run = training(target, short, tmp_path, "vispec")
    run.progress.stages = [Stage(answers, 0.0) for answers in run.recipe.stages]
    text = card(run, "python -m glance train head --drafter vispec")
    more = 3 * TOKENS + TOKENS - 5
    assert f"| answer tokens | {more}, where others have {3 * TOKENS}, as answers" in text


@pytest.mark.parametrize(
    ("name", "part"), [(name, part) for name, recipe in RECIPES.items() for part in recipe.parts]
)
def test_a_head_is_trained_without_a_part_of_its_recipe(
    target: Target,
    corpus: Corpus,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    name: str,
    part: str,
) -> None:
    # these pages have no cells
    monkeypatch.setattr(Record, "has_cells", lambda _: True)
    monkeypatch.setattr(Gaze, "loss", lambda *_: torch.ones(()))
    monkeypatch.setattr(recipe_eagle3, "guide_loss", lambda *_: torch.ones(()))
    monkeypatch.setattr(recipe_eagle2, "overlooked", lambda *_, **_how: (torch.ones(()),) * 2)
    whole, run = (
        training(target, corpus, tmp_path / (without or "whole"), name, without)
        for without in ("", part)
    )
    losses = [one.step(one.recipe.stages[0], 1e-3) for one in (whole, run)]
    assert losses[0] != losses[1] or whole.recipe.head.config != run.recipe.head.config
    run.validate()
    assert load_drafter(name, target, run.head) is not None
    run.save()
    with pytest.raises(HeadError, match=f"without its {part}"):
        training(target, corpus, tmp_path / part, name, resume=True)
    again = training(target, corpus, tmp_path / part, name, part, resume=True)
    shapes = {n: p.shape for n, p in run.recipe.head.named_parameters()}
    assert {n: p.shape for n, p in again.recipe.head.named_parameters()} == shapes
    run.progress.stages.append(loop.Stage("greedy", begun=0.0))
    assert f"| trained without | {part} |" in card(run, "")


@pytest.mark.parametrize("name", [n for n, recipe in RECIPES.items() if "guide" in recipe.parts])
def test_without_a_known_cell_nothing_is_watched(
    target: Target, corpus: Corpus, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, name: str
) -> None:
    def never(*_: object, **_how: object) -> None:
        raise AssertionError("there is nothing to look at")

    monkeypatch.setattr(blocks, "first_head", never)
    monkeypatch.setattr(recipe_eagle3, "guide_loss", never)
    monkeypatch.setattr(recipe_eagle2, "overlooked", never)
    whole, without = (
        training(target, corpus, tmp_path / part, name, part).step("greedy", 1e-3)
        for part in ("", "guide")
    )
    assert whole == without


def test_a_part_that_a_recipe_does_not_have_is_refused(tmp_path: Path) -> None:
    with pytest.raises(HeadError, match="choose adaptor, global-vector"):
        head.train(["vispec"], "embedded", tmp_path, 1.0, without="residual")
    with pytest.raises(HeadError, match="no part to leave out"):
        head.train(["medusa"], "embedded", tmp_path, 1.0, without="residual")


class Scripted(HeadTraining):
    """Validation says what the test wants, by the rate of the last step."""

    taus: dict[float, float]
    rates: list[float]

    def step(self, answers, rate: float) -> float:
        self.rates.append(rate)
        return super().step(answers, rate)

    def validate(self) -> Replayed:
        self.recipe.write(self.head)
        tau = self.taus[self.rates[-1]]
        return Replayed(Counter(docvqa=round(1000 * tau)), Counter(docvqa=1000))


def scripted(target: Target, corpus: Corpus, folder: Path, taus: dict[float, float], **how):
    torch.manual_seed(0)
    run = Scripted(RECIPES["medusa"](target, corpus), corpus, folder, **how)
    run.taus, run.rates = taus, []
    return run


def test_the_search_goes_on_from_the_best_rate(
    target: Target, corpus: Corpus, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(loop, "RATES", (1e-4, 1e-3, 1e-2))
    run = scripted(target, corpus, tmp_path, {1e-4: 1.1, 1e-3: 1.9, 1e-2: 1.5})
    after: dict[float, Tensor] = {}
    step = run.step

    def watched(answers, rate: float) -> float:
        loss = step(answers, rate)
        after[rate] = run.recipe.head[0][0].linear.weight.detach().clone()
        return loss

    monkeypatch.setattr(run, "step", watched)
    run.run(NO_TIME)
    [stage] = run.progress.stages
    assert run.rates == [1e-4, 1e-3, 1e-2]  # one step each, as there is no time
    assert stage.tried == [(1e-4, 1.1), (1e-3, 1.9), (1e-2, 1.5)]
    assert stage.rate == 1e-3
    assert torch.equal(run.recipe.head[0][0].linear.weight, after[1e-3])
    assert stage.plateau.points == [(1, 1.9)]


def test_only_the_rates_that_were_asked_for_are_tried(
    target: Target, corpus: Corpus, tmp_path: Path
) -> None:
    run = scripted(target, corpus, tmp_path, {2e-3: 1.5}, rates=[2e-3])
    run.run(NO_TIME)
    [stage] = run.progress.stages
    assert stage.tried == [(2e-3, 1.5)]
    assert stage.rate == 2e-3


def test_training_ends_when_validation_is_flat(
    target: Target, corpus: Corpus, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("glance.training.plateau.CHECK_STEPS", 2)
    monkeypatch.setattr("glance.training.plateau.LEAST_STEPS", 6)

    class Always(dict):
        def __missing__(self, rate: float) -> float:
            return 2.0

    run = scripted(target, corpus, tmp_path, Always())
    run.run(seconds=1000.0)
    [stage] = run.progress.stages
    assert stage.ended.startswith("flat: tau gained 0.0%")
    assert stage.plateau.is_over()
    assert 6 <= stage.steps < 40
    assert run.rates[-1] < 0.1 * stage.rate
    assert len(run.progress.curve) == len(stage.plateau.points)


def test_an_interrupted_run_goes_on_where_it_was_saved(
    target: Target, corpus: Corpus, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys
) -> None:
    monkeypatch.setattr("glance.training.plateau.CHECK_STEPS", 3)
    monkeypatch.setattr("glance.training.plateau.LEAST_STEPS", 9)
    first = training(target, corpus, tmp_path, "eagle3")
    monkeypatch.setattr(first, "validate", lambda: Replayed(Counter(a=3), Counter(a=2)))
    step, saved = first.step, {}

    def interrupted(answers, rate: float) -> float:
        if first.progress.steps == 5:  # the last checkpoint has these
            saved.update(first._snapshot())
            raise KeyboardInterrupt
        return step(answers, rate)

    monkeypatch.setattr(first, "step", interrupted)
    with pytest.raises(KeyboardInterrupt):
        first.run(seconds=1000.0)
    again = training(target, corpus, tmp_path, "eagle3", resume=True)
    assert again.progress.stages[0].steps == 5
    assert again.progress.stages[0].tried == first.progress.stages[0].tried
    assert again.progress.seconds > 0
    restored = again._snapshot()
    assert restored.keys() == saved.keys()
    assert any(name.endswith("#momentum_buffer") for name in saved)
    assert all(torch.equal(tensor, restored[name]) for name, tensor in saved.items())

    monkeypatch.setattr(again, "validate", lambda: Replayed(Counter(a=3), Counter(a=2)))
    again.run(seconds=1000.0)
    assert again.progress.stages[0].steps > 5
    assert again.progress.stages[0].ended.startswith("flat")
    steps = again.progress.steps
    finished = training(target, corpus, tmp_path, "eagle3", resume=True)
    capsys.readouterr()
    finished.run(seconds=2000.0)
    assert finished.progress.steps == steps
    said = capsys.readouterr().err
    assert f"resumed after {steps} steps and " in said
    assert f"ended after {steps} steps, flat: tau gained 0.0% since step " in said


@pytest.mark.parametrize("name", RECIPES)
def test_a_run_whose_time_was_up_goes_on_when_it_has_more(
    target: Target,
    corpus: Corpus,
    tmp_path: Path,
    name: str,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    """The clock counts steps, so nothing depends on how fast they are."""
    monkeypatch.setattr(HeadTraining, "_now", lambda run: float(run.progress.steps))
    monkeypatch.setattr(HeadTraining, "validate", lambda _: Replayed(Counter(a=3), Counter(a=2)))
    training(target, corpus, tmp_path, name).run(seconds=12.0)
    again = training(target, corpus, tmp_path, name, resume=True)
    [*done, last] = again.progress.stages
    assert again.progress.steps == 12
    assert last.ended.startswith("the time was up")
    assert last.plateau.factor < 1
    before, rates, step = again._snapshot(), [], again.step

    def watched(answers, rate: float) -> float:
        assert answers == RECIPES[name].stages[-1]
        rates.append(rate / last.rate)
        return step(answers, rate)

    monkeypatch.setattr(again, "step", watched)
    capsys.readouterr()
    again.run(seconds=32.0)
    assert "resumed after 12 steps and 0.2 of 0.5 min" in capsys.readouterr().err
    assert again.progress.steps == 32
    assert last.ended.startswith("the time was up")
    assert rates == sorted(rates, reverse=True)
    assert sorted(set(rates), reverse=True) == pytest.approx(LEVELS)
    assert rates.count(1.0) > len(rates) / 2
    assert [stage.steps for stage in again.progress.stages[:-1]] == [stage.steps for stage in done]
    after = again._snapshot()
    assert any(not torch.equal(after[key], tensor) for key, tensor in before.items())

    spent = training(target, corpus, tmp_path, name, resume=True)
    spent.run(seconds=32.0)
    assert spent.progress.steps == 32


def test_what_cannot_be_resumed_is_refused(
    target: Target, corpus: Corpus, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with pytest.raises(HeadError, match="no checkpoint"):
        training(target, corpus, tmp_path, "medusa", resume=True)
    (tmp_path / loop.CHECKPOINT).write_bytes(b"half of it")
    with pytest.raises(HeadError, match="no checkpoint"):
        training(target, corpus, tmp_path, "medusa", resume=True)
    training(target, corpus, tmp_path, "medusa").save()
    fewer = Corpus(corpus.folder, "tiny", {0: 5}, corpus.counts, seconds=1.0)
    with pytest.raises(HeadError, match="other answers"):
        training(target, fewer, tmp_path, "medusa", resume=True)
    monkeypatch.setattr(target, "revision", "another")
    with pytest.raises(HeadError, match="trained on target tiny"):
        training(target, corpus, tmp_path, "medusa", resume=True)


def test_a_save_that_is_cut_off_leaves_the_checkpoint_before_it(
    target: Target, corpus: Corpus, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    run = training(target, corpus, tmp_path, "medusa")
    run.progress.stages = [loop.Stage("greedy", 0.0, steps=7)]
    run.save()
    weights = {name: p.detach().clone() for name, p in run.recipe.head.named_parameters()}
    run.step("greedy", 1e-2)
    run.progress.stages[0].steps = 8

    def killed(*_: object) -> None:
        raise KeyboardInterrupt

    with monkeypatch.context() as patch:
        patch.setattr(Path, "replace", killed)
        with pytest.raises(KeyboardInterrupt):
            run.save()
    again = training(target, corpus, tmp_path, "medusa", resume=True)
    assert again.progress.steps == 7
    for name, parameter in again.recipe.head.named_parameters():
        assert torch.equal(parameter, weights[name]), name


@pytest.mark.parametrize("name", RECIPES)
def test_a_run_starts_from_a_head_made_for_another_target(
    target: Target, corpus: Corpus, tmp_path: Path, name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(target, "revision", "another")
    given: Recipe = RECIPES[name](target, corpus)
    given.write(tmp_path / "given")
    monkeypatch.setattr(target, "revision", "tiny")
    run = training(target, corpus, tmp_path / "run", name, given=tmp_path / "given")
    revision = run.recipe.read(tmp_path / "given", target.num_layers).revision()
    assert run.recipe.head.revision() == revision
    assert run.recipe.head.config.target_revision == "tiny"
    run.save()
    resumed = training(target, corpus, tmp_path / "run", name, resume=True)
    resumed.progress.stages = [loop.Stage("greedy", 0.0)]
    text = card(resumed, "train")
    assert f"the head with weights `{revision}`" in text
    assert "`train --start given`" in text  # not where it lay on this disk


def dflash(target: Target, **sizes: Any) -> BlockHead:
    """A head as others publish them: of a depth, with taps and a block size of its own."""
    config = replace(
        head_config(target),
        num_hidden_layers=3,
        num_attention_heads=6,
        num_key_value_heads=3,
        intermediate_size=80,
        target_layer_ids=(1, 2),
        block_size=6,
        rope_theta=1e6,
        target_revision="",
    )
    return BlockHead(replace(config, **sizes))


def learned(
    head_of: str, given: Path, target: Target, corpus: Corpus, out: Path, monkeypatch
) -> tuple[Any, list[tuple[int, ...]]]:
    """The head that training leaves, resumed once, and the taps that its corpora were to have."""
    asked: list[tuple[int, ...]] = []

    def gather(_target: object, _name: object, _out: object, taps: Any, _seconds: float) -> Corpus:
        asked.append(taps)
        return corpus

    monkeypatch.setattr(head, "load_target", lambda *_given, **_how: target)
    monkeypatch.setattr(head, "gather", gather)
    monkeypatch.setattr(torch, "set_num_threads", lambda _count: None)
    head.train((head_of,), "tiny", out, 1e-6, device="cpu", start=given)
    [folder] = head.train((head_of,), "tiny", out, 1e-3, resume=True, device="cpu")
    assert load_drafter(head_of, target, folder) is not None
    return RECIPES[head_of].read(folder, target.num_layers), asked


def test_a_block_head_of_another_shape_is_trained_as_it_is(
    target: Target, corpus: Corpus, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    given = dflash(target)
    write_head(given, tmp_path / "given")
    found, asked = learned("glance", tmp_path / "given", target, corpus, tmp_path, monkeypatch)
    assert found.config == replace(given.config, target_revision="tiny")
    assert found.revision() != given.revision()
    assert asked == [(-1, 0, 1, 2)] * 2
    assert RECIPES["glance"].taps(target, given) == (1, 2)
    assert all_taps(target, {"glance": given}, ("glance", "medusa")) == (1, 2)
    assert all_taps(target, {}, ("glance", "medusa")) == (0, 1, 2)


def test_a_deeper_head_drafts_the_same_until_it_learns(target: Target) -> None:
    shallow = dflash(target, num_hidden_layers=1)
    deeper = deepened(shallow, 3)
    assert deeper.config == replace(shallow.config, num_hidden_layers=3)
    ids = list(range(20, 30))
    features = torch.randn(9, 2, target.hidden_size)

    def drafted(head: BlockHead) -> Tensor:
        drafter = BlockDrafter(head, target)
        return drafter.draft(drafter.start(ids), ids, features).logits

    same = drafted(deeper)
    assert torch.equal(drafted(shallow), same)
    for layer in deeper.layers[1:]:
        assert not torch.any(layer.self_attn.o_proj.weight)
        layer.self_attn.o_proj.weight.normal_()
    assert not torch.allclose(drafted(deeper), same)
    with pytest.raises(HeadError, match="3 layers, more than 2"):
        deepened(deeper, 2)


def test_the_depth_of_a_glance_head_is_chosen(
    target: Target, corpus: Corpus, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(head, "load_target", lambda *_given, **_how: target)
    monkeypatch.setattr(head, "gather", lambda *_given: corpus)
    monkeypatch.setattr(torch, "set_num_threads", lambda _count: None)
    [two] = head.train(("glance",), "tiny", tmp_path / "a", 1e-6, device="cpu", draft_layers=2)
    where = {"device": "cpu", "start": two, "draft_layers": 4}
    [four] = head.train(("glance",), "tiny", tmp_path / "b", 1e-6, **where)
    for folder, layers in ((two, 2), (four, 4)):
        assert read_head(folder).config.num_hidden_layers == layers
        assert f"--draft-layers {layers}" in (folder / "README.md").read_text()
    with pytest.raises(HeadError, match="Only the glance head"):
        head.train(("glance", "eagle3"), "tiny", tmp_path / "c", 1e-6, draft_layers=2)


def test_an_eagle3_head_keeps_its_vocabulary_and_its_taps(
    target: Target, corpus: Corpus, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    made = RECIPES["eagle3"](target, corpus).head.config
    config = replace(made, target_layer_ids=(0, 1), draft_vocab_size=9, norm_before_residual=True)
    given = Eagle3Head(config)
    given.speak(torch.arange(9) * 7)
    write_eagle3(given, tmp_path / "given")
    found, _ = learned("eagle3", tmp_path / "given", target, corpus, tmp_path, monkeypatch)
    assert found.config == config
    assert found.token_ids().tolist() == [7 * token for token in range(9)]
    assert RECIPES["eagle3"].taps(target, given) == (0, 1, 2)  # it learns from the last layer too


@pytest.mark.parametrize(
    ("sizes", "words"),
    [
        ({"hidden_size": 32}, "hidden_size is 32, not 64"),
        ({"vocab_size": 500, "mask_token_id": 3}, "vocab_size is 500, not 160"),
        ({"num_target_layers": 8, "target_layer_ids": (1, 6)}, "do not fit 3 target layers"),
    ],
)
def test_a_given_head_that_does_not_fit_is_refused(
    target: Target, tmp_path: Path, sizes: dict[str, Any], words: str
) -> None:
    write_head(dflash(target, **sizes), tmp_path)
    with pytest.raises(HeadError, match=rf"{words}.*\.$"):
        RECIPES["glance"].given(target, tmp_path)


def test_a_head_of_another_kind_or_with_other_parts_is_no_start(
    target: Target, corpus: Corpus, tmp_path: Path
) -> None:
    RECIPES["vispec"](target, corpus).write(tmp_path / "given")
    with pytest.raises(HeadError, match=r"imadpt\.k_proj\.weight"):
        RECIPES["eagle2"].given(target, tmp_path / "given")
    with pytest.raises(HeadError, match="no head"):
        RECIPES["eagle2"].given(target, tmp_path / "nowhere")
    with pytest.raises(HeadError, match="its adaptor is True, not False"):
        RECIPES["vispec"].given(target, tmp_path / "given", "adaptor")


def test_a_run_starts_from_a_head_on_the_hub(
    target: Target, corpus: Corpus, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    given = RECIPES["medusa"](target, corpus)
    given.write(tmp_path / "cache")
    asked = []

    def snapshot_download(repository: str, **_options: object) -> str:
        asked.append(repository)
        if repository != "someone/a-head":
            raise LocalEntryNotFoundError("Cannot reach the hub.\nCheck your connection.")
        return str(tmp_path / "cache")

    monkeypatch.setattr(huggingface_hub, "snapshot_download", snapshot_download)
    monkeypatch.setattr(head, "load_target", lambda *_given, **_how: target)
    monkeypatch.setattr(head, "gather", lambda *_given: corpus)
    monkeypatch.setattr(torch, "set_num_threads", lambda _count: None)
    start = Path("someone/a-head")
    [folder] = head.train(("medusa",), "tiny", tmp_path, 1e-6, device="cpu", start=start)
    assert asked == ["someone/a-head"]
    revision = given.read(tmp_path / "cache", target.num_layers).revision()
    text = (folder / "README.md").read_text()
    assert f"the head with weights `{revision}`" in text
    assert " --start someone/a-head`" in text
    monkeypatch.setattr(head, "load_target", None)  # refused before
    with pytest.raises(HeadError, match=r"^someone/none .*\.$"):
        head.train(("medusa",), "tiny", tmp_path, 1.0, start=Path("someone/none"))


def test_answers_of_another_target_are_refused(corpus: Corpus) -> None:
    foreign = Corpus(corpus.folder, "another", corpus.pages, corpus.counts, seconds=1.0)
    with pytest.raises(HeadError, match="answers of target tiny"):
        foreign.load("greedy", 0)


def test_a_small_target_can_have_no_eagle3_head(
    target: Target, corpus: Corpus, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.undo()
    monkeypatch.setattr(target, "revision", "tiny")
    assert RECIPES["eagle3"].taps(target) == (0, 1, 2)
    with pytest.raises(HeadError, match="strictly increasing"):
        RECIPES["eagle3"](target, corpus)


def test_the_draft_vocabulary_is_that_of_the_answers(target: Target, corpus: Corpus) -> None:
    head = RECIPES["eagle3"](target, corpus).head
    assert head.token_ids().tolist() == sorted(corpus.counts)
    assert len(corpus.counts) < target.vocab_size


def test_replay_runs_the_drafter_as_decoding_does(
    target: Target, corpus: Corpus, tmp_path: Path
) -> None:
    """Rounds replayed are the rounds of the decoder on the same question."""
    run = training(target, corpus, tmp_path, "eagle2")
    for _ in range(15):
        run.step("greedy", 3e-3)
    run.validate()
    drafter = load_drafter("eagle2", target, run.head)
    assert drafter is not None
    replayed = replay(drafter, target, corpus.validation())
    config = DecodeConfig(max_new_tokens=TOKENS)
    rounds = [
        Decoder(target, drafter, config).generate(ask).stats["rounds"]
        for ask in questions((8, 3, 5))
    ]
    # features of the record are in half precision: a close call may fall otherwise
    assert abs(replayed.rounds.total() - sum(rounds)) <= 2
    assert replayed.committed.total() == 3 * (TOKENS - 1)


@pytest.mark.parametrize(
    ("layers", "taps"), [(1, (0,)), (2, (0,)), (5, (0, 1, 2, 3)), (8, (1, 3, 5, 6))]
)
def test_taps_are_spread_and_spare_the_last_layer(layers: int, taps: tuple[int, ...]) -> None:
    assert block_taps(layers) == taps


@pytest.mark.parametrize(
    ("layers", "deepstack", "taps"),
    [(36, [8, 16, 24], (3, 17, 32)), (36, None, (1, 17, 32)), (8, [0, 1, 2], (1, 3, 4))],
)
def test_a_new_eagle3_head_taps_behind_deepstack(
    monkeypatch: pytest.MonkeyPatch,
    layers: int,
    deepstack: list[int] | None,
    taps: tuple[int, ...],
) -> None:
    monkeypatch.setattr(recipe_eagle3, "eagle3_taps", eagle3_taps)
    vision = SimpleNamespace(**({"deepstack_visual_indexes": deepstack} if deepstack else {}))
    model = SimpleNamespace(config=SimpleNamespace(vision_config=vision))
    some: Any = SimpleNamespace(num_layers=layers, model=model)
    assert recipe_eagle3.new_taps(some) == taps


def test_a_checkpoint_keeps_what_the_stop_rule_knows(
    target: Target, corpus: Corpus, tmp_path: Path
) -> None:
    run = training(target, corpus, tmp_path, "medusa")
    plateau = Plateau([(100, 1.5)], level=1, lowered=90)
    run.progress.stages = [loop.Stage("greedy", 3.0, [(1e-3, 1.5)], 1e-3, 100, plateau)]
    run.save()
    again = training(target, corpus, tmp_path, "medusa", resume=True).progress.stages[0]
    assert again == run.progress.stages[0]
    assert again.plateau.next_check() == 200
