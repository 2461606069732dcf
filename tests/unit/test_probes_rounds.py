"""What all probes rest on: rounds replayed with any states, and intervals over pages.

python -m pytest tests/unit/test_probes_rounds.py
"""

from dataclasses import dataclass, replace
from functools import cache
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
import torch
from torch import Tensor

from glance.config import DecodeConfig
from glance.decode import Decoder
from glance.drafters.base import Drafter
from glance.drafters.block import BlockDrafter
from glance.drafters.ngram import NgramDrafter
from glance.drafters.toy import AlwaysWrong, OracleDrafter
from glance.forced import States, read
from glance.heads.block import BlockHead
from glance.heads.config import HeadConfig
from glance.law import Law
from glance.law_rounds import recorded
from glance.metrics import committed_per_round
from glance.probes.asked import Asked
from glance.probes.outcome import HOLDS, OPEN, REFUTED, STANDS, Estimate, ProbeError, above, zero
from glance.probes.resampled import Resampled, estimate, groups
from glance.probes.rounds import Round, Shape, law_rounds, replay
from glance.replay import lanes
from glance.targets.base import Target
from glance.tree import build_chain, rank_offsets
from glance.types import CandidateTree, DraftBlock, Prompt
from tests import tiny_models

FAMILY = "qwen3_vl"
TOKENS = 30


@cache
def target() -> Target:
    """In double precision, so that no near tie can part two passes."""
    return tiny_models.target(FAMILY, torch.float64)


def prompt(seed: int = 0) -> Prompt:
    return tiny_models.prompt(FAMILY, seed, torch.float64)


def asked(prompt_: Prompt) -> Asked:
    answer = Decoder(target(), None, DecodeConfig(max_new_tokens=TOKENS)).generate(prompt_).ids
    about: Any = SimpleNamespace(task="docvqa", index=7)
    return Asked(about, about, prompt_, list(answer))


def block_drafter(chain: bool = False) -> BlockDrafter:
    """A head with random weights, which guesses well enough at nothing but reads the states."""
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
        block_size=8,
        target_revision=target().revision,
    )
    return BlockDrafter(BlockHead(config), target(), chain=chain)


class Reader:
    """Ranks the true token 1st to 5th, as the sum of all states that it was given would have it."""

    name = "reader"
    taps = (0, 2)
    passes = 1
    revision = ""
    block_size = 8

    def __init__(self, answer: list[int]) -> None:
        self._answer = answer
        generator = torch.Generator().manual_seed(3)
        self._matrix = torch.randn(2 * 64, 7, generator=generator, dtype=torch.float64)

    def start(self, prompt_ids: list[int], _positions: Tensor | None = None) -> Any:
        return SimpleNamespace(prompt=len(prompt_ids), length=0, total=torch.zeros(128).double())

    def draft(self, state: Any, out: list[int], features: Tensor | None) -> DraftBlock:
        assert features is not None
        state.length += len(features)
        assert state.length == len(out) - 1
        state.total = state.total + features.flatten(1).sum(0)
        lean = (state.total @ self._matrix).sin().tolist()  # -1 ... 1 an offset
        done = len(out) - state.prompt
        logits = torch.zeros(7, tiny_models.VOCAB, dtype=torch.float64)
        for offset, token_id in enumerate(self._answer[done : done + 7]):
            for other in range(4):
                logits[offset, (token_id + 7 + other) % 150] = 5.0 - 0.4 * other
            logits[offset, token_id] = 5.1 + lean[offset]
        return DraftBlock(logits)


class Grown(Reader):
    """The same as trees of its own: a chain, listed best first."""

    name = "grown"

    def draft(self, state: Any, out: list[int], features: Tensor | None) -> CandidateTree:
        offsets = rank_offsets(super().draft(state, out, features).logits, most=1)
        return build_chain(out[-1], offsets, 7)


