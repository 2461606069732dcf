"""The shipped target and its head, on pages never trained on: the claim that users see."""

import pytest

from glance.config import DecodeConfig
from glance.decode import Generation
from glance.documents.dataset import page
from glance.drafters.base import Drafter
from glance.drafters.load import TEST_NAMES, load_drafter, ready_names
from glance.drafters.toy import AlwaysWrong, NoisyDrafter, OracleDrafter, RandomDrafter
from glance.targets.base import Target
from glance.targets.load import load_target
from glance.types import Prompt
from tests.contract.lossless import Reference, check, generated

#: logits of a trained model are larger than those of the random ones, and so is their rounding
LOGIT_BOUND = 1e-3
PAGES = 8

Case = tuple[Prompt, Reference]


@pytest.fixture(scope="module")
def shipped() -> Target:
    return load_target("embedded")


@pytest.fixture(scope="module")
def cases(shipped) -> list[Case]:
    """Questions of every kind, and what `generate()` answers."""
    found = []
    for index in range(PAGES):
        drawn = page("test", index)
        question = drawn.questions[index % len(drawn.questions)].question
        ask = shipped.prompt(drawn.image.convert("RGB"), question)
        found.append((ask, generated(shipped, ask, DecodeConfig())))
    return found


def drafter(name: str, target: Target, answer: tuple[int, ...]) -> Drafter | None:
    if name in ready_names():
        return load_drafter(name, target)
    if name == "random":
        return RandomDrafter(target.vocab_size)
    kinds = {"oracle": OracleDrafter, "noisy": NoisyDrafter, "always-wrong": AlwaysWrong}
    return kinds[name](answer, target.vocab_size)


def answers(name: str, target: Target, cases: list[Case]) -> list[Generation]:
    """A lane's answers, each checked against the reference, token by token and row by row."""
    return [
        check(target, ask, drafter(name, target, expected.ids), expected, LOGIT_BOUND)
        for ask, expected in cases
    ]


def test_there_is_enough_to_compare(cases):
    assert sum(len(expected.ids) for _, expected in cases) >= 64


@pytest.mark.parametrize("name", [*ready_names(), *TEST_NAMES])
def test_every_lane_says_what_generate_says(shipped, cases, name):
    found = answers(name, shipped, cases)
    if name == "always-wrong":
        assert all(answer.stats["tau"] in (0.0, 1.0) for answer in found)


def test_the_head_is_connected(shipped, cases):
    """A head that hardly ever has a token accepted is mis-loaded, whatever the text says."""
    found = answers("glance", shipped, cases)
    rounds = sum(answer.stats["rounds"] for answer in found)
    committed = sum(answer.stats["tokens"] - 1 for answer in found)  # without the prefill's
    assert committed / rounds > 1.05
