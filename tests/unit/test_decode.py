"""The stream: its lines, its counts, its times, and how it ends."""

import gc
import math
import weakref
from itertools import pairwise

import pytest
import torch

import glance.autoregressive
from glance.clock import FakeClock
from glance.config import DecodeConfig
from glance.decode import Decoder
from glance.drafters.toy import AlwaysWrong, NoisyDrafter, OracleDrafter, RandomDrafter
from glance.replay import lanes
from glance.trace import dumps
from glance.tree import DrafterError
from glance.types import CandidateTree, DraftBlock, Prompt, PromptError
from tests.reader import Blind, Reader
from tests.tiny_models import VOCAB, prompt, target

MOST = 40


@pytest.fixture(scope="module")
def answer() -> tuple[int, ...]:
    return (
        Decoder(target("qwen3_vl"), None, DecodeConfig(max_new_tokens=80))
        .generate(prompt("qwen3_vl"))
        .ids
    )


def lines_of(drafter, **settings) -> list[dict]:
    config = DecodeConfig(**{"max_new_tokens": MOST, **settings})
    return list(Decoder(target("qwen3_vl"), drafter, config).stream(prompt("qwen3_vl"), "r1"))


class Watching(OracleDrafter):
    """Asserts what the protocol promises about features, at every call."""

    taps = (0, 2)

    def __init__(self, inner, seen: list[int]) -> None:
        self.inner, self.seen = inner, seen
        self.block_size = inner.block_size

    def start(self, prompt_ids, positions=None):
        inner = self.inner.start(prompt_ids, positions)
        return {"inner": inner, "absorbed": 0, "n": len(prompt_ids)}

    def draft(self, state, out, features):
        rows = features.shape[0]
        assert features.shape[1:] == (2, 64)
        assert rows == state["n"] if state["absorbed"] == 0 else 1 <= rows <= self.block_size
        state["absorbed"] += rows
        assert state["absorbed"] == len(out) - 1
        self.seen.append(rows)
        return self.inner.draft(state["inner"], out, features)


@pytest.mark.parametrize("kind", [AlwaysWrong, NoisyDrafter, OracleDrafter])
def test_features_arrive_once_for_every_committed_position(answer, kind):
    seen: list[int] = []
    lines = lines_of(Watching(kind(answer, VOCAB), seen))
    committed = [len(line["tokens"]) for line in lines if line["kind"] == "commit"]
    assert seen[1:] == committed[:-1]  # a+1 rows after a round that committed a+1 tokens
    if kind is OracleDrafter:
        assert 16 in committed
    if kind is AlwaysWrong:
        assert set(committed) == {1}


@torch.inference_mode()
def test_features_are_those_of_a_plain_pass(answer):
    """Taps of accepted rows, gathered from the tree, equal taps of the same text read plainly."""
    collected: list[torch.Tensor] = []

    class Keeping(NoisyDrafter):
        taps = (0, 1, 2)

        def draft(self, state, out, features):
            collected.append(features)
            return super().draft(state, out, features)

    tiny, ask = target("qwen3_vl", torch.float64), prompt("qwen3_vl", dtype=torch.float64)
    config = DecodeConfig(max_new_tokens=MOST)
    result = Decoder(tiny, Keeping(answer, VOCAB), config).generate(ask)
    request, _, plain = tiny.prefill(ask, taps=(0, 1, 2))
    rows = [plain]
    for token_id in result.ids:
        _, one = tiny.forward(request, torch.tensor([token_id]), torch.tensor([0]), None, (0, 1, 2))
        request.length += 1
        rows.append(one)
    ours = torch.cat(collected)
    assert (ours - torch.cat(rows)[: len(ours)]).abs().max() < 1e-9


def test_a_drafter_that_is_not_connected_is_named_once():
    """The text is right all the same, so nothing else would tell."""
    tiny, ask = target("qwen3_vl", torch.float64), prompt("qwen3_vl", dtype=torch.float64)
    config = DecodeConfig(max_new_tokens=60)
    said = Decoder(tiny, None, config).generate(ask).ids
    told = {}
    for drafter in (Reader(said, chain=True), Blind(said, chain=True), AlwaysWrong(said, VOCAB)):
        lines = list(Decoder(tiny, drafter, config).stream(ask))
        assert tuple(lanes(lines)[drafter.name].ids) == said
        told[type(drafter)] = [line for line in lines if line["kind"] == "notice"]
        if told[type(drafter)]:
            [notice] = told[type(drafter)]
            before = lines[lines.index(notice) - 1]
            assert (before["kind"], before["r"], before["t"]) == ("commit", 20, notice["t"])
            assert (notice["lane"], notice["level"]) == ("chain", "warning")
            assert notice["code"] == "disconnected"
            assert "chain has 1.00 tokens a round over 20 rounds" in notice["text"]
    assert [len(notices) for notices in told.values()] == [0, 1, 0]


