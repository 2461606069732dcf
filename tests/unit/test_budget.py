"""The cost-aware node budget: the fit, the profile, the greedy stop, the measurement."""

import json
import math
from itertools import pairwise

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from glance.budget import (
    STRETCH,
    BudgetError,
    CostProfile,
    fit_convex,
    recorded_costs,
    used_words,
)
from glance.clock import FakeClock
from glance.config import AUTO, MOST_NODES, DecodeConfig
from glance.decode import Decoder
from glance.drafters.grown import Children, TreeShape, grow
from glance.drafters.toy import NoisyDrafter, RandomDrafter
from glance.profiling import NODES, measure_costs, measuring_costs
from glance.replay import lanes
from glance.trace import dumps
from glance.tree import Costs, RankedOffsets, build, candidates, cut, paying_nodes, rank_offsets
from glance.types import CandidateTree
from tests.tiny_models import VOCAB, prompt, target

ms = st.floats(0.01, 100.0)
SIZES = (0, 3, 7, 15, 31, 63)
PROFILE = CostProfile(
    contexts=(100, 300),
    nodes=(0, 2, 5, 10, 15, 31, 63),
    verify_ms=(
        (10.0, 10.4, 11.0, 12.0, 13.0, 21.0, 37.0),
        (12.0, 12.6, 13.5, 15.0, 16.5, 26.1, 45.3),
    ),
    draft_ms=(2.0, 3.0),
)
LOGITS = st.lists(st.lists(st.floats(-6, 6), min_size=5, max_size=5), min_size=1, max_size=5).map(
    lambda rows: torch.tensor(rows, dtype=torch.float64)
)


def slopes(sizes, values) -> np.ndarray:
    return np.diff(values) / np.diff(sizes)


def is_convex_and_rising(sizes, values) -> bool:
    found = slopes(sizes, values)
    return bool((found >= -1e-9).all() and (np.diff(found) >= -1e-9).all())


# --- the fit ---


@given(st.lists(ms, min_size=6, max_size=6))
@settings(deadline=None)
def test_a_fit_is_convex_rising_positive_and_keeps_the_mean(measured):
    fitted = fit_convex(SIZES, measured)
    assert is_convex_and_rising(SIZES, fitted)
    assert fitted.min() > 0
    assert fitted.mean() == pytest.approx(np.mean(measured))


@given(ms, st.lists(st.floats(0.0, 3.0), min_size=5, max_size=5))
@settings(deadline=None)
def test_a_convex_rising_curve_is_its_own_fit(start, rises):
    curve = start + np.concatenate([[0.0], np.cumsum(np.sort(rises) * np.diff(SIZES))])
    assert fit_convex(SIZES, curve) == pytest.approx(curve)


@given(st.lists(ms, min_size=4, max_size=4), st.lists(st.floats(0, 20), min_size=3, max_size=3))
@settings(deadline=None)
def test_no_other_convex_rising_curve_has_slopes_that_are_nearer(measured, other):
    """Least squares over the slopes, weighted with their widths."""
    sizes = (0, 3, 7, 15)
    raw, widths = slopes(sizes, measured), np.diff(sizes)

    def miss(tried):
        return float((widths * (tried - raw) ** 2).sum())

    best = miss(slopes(sizes, fit_convex(sizes, measured)))
    assert best <= miss(np.sort(other)) * (1 + 1e-9) + 1e-9


def test_an_outlier_is_pooled_with_its_neighbours():
    assert fit_convex((0, 1, 2, 3), (10.0, 14.0, 12.0, 16.0)) == pytest.approx(
        [10.75, 11.75, 12.75, 16.75]
    )
    assert fit_convex((0, 1, 3), (9.0, 3.0, 6.0)) == pytest.approx([5.0, 5.0, 8.0])


# --- the profile ---


@given(
    st.lists(st.lists(ms, min_size=6, max_size=6), min_size=3, max_size=3),
    st.lists(ms, min_size=3, max_size=3),
    st.integers(1, 40_000),
)
@settings(deadline=None)
def test_costs_are_convex_at_any_context_and_survive_json(measured, drafts, context):
    profile = CostProfile.fitted((128, 512, 2048), SIZES, measured, drafts)
    cost = profile.round_ms(context)
    assert len(cost) == MOST_NODES + 1
    assert min(cost) > 0
    assert is_convex_and_rising(range(MOST_NODES + 1), np.array(cost) / max(cost))
    again = CostProfile.from_json(json.loads(dumps(profile.to_json())))
    assert again == profile
    assert again.round_ms(context) == cost


