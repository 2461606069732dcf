"""The probes, each on a drafter whose behaviour is known, and the command.

A tiny target with random weights answers; it reads nothing, but it is deterministic.

python -m pytest tests/unit/test_probes.py
"""

import json
from collections.abc import Callable, Iterator
from dataclasses import replace
from functools import cache
from importlib import import_module
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
import torch
from torch import Tensor

from glance.cli.main import main
from glance.documents.canvas import Glyph
from glance.documents.dataset import page
from glance.documents.page import Page, Question
from glance.drafters.base import Drafter
from glance.drafters.block import BlockDrafter
from glance.drafters.toy import NoisyDrafter, OracleDrafter, RandomDrafter
from glance.forced import read
from glance.heads.block import BlockHead
from glance.heads.config import HeadConfig
from glance.probes import (
    NAMES,
    block_size,
    boundary,
    budget,
    copy_runs,
    mismatched_image,
    retrain_ocr,
    text_only_prompts,
    text_only_states,
    zeroed_states,
)
from glance.probes.asked import SPLIT, Setup, answered, asked
from glance.probes.ngram_page_oracle import LongestMatch, PageNgram
from glance.probes.outcome import HOLDS, OPEN, REFUTED, STANDS, Estimate, Outcome, ProbeError
from glance.probes.rounds import Round
from glance.targets.base import Target
from glance.targets.embedded import (
    IMAGE,
    MASK,
    PAD,
    VOCABULARY,
)
from glance.types import DraftBlock
from tests.reading_target import reading_target

TASKS = ("docvqa", "caption")
TAPS = (0, 1)


@cache
def tiny() -> Target:
    return reading_target(layers=2)


@cache
def block_drafter() -> BlockDrafter:
    """A head with random weights."""
    torch.manual_seed(0)
    config = HeadConfig(
        hidden_size=64,
        intermediate_size=96,
        num_hidden_layers=1,
        num_attention_heads=4,
        num_key_value_heads=2,
        head_dim=16,
        vocab_size=VOCABULARY,
        num_target_layers=2,
        mask_token_id=MASK,
        target_layer_ids=TAPS,
        block_size=16,
        target_revision=tiny().revision,
    )
    return BlockDrafter(BlockHead(config), tiny())


@cache
def small(index: int) -> Page:
    """A page of the test split, its picture no larger than a stamp."""
    drawn = page("test", index)
    return replace(drawn, image=drawn.image.resize((84, 56)))


@pytest.fixture(autouse=True)
def _small(monkeypatch: pytest.MonkeyPatch) -> None:
    """The same few pages for every task, so that they are drawn once; few draws of them."""

    def few(_split: str, tasks: tuple[str, ...], n: int) -> Iterator[tuple[Page, Question]]:
        for task in tasks:
            for index in range(n):
                first = small(index).questions[0]
                yield small(index), replace(first, task=task, question=f"{task} {index}")

    monkeypatch.setattr("glance.probes.asked.one_a_page", few)
    monkeypatch.setattr("glance.probes.resampled.DRAWS", 100)


Toy = Callable[[list[int]], Drafter]


def oracle(answer: list[int]) -> Drafter:
    return OracleDrafter(answer, VOCABULARY)


class Told:
    """A toy drafter that knows the answers to some prompts, and on others drafts nothing right.

    It is given states, and tells prompts apart by them if it looks at them, else by their ids.
    """

    name = "told"
    taps = TAPS
    passes = 1
    revision = ""
    block_size = 16

    def __init__(self, known: dict[Any, list[int]], looks: bool, toy: Toy = oracle) -> None:
        self._known = known
        self._looks = looks
        self._toy = toy

    def start(self, prompt_ids: list[int], _positions: Tensor | None = None) -> Any:
        return SimpleNamespace(prompt_ids=prompt_ids, drafter=None, state=None)

    def draft(self, state: Any, out: list[int], features: Tensor | None) -> DraftBlock:
        assert features is not None
        if state.drafter is None:
            key = float(features.sum()) if self._looks else tuple(state.prompt_ids)
            state.drafter = self._toy(self._known.get(key, [PAD] * 999))  # PAD is never said
            state.state = state.drafter.start(state.prompt_ids)
        drafted = state.drafter.draft(state.state, out, None)
        assert isinstance(drafted, DraftBlock)
        return drafted