def test_lines_of_a_drafting_lane(answer):
    lines = lines_of(NoisyDrafter(answer, VOCAB))
    assert [line["seq"] for line in lines] == list(range(len(lines)))
    assert {(line["run"], line["lane"]) for line in lines} == {("r1", "noisy")}
    kinds = [line["kind"] for line in lines]
    rounds = (len(lines) - 2) // 5
    verbs = ["draft", "build", "verify", "accept", "commit"]
    assert kinds == ["prefill", *verbs * rounds, "finish"]
    assert [line["r"] for line in lines[1:-1]] == [r for r in range(1, rounds + 1) for _ in verbs]
    assert all(left["t"] <= right["t"] for left, right in pairwise(lines))
    assert all(line["ms"] >= 0 for line in lines[:-1])


def test_rounds_tell_one_story(answer):
    """Tree, verdict and tokens of each round agree with each other and with the cache."""
    lines = lines_of(NoisyDrafter(answer, VOCAB))
    n = prompt("qwen3_vl").input_ids.shape[1]
    assert lines[0]["cache"] == n
    lane = lanes(lines)["noisy"]
    out = [lane.prefill["root"]["id"]]
    for round_ in lane.rounds:
        tree = round_.lines["build"]["tree"]
        verify, verdict = round_.lines["verify"], round_.lines["accept"]["verdict"]
        rows = len(tree["id"])
        assert tree["id"][0] == out[-1]
        assert {len(values) for values in tree.values()} == {rows}
        assert len(verify["posterior"]) == len(verify["p_target"]) == len(verify["h"]) == rows
        assert rows <= round_.lines["build"]["node_budget"] + 1
        path = verdict["path"]
        whole = [*(tree["id"][node] for node in path[1:]), verdict["bonus"]["id"]]
        assert whole == [verify["posterior"][node] for node in path]
        tokens = round_.commit["tokens"]
        kept = [token["id"] for token in tokens]
        assert kept == whole[: len(kept)]
        assert [t["h"] for t in tokens] == [verify["h"][node] for node in path[: len(kept)]]
        assert [t["origin"] for t in tokens] == (["drafted"] * (len(path) - 1) + ["bonus"])[
            : len(kept)
        ]
        has_child = path[-1] in tree["parent"]
        for token in tokens:
            assert token.get("corrected", False) == (token["origin"] == "bonus" and has_child)
            assert len(token["top"]) == 5
            assert token["top"][0][0] == token["id"]
            assert token["margin"] >= 0
        out += kept
        assert round_.commit["cache"] == n + len(out) - 1
    assert out == list(answer[:MOST])
    finish = lane.finish
    assert finish["tokens"] == MOST
    assert finish["rounds"] == finish["target_passes"] == finish["drafter_passes"]
    assert finish["tau"] == pytest.approx((MOST - 1) / finish["rounds"], abs=1e-3)
    assert finish["partial"] >= 1


@pytest.mark.parametrize("kind", ["noisy", "random"])
def test_a_request_does_not_depend_on_those_before_it(answer, kind):
    drafter = NoisyDrafter(answer, VOCAB) if kind == "noisy" else RandomDrafter(VOCAB)
    first, second = (
        [line["tree"] for line in lines_of(drafter) if line["kind"] == "build"] for _ in range(2)
    )
    assert first == second


def test_lines_of_the_plain_lane(answer):
    lines = lines_of(None)
    assert [line["kind"] for line in lines] == ["prefill", *["commit"] * (MOST - 1), "finish"]
    assert all(len(line["tokens"]) == 1 for line in lines[1:-1])
    assert {token["origin"] for line in lines[1:-1] for token in line["tokens"]} == {"target"}
    assert lines[-1]["tau"] == 1.0
    assert lines[-1]["drafter_passes"] == 0
    assert tuple(lanes(lines)["ar"].ids) == answer[:MOST]