def test_costs_are_linear_between_contexts_and_past_them():
    at = {context: PROFILE.round_ms(context) for context in (100, 200, 300, 500)}
    assert at[100][0] == pytest.approx(12.0)
    assert at[100][15] == pytest.approx(15.0)
    assert at[100][39] == pytest.approx(2.0 + 25.0)  # halfway from 15 nodes to 63
    assert at[300][63] == pytest.approx(48.3)
    for n in (0, 7, 15, 40, 63):
        assert at[200][n] == pytest.approx((at[100][n] + at[300][n]) / 2)
        assert at[500][n] == pytest.approx(2 * at[300][n] - at[100][n])


@given(st.integers(0, 5000))
def test_a_stretch_of_contexts_costs_what_its_first_does(context):
    first = context - context % STRETCH
    assert PROFILE.near(context) == PROFILE.near(first) == tuple(PROFILE.round_ms(first))


def test_a_profile_of_one_context_holds_for_all():
    flat = CostProfile((64,), (0, MOST_NODES), ((5.0, 11.3),), (1.0,))
    assert flat.round_ms(1) == flat.round_ms(9000)


@pytest.mark.parametrize(
    "damage",
    [
        {"contexts": [300, 100]},
        {"contexts": []},
        {"nodes": [0, 15, 62]},
        {"nodes": [0]},
        {"verify_ms": [[1.0, 2.0, 3.0]]},
        {"verify_ms": [[1.0, 2.0], [1.0, 2.0, 3.0]]},
        {"verify_ms": [[0.0, 2.0, 3.0], [1.0, 2.0, 3.0]]},
        {"verify_ms": [[1.0, 2.0, math.nan], [1.0, 2.0, 3.0]]},
        {"draft_ms": [1.0, -1.0]},
        {"draft_ms": "fast"},
        {"draft_ms": None},
    ],
)
def test_a_damaged_profile_is_one_sentence(damage):
    with pytest.raises(BudgetError, match=r"cost profile.*\.$"):
        CostProfile.from_json({**PROFILE.to_json(), **damage})


@pytest.mark.parametrize("header", [{}, {"settings": None}, {"settings": {"costs": None}}])
def test_a_run_with_a_fixed_budget_has_no_profile(header):
    with pytest.raises(BudgetError, match="--budget auto"):
        recorded_costs([header])


@pytest.mark.parametrize("lanes", [[PROFILE.to_json()], {"glance": None}])
def test_damaged_profiles_of_lanes_are_one_sentence(lanes):
    settings = {"costs": PROFILE.to_json(), "lane_costs": lanes}
    with pytest.raises(BudgetError, match=r"cost profile.*\.$"):
        recorded_costs([{"settings": settings}])


# --- the greedy stop ---


EVERY = range(MOST_NODES + 1)


def rates(offsets: RankedOffsets, costs: Costs) -> dict[int, float]:
    """The run's expected tokens a millisecond with the n best prefixes, for each n it may have."""
    whole = build(0, offsets, 10_000)
    found = sorted(path_p(whole)[1:], reverse=True)[:MOST_NODES]
    sizes = {n for n in costs.sizes if n <= len(found)} | {len(found)}
    tokens, spent = costs.tokens + 1, costs.ms
    return {n: (tokens + sum(found[:n])) / (spent + costs.round_ms[n]) for n in sizes}


def path_p(tree: CandidateTree) -> list[float]:
    found = [1.0]
    for node in range(1, len(tree)):
        found.append(found[tree.parents[node]] * tree.p_draft[node])
    return found


#: What the rounds before have had: none yet, or any tokens for any time.
BEFORE = st.just((0, 0.0)) | st.tuples(st.integers(1, 500), st.floats(1.0, 5000.0))


@st.composite
def any_costs(draw) -> Costs:
    """Of any machine, with every size measured or some, and any rounds before."""
    measured, draft = draw(st.lists(ms, min_size=6, max_size=6)), draw(st.floats(0.0, 50.0))
    round_ms = CostProfile.fitted((100,), SIZES, [measured], [draft]).round_ms(100)
    return Costs(round_ms, draw(st.sampled_from([EVERY, SIZES])), *draw(BEFORE))


@given(LOGITS, any_costs())
@settings(max_examples=200, deadline=None)
def test_the_greedy_stop_is_the_best_of_all_sizes(logits, costs):
    offsets = rank_offsets(logits, MOST_NODES)
    tree = build(0, offsets, MOST_NODES, costs)
    everything = rates(offsets, costs)
    assert everything[len(tree) - 1] == pytest.approx(max(everything.values()), rel=1e-9)
    assert tree == build(0, offsets, len(tree) - 1)  # the same tree as under a fixed budget


@given(LOGITS)
@settings(deadline=None)
def test_expected_tokens_never_fall_with_size(logits):
    """So they cannot choose a size: where more nodes cost nothing more, all of them are taken."""
    offsets = rank_offsets(logits, MOST_NODES)
    tree = build(0, offsets, MOST_NODES, Costs([5.0] * (MOST_NODES + 1), EVERY))
    whole = build(0, offsets, MOST_NODES)
    assert len(tree) <= len(whole)
    assert sum(path_p(whole)) == pytest.approx(sum(path_p(tree)))