def setup(
    n: int, tokens: int, drafter: Drafter | None = None, tasks: tuple[str, ...] = TASKS
) -> Setup:
    return Setup(tiny(), drafter or block_drafter(), tasks, n, max_new_tokens=tokens)


def told(
    n: int, tokens: int, looks: bool = True, toy: Toy = oracle, tasks: tuple[str, ...] = TASKS
) -> Setup:
    """A setup whose drafter knows the answers about the right pages."""
    known: dict[Any, list[int]] = {}
    for one in asked(setup(n, tokens, tasks=tasks)):
        ids = one.prompt.input_ids[0].tolist()
        features = read(tiny(), one.prompt, one.answer, TAPS).features
        assert features is not None
        known[float(features[: len(ids)].sum()) if looks else tuple(ids)] = one.answer
    assert len(known) == len(tasks) * n
    return setup(n, tokens, Told(known, looks, toy), tasks)


def rows(outcome: Outcome, table: int = 0, **where: Any) -> list[dict[str, Any]]:
    return [
        row
        for row in outcome.tables[table].rows
        if all(row[column] == value for column, value in where.items())
    ]


def verdicts(outcome: Outcome) -> list[str]:
    return [finding.verdict for finding in outcome.findings]


# --- other states
def test_a_drafter_that_lives_on_states_is_blind_without_them() -> None:
    outcome = zeroed_states.run(told(2, 10))
    [everything] = rows(outcome, task="all tasks")
    assert everything["tau"] == Estimate(9.0, (9.0, 9.0))
    assert everything["altered tau"] == Estimate(1.0, (1.0, 1.0))
    assert everything["share of a kept"].value == 0.0
    assert verdicts(outcome) == [HOLDS]


def test_a_drafter_that_looks_at_no_states_refutes_that_it_lives_on_them() -> None:
    outcome = zeroed_states.run(told(2, 10, looks=False))
    [everything] = rows(outcome, task="all tasks")
    assert everything["altered tau"] == everything["tau"] == Estimate(9.0, (9.0, 9.0))
    assert verdicts(outcome) == [REFUTED]


def test_states_without_the_image_are_those_of_the_same_words() -> None:
    outcome = text_only_states.run(told(2, 10))
    assert [row["task"] for row in rows(outcome)] == [*TASKS, "all tasks"]
    assert {row["altered tau"].value for row in rows(outcome)} == {1.0}
    assert verdicts(outcome) == [OPEN]  # both lose all
    seen: list[int] = []

    class Listening(Told):
        def start(self, prompt_ids: list[int], _positions: Tensor | None = None) -> Any:
            seen.append(prompt_ids.count(IMAGE))
            return super().start(prompt_ids)

    text_only_states.run(setup(1, 4, Listening({}, looks=True)))
    assert [count > 0 for count in seen] == [True, False] * 2


def test_tau_collapses_with_states_of_another_page() -> None:
    outcome = mismatched_image.run(told(2, 10))
    by_arm = {row["arm"]: row for row in rows(outcome, task="docvqa")}
    assert by_arm["right page"]["tau"].value == 9.0
    assert by_arm["drafter"]["tau"].value == 1.0
    assert by_arm["drafter"]["rounds"] == 9 * by_arm["right page"]["rounds"]
    assert by_arm["target"]["tau"].value == 1.0  # the toy knows no answers about other pages
    assert verdicts(outcome)[1:] == [OPEN, HOLDS]  # four rounds are too few for a law