def test_entropies_and_margins_of_both_lanes_agree(answer):
    plain = lanes(lines_of(None))["ar"].tokens
    drafted = lanes(lines_of(NoisyDrafter(answer, VOCAB)))["noisy"].tokens
    for left, right in zip(plain, drafted, strict=True):
        assert left["h"] == pytest.approx(right["h"], abs=2e-4)
        assert left["margin"] == pytest.approx(right["margin"], abs=2e-4)
        assert 0 <= left["h"] <= math.log(VOCAB)


def test_lines_are_plain_and_small(answer):
    lines = lines_of(OracleDrafter(answer, VOCAB))
    sizes: dict[int, int] = {}
    for line in lines:
        text = dumps(line)  # raises on anything that is not plain
        sizes[line.get("r", 0)] = sizes.get(line.get("r", 0), 0) + len(text.encode())
    # 15 nodes, up to 16 committed tokens with the best five of each
    assert max(sizes.values()) < 5000


def test_a_usual_round_takes_at_most_4_kb(answer):
    lines = lines_of(NoisyDrafter(answer, VOCAB))
    in_rounds = [line for line in lines if "r" in line]
    total = sum(len(dumps(line).encode()) + 1 for line in in_rounds)
    assert total / lines[-1]["rounds"] <= 4000


def test_a_fake_clock_measures_every_stage():
    clock = FakeClock(step=1.0)
    config = DecodeConfig(max_new_tokens=10)
    drafter = RandomDrafter(VOCAB)
    lines = list(Decoder(target("qwen3_vl"), drafter, config, clock).stream(prompt("qwen3_vl")))
    finish = lines[-1]
    assert lines[0]["ms"] == 1.0
    per_stage = [finish["ms"][stage] for stage in ("draft", "build", "verify", "accept", "commit")]
    assert per_stage == [float(finish["rounds"])] * 5
    assert sum(finish["ms"].values()) <= finish["decode_ms"]
    # every reading is accounted for, but the one that opens and the two that close the window
    rounds = [line for line in lines if "r" in line]
    told = sum(line["ms"] + line.get("other", 0.0) for line in rounds)
    assert told == pytest.approx(sum(finish["ms"].values()))
    assert finish["decode_ms"] - told <= 2.0
    rate = finish["tok_s"]["decode"]
    assert rate == pytest.approx(1000 * (finish["tokens"] - 1) / finish["decode_ms"], rel=1e-3)


def test_the_readers_own_time_is_left_out():
    clock = FakeClock(step=1.0)
    config = DecodeConfig(max_new_tokens=10)

    def decode_ms(pause: int) -> float:
        last: dict = {}
        stream = Decoder(target("llava"), None, config, clock).stream(prompt("llava"))
        for line in stream:
            last = line
            for _ in range(pause):
                clock.now()
        return last["decode_ms"]

    assert decode_ms(0) == decode_ms(50)


def test_starting_the_drafter_is_on_the_clock():
    clock = FakeClock(step=1.0)

    class Slow(RandomDrafter):
        def start(self, prompt_ids, positions=None):
            for _ in range(100):
                clock.now()
            return super().start(prompt_ids, positions)

    config = DecodeConfig(max_new_tokens=4)
    decoder = Decoder(target("llava"), Slow(VOCAB), config, clock)
    lines = list(decoder.stream(prompt("llava")))
    assert lines[-1]["decode_ms"] > 100
    assert lines[-1]["ms"]["other"] > 100
    first = next(line for line in lines if line["kind"] == "commit")
    assert first["other"] > 100


def test_plain_decoding_pays_for_no_instrumentation(monkeypatch):
    clock = FakeClock(step=1.0)
    measure = glance.autoregressive.row_stats

    def slow(logits):
        for _ in range(1000):
            clock.now()
        return measure(logits)

    monkeypatch.setattr(glance.autoregressive, "row_stats", slow)
    config = DecodeConfig(max_new_tokens=4)
    lines = list(Decoder(target("llava"), None, config, clock).stream(prompt("llava")))
    assert lines[-1]["decode_ms"] < 1000
    assert clock.now() > 3000


@pytest.mark.parametrize("stop_after", [1, 2, 7])
def test_closing_a_stream_frees_the_cache_and_writes_nothing(answer, stop_after):
    tiny = target("qwen3_vl")
    requests = []
    prefill = tiny.prefill

    def watched(*args):
        result = prefill(*args)
        requests.append(weakref.ref(result[0].cache))
        return result

    tiny.prefill = watched
    try:
        drafter = NoisyDrafter(answer, VOCAB)
        stream = Decoder(tiny, drafter, DecodeConfig(max_new_tokens=MOST)).stream(
            prompt("qwen3_vl")
        )
        for _ in range(stop_after):
            next(stream)
        stream.close()
    finally:
        del tiny.prefill
    assert list(stream) == []
    gc.collect()
    assert requests[0]() is None


