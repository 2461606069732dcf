"""The bench: who runs when, what is counted, what a figure rests on, and when there is none.

A tiny random target and fake clocks; nothing here measures real time.
"""

import json
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
import torch

from glance.audit import reference_ids
from glance.bench import (
    REPEATS,
    characters,
    choose_threads,
    costs_by_threads,
    questions,
    run_task,
    take_turns,
)
from glance.bench_lanes import Contender, Threads, make_lanes
from glance.bench_rows import (
    BARE,
    GENERATE,
    GROUNDED,
    Measured,
    Sample,
    alarms,
    faster_baseline,
    geometric_mean,
    interval,
    means,
    medians,
    mismatches,
    near_ties,
    paired_bootstrap,
    plain_over,
    rows,
)
from glance.budget import CostProfile
from glance.cli.main import main
from glance.clock import FakeClock
from glance.config import AUTO, MOST_NODES, DecodeConfig
from glance.drafters.toy import NoisyDrafter, RandomDrafter
from glance.lane import STAGES
from glance.machine import machine
from glance.profiling import measure_costs
from tests.tiny_models import EOS, IMAGE, VOCAB, prompt, target

FAMILY = "qwen3_vl"
CONFIG = DecodeConfig(max_new_tokens=34)
ONE = Threads(1, 1)
LANES = ["bare", "ar", "generate", "noisy", "oracle"]
ROW = (
    "task drafter n tau tau_without_last chars_per_token chars_per_round "
    "target_passes drafter_passes nodes tokens rounds answer_tokens_mean ms_per_token "
    "ms_per_token_e2e speedup speedup_e2e speedup_ci oracle_share shares uncertified"
).split()


class Script:
    """A clock that reads what it is told."""

    def __init__(self, *readings: float) -> None:
        self._readings = iter(readings)

    def now(self) -> float:
        return next(self._readings)


class Slowing:
    """A clock on which the same work always takes a little longer than before."""

    def __init__(self) -> None:
        self._readings = 0

    def now(self) -> float:
        self._readings += 1
        return self._readings**1.5


@pytest.fixture(scope="module")
def answer() -> list[int]:
    ids = reference_ids(target(FAMILY), prompt(FAMILY), CONFIG)
    assert len(ids) == 34
    return ids


def sample(decode: float, prefill: float = 10.0, ids: tuple[int, ...] = (1, 2, 3)) -> Sample:
    return Sample(ids, (2,), 1, 1, 7, prefill, decode, {"draft": decode / 4, "verify": decode / 2})


def measured(decode: float, at: int | None = None, **changes: object) -> Measured:
    ms = {"draft": decode / 4, "verify": 3 * decode / 4}
    plain = Measured(at, 5, 6, (3, 1), 2, 2, 10, decode, decode + 10.0, ms)
    return replace(plain, **changes)


def test_lanes_take_turns_and_begin_in_rotating_order() -> None:
    order: list[str] = []
    timed = {
        name: lambda *_, name=name: order.append(name) or sample(1.0)
        for name in ("a", "b", "c", "d")
    }
    threads = dict.fromkeys(timed, ONE)
    for number in range(2):
        samples = take_turns(timed, prompt(FAMILY), [1], threads, number, repeats=2)
        assert [len(own) for own in samples.values()] == [2, 2, 2, 2]
    turns = ["".join(order[i : i + 4]) for i in range(0, 16, 4)]
    assert turns == ["abcd", "bcda", "cdab", "dabc"]


def test_each_phase_takes_its_faster_count_of_threads() -> None:
    spent = {1: (30.0, 5.0), 2: (20.0, 7.0)}  # prefill, decode
    asked: list[int] = []

    def run(_prompt: object, _answer: object, threads: Threads) -> Sample:
        asked.append(threads.decode)
        prefill, decode = spent[threads.decode]
        return sample(decode + (100.0 if len(asked) <= 2 else 0.0), prefill)  # cold at first

    assert choose_threads(run, prompt(FAMILY), [1], (1, 2)) == Threads(prefill=2, decode=1)
    assert asked == [1, 2] * REPEATS