def test_the_other_page_is_of_the_same_kind_and_the_question_stays() -> None:
    one = next(asked(setup(1, 2)))
    other = answered(setup(1, 2), page(SPLIT, one.page.index, one.page.kind), one.question)
    assert other.page.kind == one.page.kind
    assert other.page.values != one.page.values
    assert (other.page.index, other.question) == (one.page.index, one.question)
    assert other.prompt.question == one.prompt.question


def test_rounds_on_the_law_stand_and_rounds_off_it_do_not() -> None:
    def arms(shift: float) -> dict[str, list[Round]]:
        rng = np.random.default_rng(0)
        made: dict[str, list[Round]] = {}
        for arm, doubt in ((mismatched_image.RIGHT, 0.0), (mismatched_image.TARGET, 1.0)):
            made[arm] = []
            for at in range(900):
                h = float(rng.uniform(0.0, 1.5)) + doubt
                p = 1 / (1 + np.exp(-(1.5 - h - shift * doubt)))
                a = min(int(rng.geometric(1 - p)) - 1, 15)
                made[arm].append(Round(at, h, a, 15, a + 1, "docvqa", at % 30))
        return made

    for shift, verdict in ((0.0, STANDS), (1.5, REFUTED)):
        found = arms(shift)
        sample = mismatched_image.Resampled(one for own in found.values() for one in own)
        off = mismatched_image.estimate(mismatched_image.off_law(sample, found)["target"])
        assert mismatched_image.zero("", "", off).verdict == verdict


@pytest.mark.parametrize("name", ["zeroed-states", "text-only-states", "mismatched-image"])
def test_a_drafter_without_states_is_refused(name: str) -> None:
    probe = import_module(f"glance.probes.{name.replace('-', '_')}")
    with pytest.raises(ProbeError, match="random reads no states"):
        probe.run(setup(1, 2, RandomDrafter(VOCABULARY)))


def test_a_question_without_its_page_is_answered_anew() -> None:
    how = setup(1, 5)
    one = next(asked(how))
    alone = text_only_prompts.blind(how, one)
    assert (one.prompt.image_tokens > 0, alone.prompt.image_tokens) == (True, 0)
    assert alone.prompt.question == one.prompt.question
    assert len(alone.answer) > 1


@pytest.mark.parametrize(
    ("with_page", "alone", "came_to"),
    [(3.0, 1.0, [HOLDS, HOLDS]), (1.0, 3.0, [HOLDS, REFUTED]), (1.0, -2.0, [REFUTED, HOLDS])],
)
def test_the_law_with_and_without_a_page(
    monkeypatch: pytest.MonkeyPatch, with_page: float, alone: float, came_to: list[str]
) -> None:
    def replayed(_drafter: Any, _states: Any, one: Any, _shapes: Any) -> dict[str, list[Round]]:
        """Rounds that follow the law with the slope that is wanted."""
        b1 = with_page if one.prompt.image_tokens else alone
        rng = np.random.default_rng(one.page.index)
        made = []
        for at in range(400):
            h = float(rng.uniform(0.0, 1.0))
            p = 1 / (1 + np.exp(b1 * h - 1.0))
            a = min(int(rng.geometric(1 - p)) - 1, 15)
            made.append(Round(at, h, a, 15, a + 1, "docvqa", one.page.index))
        return {"": made}

    monkeypatch.setattr("glance.probes.altered.replay", replayed)
    outcome = text_only_prompts.run(setup(4, 3, tasks=("docvqa",)))
    said = {row[""]: (row["with the page"], row["text alone"]) for row in outcome.tables[0].rows}
    assert said["rounds"] == (1600, 1600)
    for found, b1 in zip(said["b1"], (with_page, alone), strict=True):
        assert abs(found.value - b1) < 0.5
    assert said["the paper's conditions"][0] == "hold"
    assert verdicts(outcome) == came_to


def test_too_few_rounds_for_a_law_settle_nothing() -> None:
    outcome = text_only_prompts.run(setup(1, 4))
    assert verdicts(outcome) == [OPEN, OPEN]
    said = {row[""]: (row["with the page"], row["text alone"]) for row in outcome.tables[0].rows}
    assert max(said["rounds"]) < 30
    assert said["b1"] == said["the paper's conditions"] == (None, None)


