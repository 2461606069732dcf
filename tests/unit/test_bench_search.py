"""The search for the best settings: what a setting is worth, what is kept and what is read back.

Run: python -m pytest tests/unit/test_bench_search.py
"""

import json
from pathlib import Path
from types import SimpleNamespace

import pytest
import torch

from glance.bench_search import (
    BUDGETS,
    DEPTHS,
    FOUND,
    Found,
    PresetError,
    Tried,
    best,
    described,
    read_found,
    search,
    write_found,
)
from glance.config import AUTO, MOST_NODES, DecodeConfig
from glance.decode import Decoder
from glance.drafters.grown import TreeShape
from glance.drafters.load import NAMES, PLAIN
from glance.drafters.presets import PAPER, Preset, paper_shape, shape_for
from glance.metrics import verified_nodes
from glance.replay import lanes
from tests.costs import straight
from tests.reader import Growing, Reader
from tests.tiny_models import prompt, target

FAMILY = "qwen3_vl"
COSTS = straight([(8.0, 30.0), (9.0, 40.0)], [1.0, 2.0], contexts=[10, 200])
CONFIG = DecodeConfig(max_new_tokens=24)


@pytest.fixture(scope="module")
def tiny():
    return target(FAMILY, torch.float64)


@pytest.fixture(scope="module")
def asked(tiny) -> list:
    prompts = [prompt(FAMILY, seed, torch.float64) for seed in (0, 1)]
    plain = Decoder(tiny, None, CONFIG)
    return [(one, plain.generate(one).ids) for one in prompts]


def test_every_drafter_has_a_paper_setting() -> None:
    assert {preset.drafter for preset in PAPER.values()} == set(NAMES) - {PLAIN}
    assert all(PAPER[name].drafter == name for name in NAMES if name != PLAIN)
    assert paper_shape("eagle3") == TreeShape(depth=7, width=10, nodes=MOST_NODES)
    assert shape_for("eagle3", AUTO) == paper_shape("eagle3")
    assert shape_for("vispec", 100) == TreeShape(depth=3, width=8, nodes=100)
    assert shape_for("ngram", 100) is shape_for(PLAIN, 100) is None
    assert PAPER["eagle3-chain"].shape(63) == TreeShape(depth=3, width=1, nodes=63)
    assert PAPER["glance"].shape(63) is None


def test_a_block_drafter_is_tried_with_every_budget(tiny, asked) -> None:
    [(ask, answer), _] = asked
    drafter = Reader(answer)
    tried = list(search(tiny, "glance", lambda _: drafter, asked[:1], lambda _: COSTS))
    assert [one.preset for one in tried] == [Preset("glance", budget) for budget in BUDGETS]
    assert {one.revision for one in tried} == {drafter.revision}
    for one, settings in (
        (tried[2], DecodeConfig(node_budget=15, max_new_tokens=24)),
        (tried[-1], DecodeConfig(node_budget=AUTO, costs=COSTS, max_new_tokens=24)),
    ):
        lane = lanes(list(Decoder(tiny, drafter, settings).stream(ask)))["tree"]
        assert one.tau == pytest.approx(lane.finish["tau"], abs=1e-4)
        assert one.nodes == pytest.approx(verified_nodes(lane) / len(lane.rounds))
    ms = sum(
        COSTS.near(ask.input_ids.shape[1] + at)[15]
        for at in _roots(Decoder(tiny, drafter, DecodeConfig(15, 24)).stream(ask))
    )
    assert tried[2].tokens_s == pytest.approx(1000.0 * 23 / ms)


def _roots(lines) -> list[int]:
    """Where each round's root stands in the answer."""
    places = [0]
    for line in lines:
        if line["kind"] == "commit":
            places.append(places[-1] + len(line["tokens"]))
    return places[:-1]


def test_a_growing_drafter_is_tried_at_every_depth(tiny, asked) -> None:
    loaded: list[Preset] = []

    class Shaped(Growing):
        def __init__(self, preset: Preset) -> None:
            super().__init__(())
            self.shape = TreeShape(min(preset.depth, 6), 4, MOST_NODES)
            loaded.append(preset)

        def start(self, prompt_ids, positions=None):
            assert positions is not None  # of the prompt, as a live run hands them over
            known = {tuple(one.input_ids[0].tolist()): answer for one, answer in asked}
            self._answer = known[tuple(prompt_ids)]
            return super().start(prompt_ids, positions)

    tried = list(search(tiny, "eagle3", Shaped, asked, lambda _: COSTS))
    assert [(one.drafter, one.depth, one.width) for one in loaded] == [
        ("eagle3", depth, 10) for depth in DEPTHS
    ]
    assert [(one.preset.depth, one.preset.node_budget) for one in tried] == [
        (depth, budget) for depth in DEPTHS for budget in BUDGETS
    ]
    assert {one.preset.width for one in tried} == {10}
    found = best(tried)
    assert found.tokens_s == max(one.tokens_s for one in tried)
    assert found.tau > 1.5


def test_of_equals_the_first_is_best() -> None:
    equal = [Tried(Preset("ngram", budget), "", 1.0, 1.0, 5.0) for budget in (3, AUTO)]
    assert best(equal).preset.node_budget == 3
    with pytest.raises(PresetError, match="nothing to search"):
        best([])


def test_what_was_found_is_read_back_for_what_ran_alone(tiny, tmp_path: Path) -> None:
    path = tmp_path / "results" / "presets.json"
    assert read_found(path, tiny) == {}
    presets = {"glance": Preset("glance", AUTO), "eagle3": Preset("eagle3", 31, depth=3, width=10)}
    found = [Tried(preset, "a head", 2.0, 9.0, 70.0) for preset in presets.values()]
    write_found(path, found, {"target": described(tiny)})
    assert read_found(path, tiny) == {
        name: Found(preset, "a head") for name, preset in presets.items()
    }
    assert described(tiny)["device"] == "cpu"
    for part, other in (("revision", "other"), ("dtype", "float32"), ("device", "cuda:0")):
        write_found(path, found, {"target": {**described(tiny), part: other}})
        assert read_found(path, tiny) == {}, part


@pytest.mark.parametrize(
    "presets",
    [
        None,
        {"glance": {"revision": "", "node_budget": 15}},
        {"glance": {"node_budget": 15, "depth": None}},
        {"glance": {"revision": "", "node_budget": 16, "depth": None}},
        {"glance": {"revision": "", "node_budget": 15, "depth": 3}},
        {"eagle3": {"revision": "", "node_budget": 15, "depth": None}},
        {"chess": {"revision": "", "node_budget": 15, "depth": None}},
    ],
)
def test_a_damaged_file_is_one_sentence(presets, tiny, tmp_path: Path) -> None:
    path = tmp_path / "presets.json"
    path.write_text(json.dumps({"target": described(tiny), "presets": presets}))
    with pytest.raises(PresetError, match=r"damaged.*--search\.$"):
        read_found(path, tiny)


def test_the_file_that_ships_has_every_drafter_and_names_its_head() -> None:
    kept = json.loads(FOUND.read_text(encoding="utf-8"))["target"]
    assert (kept["name"], kept["dtype"], kept["device"]) == ("embedded", "float32", "cpu")
    ran = SimpleNamespace(name="embedded", revision=kept["revision"], dtype_name="float32")
    ran.device = torch.device("cpu")
    heads = {name: one.revision for name, one in read_found(FOUND, ran).items()}
    assert set(heads) == set(NAMES) - {PLAIN}
    assert heads["glance-chain"] == heads["glance"]
    assert len(set(heads.values())) == len(heads) - 1