def test_every_lane_gives_the_answer_and_counts_its_passes(answer: list[int]) -> None:
    contender = Contender("noisy", NoisyDrafter(answer, VOCAB), 15)
    lanes = make_lanes(target(FAMILY), [contender], CONFIG, FakeClock())
    assert list(lanes) == LANES
    given = {name: run(prompt(FAMILY), answer, ONE) for name, run in lanes.items()}
    assert {one.ids for one in given.values()} == {tuple(answer)}
    for name in ("bare", "ar", "generate"):
        assert given[name].committed == (1,) * 33
        assert (given[name].target_passes, given[name].drafter_passes) == (33, 0)
        assert given[name].nodes == 0
    # 15 drafted and one bonus a round: 16 + 16 + 1
    assert given["oracle"].committed == (16, 16, 1)
    assert (given["oracle"].target_passes, given["oracle"].drafter_passes) == (3, 0)
    assert given["oracle"].nodes == 3 * 15
    noisy = given["noisy"]
    assert 3 < len(noisy.committed) < 33
    assert noisy.target_passes == noisy.drafter_passes == len(noisy.committed)
    assert noisy.nodes == 15 * len(noisy.committed)
    assert sum(noisy.ms.values()) == pytest.approx(noisy.decode_ms, abs=1.5)
    assert given["bare"].decode_ms == given["bare"].prefill_ms == 1.0  # two readings, no more


def test_the_oracle_drafts_as_far_as_the_longest_block(answer: list[int]) -> None:
    blocks = {"long": 8, "short": 4}
    contenders = [Contender(n, RandomDrafter(VOCAB, block_size=b), 15) for n, b in blocks.items()]
    lanes = make_lanes(target(FAMILY), contenders, CONFIG, FakeClock())
    assert list(lanes) == ["bare", "ar", "generate", "long", "short", "oracle"]
    assert lanes["oracle"](prompt(FAMILY), answer, ONE).committed == (8, 8, 8, 8, 1)
    few = make_lanes(target(FAMILY), [replace(contenders[0], node_budget=3)], CONFIG, FakeClock())
    assert max(few["oracle"](prompt(FAMILY), answer, ONE).committed) == 4


def test_a_drafter_runs_under_several_names_with_budgets_of_their_own(answer: list[int]) -> None:
    guess = RandomDrafter(VOCAB)
    contenders = [Contender("few", guess, 3), Contender("many", guess, 40)]
    lanes = make_lanes(target(FAMILY), contenders, CONFIG, FakeClock())
    few, many = (lanes[name](prompt(FAMILY), answer, ONE) for name in ("few", "many"))
    assert few.ids == many.ids == tuple(answer)
    assert (few.nodes, many.nodes) == (3 * len(few.committed), 40 * len(many.committed))


def test_draws_are_not_measured() -> None:
    with pytest.raises(ValueError, match="temperature"):
        make_lanes(target(FAMILY), [], replace(CONFIG, temperature=0.5), FakeClock())


def test_generate_is_charged_for_decoding_alone() -> None:
    lanes = make_lanes(target(FAMILY), [], CONFIG, Script(0.0, 40.0, 50.0, 150.0))
    timed = lanes["generate"](prompt(FAMILY), [], ONE)
    assert (timed.prefill_ms, timed.decode_ms) == (40.0, 60.0)


def test_a_bare_pass_that_would_choose_otherwise_is_seen(answer: list[int]) -> None:
    lanes = make_lanes(target(FAMILY), [], CONFIG, FakeClock())
    other = [*answer[:5], (answer[5] + 1) % 100, *answer[6:]]
    assert lanes["bare"](prompt(FAMILY), other, ONE).ids != tuple(other)