# --- copying
def sheet(text: str) -> Page:
    """A page with one line of print, 10 px a character."""
    glyphs = tuple(
        Glyph(char, (10.0 * at, 0.0, 10.0 * at + 10, 20.0), composed=False)
        for at, char in enumerate(text)
    )
    return replace(small(0), glyphs=glyphs)


def ids(text: str) -> list[int]:
    return list(tiny().tokenizer(text, add_special_tokens=False)["input_ids"])


def test_copy_runs_of_a_page_made_by_hand() -> None:
    drawn = sheet("Total due 12.50 EUR")
    answer = ids("It is 12.50 EUR, total dues")
    assert copy_runs.copy_runs(tiny(), answer, drawn) == [(6, 15), (18, 26)]  # "otal due"
    assert copy_runs.copy_runs(tiny(), ids("12.50 EUR"), drawn) == [(0, 9)]
    assert copy_runs.copy_runs(tiny(), ids("no 12. at all"), drawn) == []  # three are chance


@pytest.mark.parametrize(("at", "inside"), [(4, False), (5, True), (13, True), (14, False)])
def test_a_round_is_inside_where_its_first_drafted_token_is(at: int, inside: bool) -> None:
    assert copy_runs.in_run(Round(at, 0.0, 0, 1, 1), [(6, 15)]) == inside


def test_rounds_inside_and_outside_of_copy_runs(monkeypatch: pytest.MonkeyPatch) -> None:
    """A drafter that is right in the second half of every answer, which is a copy run."""

    class Half(OracleDrafter):
        def draft(self, state: Any, out: list[int], features: Tensor | None) -> DraftBlock:
            late = len(out) - state.prompt >= 20
            return super().draft(state, out, features) if late else DraftBlock(self._flat())

    def sure(*given: Any) -> Any:
        states = read(*given)
        return replace(states, entropy=[0.0] * len(states.entropy))

    monkeypatch.setattr(copy_runs, "read", sure)  # the law then has nothing to tell rounds apart
    monkeypatch.setattr(copy_runs, "copy_runs", lambda *_: [(20, 40)])
    outcome = copy_runs.run(told(2, 40, toy=lambda answer: Half(answer, VOCABULARY)))
    [counted] = rows(outcome, 0, task="docvqa")
    assert (counted["answers"], counted["tokens"], counted["copied %"]) == (2, 80, 50.0)
    assert (counted["runs"], counted["mean length"], counted["longest"]) == (2, 20.0, 20)
    [split] = rows(outcome, 1, task="docvqa")
    assert (split["in"], split["out"]) == (4, 38)
    assert split["tau in"].value == 10.0  # 16 and 4
    assert split["tau out"].value == 1.0
    assert split["law"] < 2.0
    assert split["a less ceiling"].value == pytest.approx(9.5 - split["law"])  # a: 15 and 4
    assert verdicts(outcome) == [HOLDS]


def test_copiers_are_told_the_page() -> None:
    text, out = ids("Total due 12.50 EUR"), [1, IMAGE, IMAGE, 3, *ids("is due 1")]
    for copier in (PageNgram(IMAGE, text), LongestMatch(IMAGE, text)):
        drafted = copier.draft(copier.start(out), out, None)
        assert list(drafted.token_ids[1:9]) == ids("2.50 EUR")
        assert IMAGE not in drafted.token_ids
    lost = [1, IMAGE, 3, *ids("zzq")]
    assert len(LongestMatch(IMAGE, text).draft(None, lost, None)) == 1  # the root alone


def test_the_longest_match_tells_places_apart() -> None:
    text, out = ids("Item 1: tea. Item 2: milk. No 2: soap"), [3, *ids("Item 2:")]
    state = PageNgram(IMAGE, text).start(out)
    assert PageNgram(IMAGE, text).draft(state, out, None).token_ids[2] == ids("s")[0]  # " 2:"
    assert LongestMatch(IMAGE, text).draft(None, out, None).token_ids[2] == ids("m")[0]