@dataclass
class Misled:
    """A drafter that is given the states of another run in live decoding."""

    inner: Drafter
    states: States

    def __post_init__(self) -> None:
        self.name, self.taps, self.passes = "misled", self.inner.taps, self.inner.passes
        self.block_size, self.revision = self.inner.block_size, ""

    def start(self, prompt_ids: list[int], _positions: Tensor | None = None) -> Any:
        inner = self.inner.start(self.states.prompt_ids, self.states.positions)
        return SimpleNamespace(prompt=len(prompt_ids), inner=inner, absorbed=0)

    def draft(
        self, state: Any, out: list[int], _features: Tensor | None
    ) -> DraftBlock | CandidateTree:
        shown = [*self.states.prompt_ids, *out[state.prompt :]]
        assert self.states.features is not None
        new = self.states.features[state.absorbed : len(shown) - 1]
        state.absorbed = len(shown) - 1
        return self.inner.draft(state.inner, shown, new)


@pytest.mark.parametrize("kind", ["block", "chain", "reader", "grown", "ngram"])
def test_replayed_rounds_are_those_of_live_decoding(kind: str) -> None:
    one = asked(prompt())
    drafter: Drafter = {
        "block": block_drafter,
        "chain": lambda: block_drafter(chain=True),
        "reader": lambda: Reader(one.answer),
        "grown": lambda: Grown(one.answer),
        "ngram": lambda: NgramDrafter(tiny_models.IMAGE),
    }[kind]()
    states = read(target(), one.prompt, one.answer, drafter.taps)
    rounds = replay(drafter, states, one, {"": Shape(5)})[""]
    config = DecodeConfig(node_budget=5, max_new_tokens=TOKENS)
    lines = list(Decoder(target(), drafter, config).stream(one.prompt))
    lane = lanes(lines)[drafter.name]
    assert [made.committed for made in rounds] == committed_per_round(lane)
    assert [made.accepted for made in rounds] == [round_.accepted for round_ in lane.rounds]
    header = {
        "target": {"name": "tiny", "revision": ""},
        "drafter": {"name": drafter.name, "revision": "", "block_size": drafter.block_size},
        "settings": {"node_budget": 5, "temperature": 0.0},
        "image": {"sha256": "page"},
    }
    wanted = recorded([[{"kind": "header", **header}, *lines]]).rounds  # as the law reads a trace
    columns = law_rounds(rounds)
    assert columns.room.tolist() == wanted.room.tolist()
    assert columns.entropy == pytest.approx(wanted.entropy, abs=1e-4)  # traces have four digits
    assert {(made.task, made.page) for made in rounds} == {("docvqa", 7)}


@pytest.mark.parametrize("kind", ["block", "reader"])
@pytest.mark.parametrize("states", ["other image", "zeros"])
def test_wrong_states_change_acceptance_and_not_the_answer(kind: str, states: str) -> None:
    one = asked(prompt())
    drafter: Drafter = block_drafter() if kind == "block" else Reader(one.answer)
    right = read(target(), one.prompt, one.answer, drafter.taps)
    assert right.features is not None
    if states == "zeros":
        wrong = replace(right, features=torch.zeros_like(right.features))
    else:
        pixels = prompt(1).model_inputs["pixel_values"]
        other = replace(
            one.prompt, model_inputs={**one.prompt.model_inputs, "pixel_values": pixels}
        )
        wrong = read(target(), other, one.answer, drafter.taps)
        assert not torch.equal(wrong.features, right.features)  # type: ignore[arg-type]
    rounds = replay(drafter, wrong, one, {"": Shape(5)})[""]
    config = DecodeConfig(node_budget=5, max_new_tokens=TOKENS)
    lines = list(Decoder(target(), Misled(drafter, wrong), config).stream(one.prompt))
    lane = lanes(lines)["misled"]
    assert lane.ids == one.answer
    assert [made.committed for made in rounds] == committed_per_round(lane)
    if kind == "reader":
        known = replay(drafter, right, one, {"": Shape(5)})[""]
        assert [made.committed for made in known] != [made.committed for made in rounds]