def test_the_callers_grad_mode_is_left_alone():
    stream = Decoder(target("llava"), RandomDrafter(VOCAB)).stream(prompt("llava"))
    next(stream)
    next(stream)
    assert torch.is_grad_enabled()
    assert not torch.is_inference_mode_enabled()
    stream.close()


def test_a_prompt_that_does_not_fit_is_refused_before_any_work():
    long = Prompt(torch.zeros(1, 600, dtype=torch.long), {}, "", 0)
    with pytest.raises(PromptError):
        next(Decoder(target("llava"), None).stream(long))


def test_generate_drains_the_stream(answer):
    lines = lines_of(NoisyDrafter(answer, VOCAB))
    config = DecodeConfig(max_new_tokens=MOST)
    result = Decoder(target("qwen3_vl"), NoisyDrafter(answer, VOCAB), config).generate(
        prompt("qwen3_vl")
    )
    assert list(result.ids) == lanes(lines)["noisy"].ids
    assert result.text == lanes(lines)["noisy"].text
    assert result.stats["kind"] == "finish"


@pytest.mark.parametrize("seed", range(3))
def test_sampled_text_is_the_same_with_and_without_a_drafter(answer, seed):
    """One draw a committed token: the same seed gives the same text."""
    config = DecodeConfig(max_new_tokens=30, temperature=0.8, seed=seed)
    tiny, ask = target("qwen3_vl", torch.float64), prompt("qwen3_vl", dtype=torch.float64)
    plain = Decoder(tiny, None, config).generate(ask)
    assert plain.ids != answer[:30]
    for drafter in (
        NoisyDrafter(plain.ids, VOCAB),
        OracleDrafter(plain.ids, VOCAB),
        RandomDrafter(VOCAB),
    ):
        assert Decoder(tiny, drafter, config).generate(ask).ids == plain.ids


class Grown(RandomDrafter):
    """Grows its own tree, right or wrong."""

    def __init__(self, tree) -> None:
        super().__init__(VOCAB)
        self.tree = tree

    def draft(self, _state, out, _features):
        return self.tree(out[-1])


def test_a_drafter_may_grow_its_own_tree(answer):
    drafter = Grown(lambda root: CandidateTree((root, 1), (-1, 0), (0, 1), (0, 0), (1.0, 0.5)))
    lines = lines_of(drafter)
    assert tuple(lanes(lines)["random"].ids) == answer[:MOST]
    drafts = [line for line in lines if line["kind"] == "draft"]
    assert {(line["size"], tuple(line["h_draft"])) for line in drafts} == {(1, ())}


def test_a_grown_tree_is_cut_at_the_node_budget(answer):
    def wide(root):
        return CandidateTree(
            (root, 1, 2, 3), (-1, 0, 0, 1), (0, 1, 1, 2), (0, 0, 1, 0), (1.0, 0.5, 0.3, 0.4)
        )

    lines = lines_of(Grown(wide), node_budget=2)
    assert tuple(lanes(lines)["random"].ids) == answer[:MOST]
    trees = [line["tree"] for line in lines if line["kind"] == "build"]
    assert {tuple(tree["id"][1:]) for tree in trees} == {(1, 2)}
    assert {tuple(tree["parent"]) for tree in trees} == {(-1, 0, 0)}


def test_a_wrong_tree_is_refused():
    drafter = Grown(lambda root: CandidateTree((root + 1,), (-1,), (0,), (0,), (1.0,)))
    with pytest.raises(DrafterError, match="root"):
        lines_of(drafter)


def test_another_vocabulary_is_refused():
    with pytest.raises(DrafterError, match="tokens"):
        lines_of(Grown(lambda _: DraftBlock(torch.zeros(3, VOCAB - 1))))


@pytest.mark.parametrize("taps", [(1, 0), (0, 0), (3,), (-2,)])
def test_layers_that_do_not_exist_are_refused(taps):
    drafter = RandomDrafter(VOCAB)
    drafter.taps = taps
    with pytest.raises(DrafterError, match="taps"):
        Decoder(target("llava"), drafter)