# --- shapes
def test_tau_of_an_oracle_by_node_budget() -> None:
    outcome = budget.run(told(2, 17))
    found = rows(outcome, task="docvqa")
    assert [row["nodes"] for row in found] == [1, 3, 7, 15, 31, 63]
    assert [row["tau"].value for row in found] == [2.0, 4.0, 8.0, 16.0, 16.0, 16.0]
    assert [row["gain"].value for row in found[1:]] == [2.0, 4.0, 8.0, 0.0, 0.0]
    assert verdicts(outcome) == [OPEN]


def test_block_sizes_end_with_the_whole_block() -> None:
    assert block_size.block_sizes(16) == [2, 4, 8, 16]
    assert block_size.block_sizes(12) == [2, 4, 8, 12]
    with pytest.raises(ProbeError, match="no shorter block"):
        block_size.run(setup(1, 2, RandomDrafter(VOCABULARY, block_size=2)))


def test_offsets_that_are_independent_coins_follow_the_law_at_every_block_size() -> None:
    def noisy(answer: list[int]) -> Drafter:
        return NoisyDrafter(answer, VOCABULARY, seed=sum(answer))

    outcome = block_size.run(told(8, 40, toy=noisy))
    for row in rows(outcome, 1):
        assert abs(row["difference"].value) < 0.1 * row["mean a"].value
    found = rows(outcome, task="all tasks")
    chains = [row["tau of the chain"].value for row in found]
    assert chains == sorted(chains)
    assert chains[0] == pytest.approx(1.7, abs=0.1)  # 1 + p
    assert all(row["tau of the tree"].value >= row["tau of the chain"].value for row in found[:2])


def test_offsets_that_hang_together_leave_the_law() -> None:
    """All of a block is right or nothing: mean a over 15 offsets says little about one."""

    class AllOrNothing(OracleDrafter):
        def draft(self, state: Any, out: list[int], features: Tensor | None) -> DraftBlock:
            right = int(torch.randint(2, (), generator=state.generator))
            return super().draft(state, out, features) if right else DraftBlock(self._flat())

    outcome = block_size.run(
        told(5, 40, toy=lambda answer: AllOrNothing(answer, VOCABULARY, seed=sum(answer)))
    )
    assert REFUTED in verdicts(outcome)[:3]


def test_a_drafter_that_doubts_itself_is_better_off_with_a_chain() -> None:
    class Doubting(OracleDrafter):
        """Ranks the truth first, by a hair: its trees are broad where they should be deep."""

        def draft(self, state: Any, out: list[int], features: Tensor | None) -> DraftBlock:
            logits = super().draft(state, out, features).logits
            logits[logits > 0] = 9.0
            logits[:, PAD + 1 : PAD + 5] = 8.9
            return DraftBlock(logits)

    outcome = boundary.run(told(2, 17, toy=lambda answer: Doubting(answer, VOCABULARY)))
    [three] = rows(outcome, where="all tasks", nodes=3)
    assert three["places"] == 64
    # 16, 15, ... 1 tokens are left: a chain of 3 commits 4 of them, a tree one deep 2
    assert three["chain"] == pytest.approx((13 * 4 + 3 + 2 + 1) / 16)
    assert three["tree"] == pytest.approx((15 * 2 + 1) / 16)
    assert three["tree less chain"].ci[1] < 0
    ranges = [row for row in rows(outcome, nodes=3) if row["where"].startswith("H ")]
    assert sum(row["places"] for row in ranges) == 64
    assert verdicts(outcome) == [REFUTED]


def test_a_drafter_that_is_right_or_close_is_better_off_with_a_tree() -> None:
    outcome = boundary.run(told(4, 17, toy=lambda answer: NoisyDrafter(answer, VOCABULARY)))
    [row] = rows(outcome, where="all tasks", nodes=63)
    assert row["tree less chain"].ci[0] > 0