def test_a_block_worth_nothing_is_not_verified():
    doubtful = rank_offsets(torch.zeros(4, 1000), MOST_NODES)
    assert len(build(0, doubtful, MOST_NODES, Costs([10.0 + n for n in EVERY], EVERY))) == 1


def test_a_sure_block_is_taken_whole_at_any_context():
    sure = RankedOffsets(ids=[[1, 2]] * 15, log_p=[[-1e-4, -9.2]] * 15, entropy=[0.0] * 15)
    for context in (10, 100, 1000):
        tree = build(0, sure, MOST_NODES, Costs(PROFILE.round_ms(context), EVERY))
        assert set(tree.depths) == set(range(16))


def test_sure_and_unsure_rounds_in_turn_are_fastest_when_the_run_decides():
    """Each for itself, a sure round ends too early and an unsure one goes on for too long."""
    round_ms = [20.0 + 0.2 * n for n in EVERY]
    likely, else_ = math.log(0.93), math.log(0.06)
    sure = RankedOffsets([[1, 2]] * 15, [[likely, else_]] * 15, [0.0] * 15)
    flat = [math.log(0.3 * 0.8**rank) for rank in range(12)]
    unsure = RankedOffsets([list(range(12))] * 15, [flat] * 15, [0.0] * 15)

    def run(*, together: bool) -> tuple[float, list[int]]:
        tokens, spent, sizes = 0.0, 0.0, []
        for offsets in (sure, unsure) * 10:
            before = (tokens, spent) if together else (0, 0.0)
            tree = build(0, offsets, MOST_NODES, Costs(round_ms, EVERY, *before))
            sizes.append(len(tree) - 1)
            tokens, spent = tokens + sum(path_p(tree)), spent + round_ms[sizes[-1]]
        return tokens / spent, sizes

    (alone, own), (better, sizes) = run(together=False), run(together=True)
    assert sizes[-2] > own[-2]
    assert sizes[-1] < own[-1]
    assert better > alone * 1.003


def grown(logits: torch.Tensor) -> CandidateTree:
    """A tree grown level by level, the same children for all nodes of a level."""
    best = logits.log_softmax(-1).topk(3)
    offsets = [
        Children(*row) for row in zip(best.indices.tolist(), best.values.tolist(), strict=True)
    ]
    levels = iter(offsets[1:])

    def expand(ids: list[int], _parents: list[int]) -> list[Children]:
        return [next(levels)] * len(ids)

    return grow(0, offsets[0], expand, TreeShape(len(offsets) - 1, 3, MOST_NODES))


@given(LOGITS, any_costs())
@settings(max_examples=200, deadline=None)
def test_a_grown_tree_is_cut_at_the_best_of_all_sizes(logits, costs):
    tree = grown(logits)
    reached, last = path_p(tree), len(tree) - 1
    allowed = {n for n in costs.sizes if n <= last} | {last}
    every = {n: costs.rate(n, sum(reached[: n + 1])) for n in allowed}
    nodes = paying_nodes(tree, costs)
    assert every[nodes] == pytest.approx(max(every.values()), rel=1e-9)
    none = RankedOffsets([], [], [])
    assert candidates(0, tree, none, MOST_NODES, costs) == cut(tree, nodes)
    assert candidates(0, tree, none, MOST_NODES) == tree


# --- in the decoder ---


def test_auto_without_costs_and_costs_without_auto_are_refused():
    with pytest.raises(ValueError, match=r"needs costs.*measure_costs"):
        DecodeConfig(node_budget=AUTO)
    with pytest.raises(ValueError, match="node_budget"):
        DecodeConfig(node_budget="many", costs=PROFILE)
    with pytest.raises(ValueError, match="auto"):
        DecodeConfig(node_budget=15, costs=PROFILE)
    assert DecodeConfig(node_budget=AUTO, costs=PROFILE).most_nodes == MOST_NODES
    assert DecodeConfig(node_budget=7).most_nodes == 7


def auto_lines(drafter) -> list[dict]:
    config = DecodeConfig(node_budget=AUTO, costs=PROFILE, max_new_tokens=40)
    return list(Decoder(target("qwen3_vl"), drafter, config).stream(prompt("qwen3_vl")))