def test_states_may_come_from_a_prompt_of_another_length() -> None:
    one = asked(prompt())
    ids = one.prompt.input_ids[:, -8:]  # the words after the image, alone
    bare = Prompt(ids, {"mm_token_type_ids": torch.zeros_like(ids)}, "", image_tokens=0)
    drafter = block_drafter()
    states = read(target(), bare, one.answer, drafter.taps)
    assert states.features is not None
    assert len(states.features) == len(ids[0]) + TOKENS - 1
    rounds = replay(drafter, states, one, {"": Shape(5)})[""]
    lines = Decoder(target(), Misled(drafter, states), DecodeConfig(5, TOKENS)).stream(one.prompt)
    lane = lanes(list(lines))["misled"]
    assert lane.ids == one.answer
    assert [made.committed for made in rounds] == committed_per_round(lane)


def test_an_answer_of_the_prefill_token_alone_has_no_rounds() -> None:
    one = replace(asked(prompt()), answer=[5])
    states = read(target(), one.prompt, one.answer, (0,))
    assert states.entropy == []
    assert replay(OracleDrafter([5], 160), states, one, {"": Shape(5)})[""] == []
    with pytest.raises(ProbeError, match="no rounds"):
        Resampled([])


def test_shapes_of_one_draft() -> None:
    one = asked(prompt())
    states = read(target(), one.prompt, one.answer, ())
    oracle = OracleDrafter(one.answer, tiny_models.VOCAB)
    shapes = {
        "whole": Shape(15),
        "narrow": Shape(2),
        "cut": Shape(15, offsets=3),
        "chain": Shape(15, chain=True, offsets=7),
    }
    rounds = replay(oracle, states, one, shapes)
    committed = {name: [made.committed for made in own] for name, own in rounds.items()}
    assert committed["whole"] == [16, 13]  # 29 tokens follow the prefill token
    assert committed["narrow"] == [3] * 9 + [2]
    assert committed["cut"] == [4] * 7 + [1]
    assert committed["chain"] == [8, 8, 8, 5]
    assert [made.accepted for made in rounds["chain"]] == [7, 7, 7, 5]
    assert [made.room for made in rounds["narrow"]] == [2] * 10
    everywhere = replay(oracle, states, one, shapes, every_place=True)["whole"]
    assert [made.at for made in everywhere] == list(range(29))
    assert [made.committed for made in everywhere] == [min(16, 29 - at) for at in range(29)]
    wrong = replay(AlwaysWrong(one.answer, tiny_models.VOCAB), states, one, shapes)
    assert [made.committed for made in wrong["whole"]] == [1] * 29


def test_shapes_of_a_tree_that_the_drafter_grew() -> None:
    #                     root, best, its best child, second
    grown = CandidateTree((1, 2, 4, 3), (-1, 0, 1, 0), (0, 1, 2, 1), (0, 0, 0, 1), (1.0,) * 4)
    assert Shape(2).build(1, grown).token_ids == (1, 2, 4)
    assert Shape(3).build(1, grown) == grown
    assert Shape(3, chain=True).build(1, grown).token_ids == (1, 2, 4)
    assert Shape(1, chain=True).build(1, grown).token_ids == (1, 2)
    with pytest.raises(ProbeError, match="no shorter block"):
        Shape(3, offsets=1).build(1, grown)


# --- intervals
def rounds_of(task: str, page: int, committed: list[int], entropy: float = 0.0) -> list[Round]:
    return [Round(0, entropy, c - 1, 15, c, task, page) for c in committed]