# --- two heads
def test_a_head_that_has_learnt_gains() -> None:
    tasks = ("transcribe", "docvqa", "caption")
    after = told(2, 10, tasks=tasks)
    with pytest.raises(ProbeError, match="--retrained"):
        retrain_ocr.run(after)
    before = replace(after, drafter=Told({}, looks=True), retrained=after.drafter)
    outcome = retrain_ocr.run(before)
    [read_off] = rows(outcome, task="transcribe")
    assert (read_off["tau"].value, read_off["retrained"].value) == (1.0, 9.0)
    assert read_off["change"] == Estimate(8.0, (8.0, 8.0))
    assert read_off["headroom"].value == pytest.approx(0.0, abs=1e-3)  # all tasks are alike
    assert verdicts(outcome)[0] == HOLDS


def test_the_slope_of_gain_over_headroom() -> None:
    headroom = [np.full(11, x) for x in (0.0, 1.0, 2.0)]
    assert retrain_ocr.slope([(x, 1.0 + 0.5 * x) for x in headroom]) == Estimate(0.5, (0.5, 0.5))
    assert retrain_ocr.slope([(x, -x) for x in headroom]) == Estimate(-1.0, (-1.0, -1.0))
    assert retrain_ocr.slope([(x, x) for x in headroom[:2]]) is None


# --- the command
@pytest.mark.parametrize("name", NAMES)
def test_every_probe_says_first_what_would_refute_it(name: str) -> None:
    stated = import_module(f"glance.probes.{name.replace('-', '_')}").__doc__
    assert stated.startswith(f"{name}: ")
    assert "Claim" in stated
    assert "Refuted if" in stated or "Refuted for a size if" in stated


@pytest.fixture
def loaded(monkeypatch: pytest.MonkeyPatch) -> None:
    """The tiny target and a head with random weights, in place of the shipped ones."""
    monkeypatch.setattr("glance.targets.load.load_target", lambda _name: tiny())
    monkeypatch.setattr("glance.drafters.load.load_drafter", lambda *_: block_drafter())


@pytest.mark.usefixtures("loaded")
@pytest.mark.parametrize("name", NAMES)
def test_statement_then_tables_then_verdicts(
    name: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = tmp_path / "probe.json"
    options = ["--n", "2", "--tasks", *TASKS, "--max-tokens", "14", "--json", str(path)]
    if name == "retrain-ocr":
        options += ["--retrained", str(tmp_path)]
    assert main(["probe", name, *options]) == 0
    said = capsys.readouterr()
    assert "a trial, not a result" in said.err
    lines = said.out.splitlines()
    assert max(map(len, lines)) <= 100
    saved = json.loads(path.read_text("utf-8"))
    assert said.out.startswith(saved["stated"])
    assert "Rounds are replayed" in said.out
    titles = dict.fromkeys(row["table"] for row in saved["rows"])
    assert titles
    assert said.out.index("Claim") < min(said.out.index(title + "\n") for title in titles)
    shown = lines[-2 * len(saved["findings"]) :: 2]
    for line, finding in zip(shown, saved["findings"], strict=True):
        assert line == f"{finding['verdict']}: {finding['claim']}"
        assert finding["verdict"] in {HOLDS, STANDS, REFUTED, OPEN}
    assert saved["probe"] == name
    assert saved["drafters"][0]["name"] == "glance"
    assert len(saved["drafters"]) == 1 + (name == "retrain-ocr")
    assert saved["settings"]["tasks"] == list(TASKS)
    assert saved["provenance"]["command"]


@pytest.mark.usefixtures("loaded")
def test_what_cannot_be_probed_is_said(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["probe", "retrain-ocr", "--n", "1"]) == 2
    assert "--retrained" in capsys.readouterr().err
    with pytest.raises(SystemExit) as stop:
        main(["probe", "telepathy"])
    assert stop.value.code == 2
    assert "mismatched-image" in capsys.readouterr().err
