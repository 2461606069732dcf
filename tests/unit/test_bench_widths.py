"""Rounds replayed on known answers: they are the rounds of live decoding, at every node budget."""

from collections.abc import Callable
from functools import cache, partial

import pytest
import torch

from glance.accept import committed_on
from glance.bench_replay import CHAIN, Played, replay_rounds
from glance.bench_widths import Width, replay_answer, widths
from glance.budget import CostProfile
from glance.config import AUTO, MOST_NODES, DecodeConfig
from glance.decode import Decoder
from glance.drafters.base import Drafter
from glance.drafters.block import BlockDrafter
from glance.heads.block import BlockHead
from glance.heads.config import HeadConfig
from glance.metrics import committed_per_round
from glance.replay import RecordedLane, lanes
from glance.targets.base import Target
from glance.tree import RankedOffsets, best_chain, build_chain
from glance.types import Prompt
from tests import tiny_models
from tests.reader import BLOCK, Growing, Reader

FAMILY = "qwen3_vl"
BUDGETS = (3, 15, 63)
#: every further node costs a little more than the one before
COSTS = CostProfile(
    (10, 200),
    tuple(range(MOST_NODES + 1)),
    tuple(tuple(ms + 0.03 * n**2 for n in range(MOST_NODES + 1)) for ms in (8.0, 9.0)),
    (1.0, 2.0),
)


@cache
def target() -> Target:
    """In double precision, so that no near tie can part two passes."""
    return tiny_models.target(FAMILY, torch.float64)


def asked(seed: int) -> Prompt:
    return tiny_models.prompt(FAMILY, seed, torch.float64)


def block_drafter(chain: bool) -> BlockDrafter:
    torch.manual_seed(0)
    config = HeadConfig(
        hidden_size=64,
        intermediate_size=96,
        num_hidden_layers=2,
        num_attention_heads=4,
        num_key_value_heads=2,
        head_dim=16,
        vocab_size=tiny_models.VOCAB,
        num_target_layers=3,
        mask_token_id=tiny_models.PAD,
        target_layer_ids=(0, 2),
        block_size=BLOCK,
        target_revision=target().revision,
    )
    return BlockDrafter(BlockHead(config), target(), chain=chain)


def live_lane(drafter: Drafter, prompt: Prompt, config: DecodeConfig) -> RecordedLane:
    return lanes(list(Decoder(target(), drafter, config).stream(prompt)))[drafter.name]


def live(drafter: Drafter, prompt: Prompt, budget: int, most: int) -> list[int]:
    """Tokens of each round that the decoder takes."""
    config = DecodeConfig(node_budget=budget, max_new_tokens=most)
    return committed_per_round(live_lane(drafter, prompt, config))