def test_figures_pool_rounds_and_draw_whole_pages() -> None:
    rounds = rounds_of("docvqa", 1, [1, 1]) + rounds_of("docvqa", 2, [4])
    sample = Resampled(rounds)
    taus = sample.tau(rounds)
    assert len(taus) == 1001
    assert taus[0] == 2.0
    assert set(taus[1:]) == {1.0, 2.0, 4.0}  # page 1 twice, both, page 2 twice
    assert (sample.accepted(rounds) == taus - 1).all()
    assert estimate(taus) == Estimate(2.0, (1.0, 4.0))
    # what both arms share goes together: every draw has the same difference
    better = [one._replace(committed=one.committed + 1) for one in rounds]
    assert estimate(sample.tau(better) - taus) == Estimate(1.0, (1.0, 1.0))


def test_one_page_has_no_interval_and_no_page_has_no_figure() -> None:
    rounds = rounds_of("docvqa", 1, [1, 3]) + rounds_of("caption", 2, [2])
    sample = Resampled(rounds)
    assert estimate(sample.tau(rounds[:2])) == Estimate(2.0, None)
    assert estimate(sample.tau([])) is None


def test_laws_of_draws_follow_their_pages() -> None:
    rng = np.random.default_rng(1)
    rounds = []
    for page in range(40):
        h = float(rng.uniform(0.0, 2.0))
        p = 1 / (1 + np.exp(-(2.0 - 1.5 * h)))
        for _ in range(50):
            accepted = min(int(rng.geometric(1 - p)) - 1, 15)
            rounds.append(Round(0, h, accepted, 15, accepted + 1, "docvqa", page))
    sample = Resampled(rounds)
    laws = sample.laws(rounds)
    assert (laws[0].b0, laws[0].b1) == pytest.approx((2.0, 1.5), abs=0.2)
    assert len({law.b0 for law in laws}) > 900
    off = estimate(sample.accepted(rounds) - sample.expected(rounds, laws))
    assert off is not None
    assert off.value == pytest.approx(0.0, abs=0.1)
    sure = sample.expected(rounds, laws, sure=True)
    assert sure[0] == pytest.approx(float(laws[0].expected(np.zeros(1), 15)[0]))
    with pytest.raises(ProbeError, match="only 29 rounds"):
        sample.laws(rounds[:29])
    half = [one for one in rounds if one.page == 0]
    assert np.isnan(sample.expected(half, [Law(0.0, 0.0)] * 1001)).any()  # draws without page 0


def test_groups_are_tasks_and_what_they_have_in_common() -> None:
    both = rounds_of("docvqa", 1, [1]) + rounds_of("caption", 1, [1])
    assert list(groups(both[:1])) == ["docvqa"]
    assert list(groups(both)) == ["docvqa", "caption", "all tasks"]
    more = groups([*both, *rounds_of("chartqa", 2, [1])])
    assert more["grounded"] == {"docvqa", "chartqa"}
    assert more["all tasks"] == {"docvqa", "caption", "chartqa"}


@pytest.mark.parametrize(
    ("ci", "over", "nought"),
    [
        ((0.1, 0.3), HOLDS, REFUTED),
        ((-0.3, -0.1), REFUTED, REFUTED),
        ((-0.1, 0.1), OPEN, STANDS),
        (None, OPEN, OPEN),
    ],
)
def test_verdicts(ci: tuple[float, float] | None, over: str, nought: str) -> None:
    figure = Estimate(0.2, ci)
    assert above("claim", "figure", figure).verdict == over
    assert zero("claim", "figure", figure).verdict == nought
    assert above("claim", "figure", None).verdict == zero("claim", "figure", None).verdict == OPEN
    assert above("claim", "figure", Estimate(0.9, (0.85, 0.95)), 0.8).verdict == HOLDS


def test_a_law_is_never_worse_than_none() -> None:
    """Entropy is high and says nothing: a search from a steep start would not come back."""
    rounds = [
        Round(at, 3.0 + at % 5 / 10, 15 * (at // 5 % 2), 15, 16, "docvqa", at % 10)
        for at in range(200)
    ]
    sample = Resampled(rounds)
    expected = sample.expected(rounds, sample.laws(rounds))
    assert expected[0] == pytest.approx(sample.accepted(rounds)[0], abs=0.5)