def test_every_round_says_which_budget_it_chose():
    plain = DecodeConfig(max_new_tokens=40)
    answer = Decoder(target("qwen3_vl"), None, plain).generate(prompt("qwen3_vl")).ids
    lane = lanes(auto_lines(NoisyDrafter(answer, VOCAB)))["noisy"]
    assert tuple(lane.ids) == answer
    chosen = [each.lines["build"]["node_budget"] for each in lane.rounds]
    assert chosen == [len(each.lines["build"]["tree"]["id"]) - 1 for each in lane.rounds]
    assert len(set(chosen)) > 1  # it depends on the block
    assert max(chosen) < MOST_NODES
    words = f"auto, {min(chosen)} to {max(chosen)} used"
    assert used_words({"node_budget": AUTO}, lane) == words
    assert used_words({"node_budget": 15}, lane) is None


def test_a_grown_tree_shrinks_to_what_pays():
    class Grown(RandomDrafter):
        name = "grown"

        def draft(self, _state, out, _features):
            """Two nodes that are nearly sure, and two that are not."""
            return CandidateTree(
                (out[-1], 1, 2, 3, 4),
                (-1, 0, 1, 2, 0),
                (0, 1, 2, 3, 1),
                (0, 0, 0, 0, 1),
                (1.0, 0.9, 0.9, 0.01, 0.002),
            )

    lane = lanes(auto_lines(Grown(VOCAB)))["grown"]
    assert {each.lines["build"]["node_budget"] for each in lane.rounds} == {2}
    assert {tuple(each.lines["build"]["tree"]["id"][1:]) for each in lane.rounds} == {(1, 2)}


def test_a_chain_shrinks_to_what_pays():
    answer = Decoder(target("qwen3_vl"), None, DecodeConfig(max_new_tokens=40)).generate(
        prompt("qwen3_vl")
    )
    lane = lanes(auto_lines(NoisyDrafter(answer.ids, VOCAB, chain=True)))["noisy"]
    assert tuple(lane.ids) == answer.ids
    for each in lane.rounds:
        tree = each.lines["build"]["tree"]
        assert tree["parent"] == list(range(-1, len(tree["id"]) - 1))
        assert each.lines["build"]["node_budget"] == len(tree["id"]) - 1
    chosen = {each.lines["build"]["node_budget"] for each in lane.rounds}
    assert len(chosen) > 1  # it depends on the block
    assert max(chosen) < 15


# --- the measurement ---


@pytest.mark.parametrize("drafter", [RandomDrafter(VOCAB), None])
@pytest.mark.parametrize("family", ["qwen3_vl", "llava"])
def test_measuring_takes_every_size_in_turn_and_leaves_no_trace(family, drafter, monkeypatch):
    tiny = target(family)
    forward, rows = tiny.forward, []

    def counted(request, ids, *given):
        rows.append((len(ids), request.length))
        return forward(request, ids, *given)

    monkeypatch.setattr(tiny, "forward", counted)
    profile = measure_costs(tiny, drafter, FakeClock(), repeats=2)
    short, longest = profile.contexts
    assert longest + MOST_NODES + 1 == tiny.max_context  # 512: nothing runs past its end
    assert rows[:2] == [(1, 0), (1, 0)]  # fill the caches
    untimed = NODES[:1]  # before each context's own
    turn = [(n + 1, context) for context in (short, longest) for n in (*untimed, *NODES)]
    assert rows[2:] == turn * 3  # the first turn only warms up
    # a fake clock says that all work takes as long
    assert {ms for row in profile.verify_ms for ms in row} == {1.0}
    assert profile.draft_ms == (1.0, 1.0)
    assert CostProfile.from_json(profile.to_json()) == profile


def test_measuring_can_be_left_after_each_piece(monkeypatch):
    tiny = target("qwen3_vl")
    forward, passes = tiny.forward, 0

    def counted(*given):
        nonlocal passes
        passes += 1
        return forward(*given)

    monkeypatch.setattr(tiny, "forward", counted)
    pieces, done = measuring_costs(tiny, RandomDrafter(VOCAB), FakeClock()), [0]
    for _ in range(4):
        next(pieces)
        assert not torch.is_inference_mode_enabled()
        done.append(passes)
    pieces.close()
    assert passes == done[-1]
    assert [after - before for before, after in pairwise(done)] == [2, *[1 + len(NODES)] * 3]


def test_measuring_hands_a_drafter_what_the_protocol_promises():
    seen: list[tuple[int, ...]] = []

    class Watching(RandomDrafter):
        taps = (0, 2)

        def draft(self, state, out, features):
            seen.append((len(out), *features.shape))
            return super().draft(state, out, features)

    short, longest = measure_costs(target("qwen3_vl"), Watching(VOCAB), repeats=1).contexts
    assert seen == [
        (short + 1, short, 2, 64),
        (short + 5, 4, 2, 64),
        (longest + 1, longest, 2, 64),
        (longest + 5, 4, 2, 64),
        *((context + ahead, 4, 2, 64) for context in (short, longest) for ahead in (9, 13)),
    ]