@pytest.mark.parametrize(
    ("kind", "seed", "ended"),
    [("reader", 0, False), ("reader", 1, False), ("reader", 1, True), ("block", 0, False)],
)
def test_replayed_rounds_are_those_of_live_decoding(
    kind: str, seed: int, ended: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    prompt, plain = asked(seed), DecodeConfig(max_new_tokens=40)
    if ended:  # a token of the answer ends it, as an end token would
        free = Decoder(target(), None, plain).generate(prompt).ids
        monkeypatch.setattr(target(), "eos_ids", (free[30],))
    answer = list(Decoder(target(), None, plain).generate(prompt).ids)
    assert (len(answer) < 40) == ended

    def drafter(chain: bool) -> Drafter:
        return Reader(answer, chain) if kind == "reader" else block_drafter(chain)

    replayed = replay_answer(target(), drafter(False), prompt, answer, BUDGETS)
    assert list(replayed) == [CHAIN, *BUDGETS]
    assert replayed[CHAIN] == live(drafter(True), prompt, BLOCK - 1, 40)
    for budget in BUDGETS:
        assert replayed[budget] == live(drafter(False), prompt, budget, 40)
        assert sum(replayed[budget]) == len(answer) - 1
    if kind == "reader" and not ended:  # the comparison has something to compare
        assert len(set(map(tuple, replayed.values()))) == 4
        assert 1 < len(replayed[63]) < len(replayed[CHAIN]) < 39


def test_replayed_rounds_of_a_grown_tree_are_those_of_live_decoding() -> None:
    class Path(Growing):
        def draft(self, *given):
            return best_chain(super().draft(*given))

    ask = asked(1)
    answer = list(Decoder(target(), None, DecodeConfig(max_new_tokens=40)).generate(ask).ids)
    replayed = replay_answer(target(), Growing(answer), ask, answer, BUDGETS)
    assert replayed[CHAIN] == live(Path(answer), ask, 63, 40)
    for budget in BUDGETS:
        assert replayed[budget] == live(Growing(answer), ask, budget, 40)
    assert len(replayed[63]) < len(replayed[3]) < 39


@pytest.mark.parametrize("kind", [Reader, partial(Reader, chain=True), Growing])
def test_an_automatic_budget_is_replayed_as_it_is_lived(kind: Callable[..., Reader]) -> None:
    ask = asked(1)
    answer = list(Decoder(target(), None, DecodeConfig(max_new_tokens=40)).generate(ask).ids)
    played = replay_rounds(target(), kind(answer), ask, answer, (BLOCK - 1, AUTO), COSTS)
    config = DecodeConfig(node_budget=AUTO, costs=COSTS, max_new_tokens=40)
    lane = live_lane(kind(answer), ask, config)
    n = ask.input_ids.shape[1]
    expected, at = [], n
    for each in lane.rounds:
        nodes, tokens = each.lines["build"]["node_budget"], len(each.commit["tokens"])
        expected.append(Played(tokens, nodes, COSTS.near(at)[nodes]))
        at += tokens
    assert played[AUTO] == expected
    assert 0 < max(one.nodes for one in expected) < MOST_NODES
    assert len({one.nodes for one in expected}) > 1
    assert {one.nodes for one in played[BLOCK - 1]} == {BLOCK - 1}


def test_an_answer_of_the_prefill_token_alone_has_no_rounds() -> None:
    replayed = replay_answer(target(), Reader([5]), asked(0), [5], [15])
    assert replayed == {CHAIN: [], 15: []}
    assert widths({"caption": [replayed]}) == [Width(15, "caption", 0.0, None)]


def test_a_round_on_a_known_answer_ends_with_the_answer() -> None:
    offsets = RankedOffsets([[1], [2], [3]], [[0.0]] * 3, [0.0] * 3)
    chain = build_chain(9, offsets, 3)
    assert committed_on(chain, [1, 2, 3, 4, 5]) == 4  # three drafted and the bonus
    assert committed_on(chain, [1, 2, 3]) == 3  # no bonus after the last token
    assert committed_on(chain, [1, 2]) == 2
    assert committed_on(chain, [1, 8, 3]) == 2
    assert committed_on(chain, [7]) == 1


def test_widths_pool_rounds_and_average_the_grounded_tasks() -> None:
    by_task = {
        "transcribe": [{CHAIN: [2, 2], 15: [4]}, {CHAIN: [1, 1], 15: [1, 1]}],  # 2.0 over 1.5
        "docvqa": [{CHAIN: [1, 1], 15: [2]}],  # 2 over 1
        "infovqa": [{CHAIN: [2], 15: [2]}],
        "caption": [{CHAIN: [1, 1, 1], 15: [3]}],
    }
    assert [one.task for one in widths(by_task)] == list(by_task)  # chartqa was not measured
    *tasks, mean = widths({**by_task, "chartqa": [{CHAIN: [1] * 6, 15: [3, 3]}]})
    assert tasks[0] == Width(15, "transcribe", 2.0, 2.0 / 1.5)
    assert (mean.task, mean.budget, mean.tau) == ("grounded", 15, (2.0 + 2.0 + 2.0 + 3.0) / 4)
    assert mean.ratio == pytest.approx((4 / 3 * 2 * 1 * 3) ** (1 / 4))
    assert widths({"docvqa": []}) == []