def test_a_task_is_measured_from_end_to_end() -> None:
    before = torch.get_num_threads()
    said: list[str] = []
    prompts = [prompt(FAMILY, 0), prompt(FAMILY, 1)]
    config = DecodeConfig(max_new_tokens=18)
    guess = Contender("random", RandomDrafter(VOCAB), 15)
    result = run_task(target(FAMILY), [guess], prompts, config, (1,), FakeClock(), said.append)
    assert torch.get_num_threads() == before
    assert all(threads == ONE for threads in result.threads.values())
    assert {name: len(own) for name, own in result.lanes.items()} == dict.fromkeys(
        ("bare", "ar", "generate", "random", "oracle"), 2
    )
    turns = [text.split(": ")[1] for text in said if "turn" in text]
    assert turns[:5] == ["bare", "ar", "generate", "random", "oracle"]
    assert turns[5] == "ar"
    assert not mismatches({"task": result.lanes})
    [row] = [row for row in rows({"task": result.lanes}) if row.drafter == "oracle"]
    assert (row.tau, row.tau_without_last, row.tokens, row.rounds) == (8.5, 16.0, 34, 4)
    assert row.answer_tokens_mean == 18.0


def test_costs_are_measured_with_the_threads_that_they_are_for(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    threads: list[int] = []
    monkeypatch.setattr(torch, "set_num_threads", threads.append)
    monkeypatch.setattr(torch, "get_num_threads", lambda: 5)
    monkeypatch.setattr("glance.bench.measure_costs", lambda *_: threads[-1])
    assert costs_by_threads(target(FAMILY), None, (1, 2)) == {1: 1, 2: 2}
    assert threads == [1, 2, 5]


def test_a_lane_takes_the_costs_of_its_threads(
    answer: list[int], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(torch, "set_num_threads", lambda _: None)
    cheap, dear = (
        CostProfile((64,), (0, MOST_NODES), ((10.0, most),), (1.0,)) for most in (11.0, 999.0)
    )
    guess = Contender("random", RandomDrafter(VOCAB), AUTO, {1: dear, 2: cheap})
    lanes = make_lanes(target(FAMILY), [guess], CONFIG, FakeClock())
    tiny, forward = target(FAMILY), target(FAMILY).forward
    rows: list[int] = []
    monkeypatch.setattr(tiny, "forward", lambda *a: rows.append(len(a[1])) or forward(*a))
    most = []
    for decode in (1, 2):
        rows.clear()
        assert lanes["random"](prompt(FAMILY), answer, Threads(1, decode)).ids == tuple(answer)
        most.append(max(rows))
    assert most[0] < 16 < most[1]


def test_times_are_medians_over_repeats() -> None:
    samples = [sample(9.0, 1.0), sample(2.0, 50.0), sample(4.0, 3.0)]
    one = medians(samples, (1, 2, 3), characters=2)
    assert (one.decode_ms, one.end_to_end_ms, one.ms["draft"]) == (4.0, 10.0, 1.0)
    assert (one.first_difference, one.characters) == (None, 2)


@pytest.mark.parametrize(("ids", "at"), [((1, 2), 2), ((1, 2, 3, 4), 3), ((1, 9, 3), 1)])
def test_one_repeat_that_differs_is_a_difference(ids: tuple[int, ...], at: int) -> None:
    assert medians([sample(1.0), sample(1.0, ids=ids)], (1, 2, 3), 2).first_difference == at


@pytest.mark.parametrize(
    ("answer", "added"),
    [([1], 0), ([1, 2, 3], 2), ([1, 2, EOS], 1), ([IMAGE, 2, 3], 2)],
)
def test_characters_are_those_of_the_rounds(answer: list[int], added: int) -> None:
    assert characters(target(FAMILY), answer) == added  # a character a token, none for special ones


def test_rows_on_crafted_numbers() -> None:
    results = {
        "docvqa": {
            "bare": [measured(30.0), measured(10.0)],
            "ar": [measured(40.0), measured(20.0)],
            "generate": [measured(45.0), measured(25.0)],
            "glance": [measured(20.0), measured(10.0, committed=(4, 2, 2))],
            "oracle": [measured(8.0), measured(4.0)],
        }
    }
    assert faster_baseline(results["docvqa"]) == "ar"
    assert plain_over(results, BARE) == {"docvqa": 1.5}
    assert plain_over(results, GENERATE) == {"docvqa": pytest.approx(60 / 70)}
    row = rows(results)[3]
    assert (row.task, row.drafter, row.n) == ("docvqa", "glance", 2)
    assert (row.tokens, row.rounds, row.tau) == (12, 5, 2.4)
    assert row.tau_without_last == 3.0  # (3 + 4 + 2) tokens in 3 rounds
    assert (row.chars_per_token, row.chars_per_round) == (1.0, 2.4)  # 12 characters in all
    assert (row.target_passes, row.drafter_passes, row.nodes) == (4, 0.8, 4.0)
    assert (row.ms_per_token, row.ms_per_token_e2e) == (2.5, 50.0 / 12)
    assert (row.speedup, row.speedup_e2e) == (2.0, 80.0 / 50.0)
    assert row.speedup_ci == (2.0, 2.0)  # every prompt is twice as fast, however they are drawn
    assert row.oracle_share == pytest.approx(0.4)
    assert row.shares == {"draft": 0.25, "verify": 0.75}


def test_speed_is_over_the_faster_of_ar_and_generate() -> None:
    lanes = {
        "ar": [measured(40.0)],
        "generate": [measured(30.0, end_to_end_ms=70.0)],
        "glance": [measured(10.0)],
        "oracle": [measured(5.0)],
    }
    row = rows({"task": lanes})[2]
    assert (row.speedup, row.speedup_e2e) == (3.0, 2.5)  # each window has its own faster one
    assert row.speedup_ci is None  # one prompt says nothing of the others


def test_a_lane_with_another_answer_has_no_figures_and_is_named() -> None:
    lanes = {
        "ar": [measured(40.0), measured(40.0)],
        "generate": [measured(1.0), measured(1.0, at=3)],
        "glance": [measured(20.0, at=2), measured(20.0)],
        "oracle": [measured(5.0), measured(5.0)],
    }
    results = {"docvqa": lanes}
    by_name = {row.drafter: row for row in rows(results)}
    for name in ("generate", "glance"):
        row = by_name[name]
        assert {getattr(row, field) for field in ROW[3:]} == {None}
    assert by_name["oracle"].speedup == 8.0  # over ar: generate is out of the race
    assert [mean.drafter for mean in means(results)] == ["oracle"]
    first, second = mismatches(results)
    assert (first.drafter, first.prompt, first.at) == ("generate", 1, 3)
    assert "glance on docvqa: the answer to prompt 0 differs" in str(second)


@pytest.mark.parametrize(
    ("swap", "strays"), [(None, True), (0.2, True), (0.25, False), (0.5, False)]
)
def test_a_near_tie_is_told_by_the_margin_there(swap: float | None, strays: bool) -> None:
    best_two = [((1, 5), 4.0), ((2, 9), 0.25), ((3, 5), 4.0)]

    def told(*texts: tuple[int, ...]) -> Measured:
        return medians([sample(1.0, ids=ids) for ids in texts], (1, 2, 3), 2, best_two, swap)

    one = told((1, 2, 3), (1, 9, 3))
    assert (one.first_difference, one.margin, one.strays) == (1, 0.25, strays)
    assert one.near_tie is not strays
    third = told((1, 9, 3), (1, 7, 3))  # of one repeat no second choice: no tie explains it
    assert (third.first_difference, third.margin, third.strays) == (1, 0.25, True)
    for ids, at, margin in (((1, 2, 3, 4), 3, None), ((1,), 1, 0.25), ((1, 2, 5), 2, 4.0)):
        other = told(ids)
        assert (other.first_difference, other.margin, other.strays) == (at, margin, True)


def test_a_near_tie_keeps_its_figures_for_the_tokens_it_committed() -> None:
    tie = {"at": 2, "margin": 0.03, "near_tie": True}
    lanes = {
        "ar": [measured(40.0), measured(20.0)],
        "generate": [measured(45.0), measured(25.0)],
        "glance": [measured(20.0), measured(5.0, committed=(2,), **tie)],
        "oracle": [measured(8.0), measured(4.0)],
    }
    results = {"docvqa": lanes}
    row = rows(results)[2]
    assert row.ms_per_token == 25.0 / 6
    # plain decoding would have taken 40 ms, and 20 for twice as many tokens
    assert row.speedup == (40.0 + 10.0) / 25.0
    assert row.speedup_e2e == (50.0 + 20.0) / (30.0 + 15.0)
    assert row.speedup_ci == (2.0, 2.0)
    assert row.oracle_share == pytest.approx((8.0 + 2.0) / 25.0)
    assert not mismatches(results)
    [one] = near_ties(results)
    assert (one.drafter, one.prompt, one.at, one.margin) == ("glance", 1, 2, 0.03)
    assert str(one).endswith("at token 2, its two best logits 0.03 apart, a near tie.")


def test_a_time_below_zero_gives_no_figure() -> None:
    noisy = {"ar": [measured(8.0), measured(8.0)], "oracle": [measured(1.0), measured(1.0)]}
    noisy["generate"] = [measured(-20.0), measured(2.0)]  # short answers on a busy machine
    assert rows({"task": noisy})[0].speedup is None
    assert means({"task": noisy}) == []
    noisy["generate"] = [measured(-1.0), measured(2.0)]
    [oracle] = means({"task": noisy})
    assert (oracle.speedup, oracle.speedup_ci) == (0.5, None)


def test_an_answer_of_the_prefill_token_alone_has_no_decode_window() -> None:
    alone = measured(7.0, committed=(), target_passes=0, drafter_passes=0)
    row = rows({"task": {"ar": [alone], "glance": [alone], "oracle": [alone]}})[1]
    assert (row.tau, row.ms_per_token, row.speedup, row.oracle_share) == (0.0, None, None, None)


def test_a_drafter_that_is_hardly_ever_right_is_named() -> None:
    def lane(committed: tuple[int, ...]) -> list[Measured]:
        return [measured(8.0, committed=committed)] * 2

    results = {"docvqa": {"lost": lane((1,) * 10), "few": lane((1,) * 9), "fine": lane((2,) * 10)}}
    [words] = alarms(results, ["lost", "few", "fine"])
    assert words.startswith("Drafter disconnected: lost has 1.00 tokens a round over 20 rounds")
    assert alarms(results, ["fine"]) == []
    pooled = {**results, "caption": {"lost": lane((3,)), "few": lane((1,)), "fine": lane((1,))}}
    [words] = alarms(pooled, ["lost", "few", "fine"])
    assert "few has" in words


def test_prompts_are_resampled_as_pairs() -> None:
    own = np.random.default_rng(1).uniform(1.0, 100.0, 20)
    assert interval(paired_bootstrap(2.0 * own, own)) == pytest.approx((2.0, 2.0))


def test_the_bootstrap_on_two_prompts_has_three_outcomes() -> None:
    draws = paired_bootstrap([10.0, 30.0], [10.0, 10.0])
    assert draws.shape == (10_000,)
    values, counts = np.unique(draws, return_counts=True)
    assert values.tolist() == [1.0, 2.0, 3.0]
    assert counts / 10_000 == pytest.approx([0.25, 0.5, 0.25], abs=0.02)
    assert interval(draws) == (1.0, 3.0)
    assert (paired_bootstrap([10.0, 30.0], [10.0, 10.0]) == draws).all()
    assert (paired_bootstrap([10.0, 30.0], [10.0, 10.0], number=1) != draws).any()


def test_means_over_tasks_are_geometric() -> None:
    def lanes(own: float) -> dict[str, list[Measured]]:
        return {
            "ar": [measured(8.0)] * 2,
            "glance": [measured(own)] * 2,
            "oracle": [measured(1.0)] * 2,
        }

    glance, oracle = means({"transcribe": lanes(2.0), "docvqa": lanes(8.0)})
    assert glance.nodes == 5.0
    assert (glance.tau, glance.speedup, glance.oracle_share) == pytest.approx((2.0, 2.0, 0.25))
    assert glance.speedup_ci == pytest.approx((2.0, 2.0))
    assert oracle.speedup == pytest.approx(8.0)
    assert geometric_mean([1.0, 4.0]) == 2.0


def test_means_over_the_grounded_tasks() -> None:
    def lanes(own: float, rounds: tuple[int, ...]) -> dict[str, list[Measured]]:
        plain, drafted = measured(8.0), measured(own, committed=rounds)
        return {"ar": [plain] * 2, "glance": [drafted] * 2, "oracle": [measured(1.0)] * 2}

    results = {
        "transcribe": lanes(2.0, (4,)),
        "docvqa": lanes(8.0, (2, 2)),
        "infovqa": lanes(2.0, (4,)),
        "caption": lanes(1.0, (1, 1, 1, 1)),
    }
    assert means(results)[0].grounded_speedup is None  # chartqa was not measured
    [glance, _oracle] = means({**results, "chartqa": lanes(8.0, (2, 2))})
    assert glance.grounded_tau == 3.0
    assert glance.grounded_speedup == pytest.approx(2.0)
    assert glance.grounded_speedup_ci == pytest.approx((2.0, 2.0))
    assert glance.tau == pytest.approx(13 / 5)
    assert glance.speedup == pytest.approx(128 ** (1 / 5))


def test_questions_are_of_the_task_and_one_a_page(monkeypatch: pytest.MonkeyPatch) -> None:
    from glance.documents.dataset import page

    asked: list[str] = []
    tiny = target(FAMILY)
    monkeypatch.setattr(
        type(tiny), "prompt", lambda _self, _image, text, _history: asked.append(text)
    )
    assert len(list(questions(tiny, "docvqa", 2))) == 2
    first, second = page("test", 0), page("test", 1)
    assert asked[0] == next(q.question for q in first.questions if q.task == "docvqa")
    assert asked[1] in [q.question for q in second.questions if q.task == "docvqa"]


def test_a_busy_machine_is_refused_before_anything_loads(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr("os.getloadavg", lambda: (1.51, 0.0, 0.0))
    monkeypatch.setattr("glance.targets.load.load_target", lambda _: pytest.fail("loaded"))
    assert main(["bench"]) == 2
    said = capsys.readouterr()
    assert said.out == ""
    assert "load 1.51" in said.err
    assert "--force" in said.err


@pytest.fixture
def tiny(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The tiny target, its prompts and a drafter that guesses, in place of the shipped ones."""

    def asked(_target: object, _task: str, n: int, _split: str = "test") -> Iterator[object]:
        return (prompt(FAMILY, seed) for seed in range(n))

    class Guess(RandomDrafter):
        def __init__(self, name: str) -> None:
            super().__init__(VOCAB, chain=name == "glance-chain")
            self.name = name

    monkeypatch.setattr("glance.targets.load.load_target", lambda _: target(FAMILY))
    monkeypatch.setattr(
        "glance.drafters.load.load_drafter",
        lambda name, _target, _head, _shape: Guess(name),
    )
    monkeypatch.setattr("glance.bench_search.FOUND", tmp_path / "presets.json")
    monkeypatch.setattr("glance.bench.questions", asked)
    monkeypatch.setattr("glance.cli.bench.cores", lambda: 1)


@pytest.mark.usefixtures("tiny")
def test_a_forced_run_is_marked(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr("os.getloadavg", lambda: (7.0, 0.0, 0.0))
    path = tmp_path / "bench.json"
    options = ["--n", "1", "--max-tokens", "3", "--tasks", "docvqa", "--drafters", "ar"]
    assert main(["bench", "--force", "--json", str(path), *options]) == 0
    assert "busy" in capsys.readouterr().err
    saved = json.loads(path.read_text("utf-8"))
    assert (saved["forced"], saved["load"]) == (True, 7.0)
    assert [row["drafter"] for row in saved["rows"]] == ["bare", "ar", "generate", "oracle"]


@pytest.mark.usefixtures("tiny")
def test_an_automatic_budget_is_in_the_json_with_its_costs(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr("os.getloadavg", lambda: (0.0, 0.0, 0.0))
    monkeypatch.setattr(
        "glance.bench.measure_costs",
        lambda *given: measure_costs(*given, clock=FakeClock(), repeats=1),
    )
    path = tmp_path / "bench.json"
    options = ["--n", "1", "--max-tokens", "4", "--tasks", "docvqa", "--drafters", "glance"]
    assert main(["bench", "--budget", "auto", "7", "--json", str(path), *options]) == 0
    saved = json.loads(path.read_text("utf-8"))
    drafter, fixed = saved["drafters"]
    assert (drafter["name"], drafter["setting"]) == ("glance@auto", "given")
    assert drafter["node_budget"] == AUTO
    assert list(drafter["costs"]) == ["1"]
    assert CostProfile.from_json(drafter["costs"]["1"]).nodes[-1] == MOST_NODES
    assert (fixed["name"], fixed["drafter"], fixed["node_budget"]) == ("glance@7", "glance", 7)
    assert fixed["costs"] == {}
    assert [row["drafter"] for row in saved["rows"][3:5]] == ["glance@auto", "glance@7"]
    docvqa, overall = saved["budgets"]
    assert (docvqa["task"], docvqa["auto"], docvqa["fixed"]) == (
        "docvqa",
        "glance@auto",
        "glance@7",
    )
    auto, fixed = saved["rows"][3:5]
    assert docvqa["ratio"] == pytest.approx(fixed["ms_per_token"] / auto["ms_per_token"])
    assert overall["ratio"] == pytest.approx(docvqa["ratio"])
    assert "automatic node budget over that with a fixed one" in capsys.readouterr().out


@pytest.mark.usefixtures("tiny")
def test_tables_and_json(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr("os.getloadavg", lambda: (0.25, 0.0, 0.0))
    path = tmp_path / "bench.json"
    monkeypatch.setattr("glance.bench_lanes.clock_for", lambda _: Slowing())
    monkeypatch.setattr("glance.bench.choose_threads", lambda *_: ONE)
    options = ["--n", "2", "--max-tokens", "4", "--json", str(path)]
    options += ["--widths", "1", "63", "--tasks", *GROUNDED]
    options += ["--drafters", "glance", "glance-chain"]
    assert main(["bench", *options]) == 0
    out = capsys.readouterr().out
    assert max(map(len, out.splitlines())) <= 100
    assert out.count("\nglance-chain ") == 10  # two tables a task, the settings, the means
    assert "times a bare one-row pass" in out
    saved = json.loads(path.read_text("utf-8"))
    assert (saved["forced"], saved["load"]) == (False, 0.25)
    assert [list(row) for row in saved["rows"]] == [ROW] * 24
    names = ["bare", "ar", "generate", "glance", "glance-chain", "oracle"]
    assert [row["drafter"] for row in saved["rows"]] == names * 4
    assert [row["task"] for row in saved["rows"][::6]] == list(GROUNDED)
    budgets = {one["name"]: one["node_budget"] for one in saved["drafters"]}
    assert budgets == {"glance": 63, "glance-chain": 15}  # the paper's
    own, chain = saved["rows"][3:5]
    assert (own["nodes"], chain["nodes"]) == (63.0, 15.0)
    assert own["chars_per_round"] == pytest.approx(own["tau"] * own["chars_per_token"])
    assert all(row["n"] == 2 and row["tau"] >= 1.0 for row in saved["rows"])
    low, high = saved["rows"][3]["speedup_ci"]
    assert low <= saved["rows"][3]["speedup"] <= high
    shares = saved["rows"][3]["shares"]
    assert tuple(shares) == STAGES
    assert sum(shares.values()) == pytest.approx(1.0)
    assert list(saved["plain_over_bare"]) == list(saved["plain_over_generate"]) == list(GROUNDED)
    assert [mean["drafter"] for mean in saved["means"]] == names[3:]
    assert saved["means"][0]["grounded_tau"] == own["tau"]  # every task has the same prompts here
    tasks = [*GROUNDED, "grounded"]
    assert [(one["budget"], one["task"]) for one in saved["widths"]] == [
        (budget, task) for budget in (1, 63) for task in tasks
    ]
    assert all(one["tau"] >= 1.0 and one["ratio"] > 0.0 for one in saved["widths"])
    lines = out.splitlines()
    at = lines.index("tau of the tree over that of the chain, by node budget")
    assert lines[at + 1].split() == ["task", "1", "63"]
    assert [line.split()[0] for line in lines[at + 2 : at + 7]] == tasks
    assert saved["mismatches"] == saved["near_ties"] == []
    assert set(saved["threads"]["docvqa"]["ar"]) == {"prefill", "decode"}
    assert saved["target"]["dtype"] == "float32"
    assert saved["provenance"]["machine"] == machine()
    assert {"torch", "transformers"} <= set(saved["provenance"]["versions"])


@pytest.mark.usefixtures("tiny")
def test_a_difference_is_named_and_is_no_success(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    from glance.audit import BROKEN

    monkeypatch.setattr("os.getloadavg", lambda: (0.0, 0.0, 0.0))
    monkeypatch.setattr("glance.decode.Verifier", BROKEN["positions"])
    options = ["--n", "1", "--max-tokens", "12", "--tasks", "docvqa", "--drafters", "glance"]
    assert main(["bench", *options]) == 1
    out = capsys.readouterr().out
    assert "glance on docvqa: the answer to prompt 0 differs from ar's" in out
    [_settings, first, _stages] = [line for line in out.splitlines() if line.startswith("glance  ")]
    assert set(first.split()[1:]) == {"-"}


@pytest.mark.usefixtures("tiny")
def test_a_drafter_that_is_not_connected_is_named(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr("os.getloadavg", lambda: (0.0, 0.0, 0.0))
    monkeypatch.setattr(RandomDrafter, "taps", (0, 2))  # and pays them no attention
    path = tmp_path / "bench.json"
    options = ["--n", "1", "--max-tokens", "30", "--tasks", "docvqa", "--json", str(path)]
    assert main(["bench", *options, "--drafters", "glance-chain"]) == 0
    [words] = json.loads(path.read_text("utf-8"))["warnings"]
    assert words.startswith("Drafter disconnected: glance-chain has 1.0")
    assert words in capsys.readouterr().out


def test_widths_without_a_drafter_are_refused_before_anything_loads(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr("glance.targets.load.load_target", lambda _: pytest.fail("loaded"))
    assert main(["bench", "--widths", "15", "--drafters", "ar"]) == 2
    assert "needs a drafter" in capsys.readouterr().err


def test_the_machine_has_a_name() -> None:
    known = machine()
    assert known["cpu"]
    assert known["cores"] >= 1
