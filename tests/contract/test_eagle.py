"""EAGLE drafters say what `model.generate(do_sample=False)` says, on every family.

Run: python -m pytest tests/contract/test_eagle.py
"""

import pytest
import torch

from glance.config import DecodeConfig
from glance.decode import Decoder
from glance.targets.base import Target
from tests.contract.lossless import LOGIT_BOUNDS, check, reference
from tests.eagle_heads import drafter
from tests.tiny_models import FAMILIES, prompt, target

KINDS = (("eagle2", {}), ("eagle3", {}), ("eagle3", {"image_stream": "vision_embed"}))


@pytest.mark.parametrize(("name", "changes"), KINDS, ids=["eagle2", "eagle3", "eagle3-vision"])
@pytest.mark.parametrize("family", FAMILIES)
def test_same_tokens_and_logits_as_generate(family, name, changes):
    expected = reference(family, torch.float64, "sdpa")
    tiny, ask = target(family, torch.float64), prompt(family, dtype=torch.float64)
    draft = drafter(name, tiny, **changes)
    result = check(tiny, ask, draft, expected, LOGIT_BOUNDS[torch.float64, "sdpa"])
    assert result.stats["drafter_passes"] == draft.passes * result.stats["rounds"]


class Echo:
    """Makes a head say what the target says, so that drafts are accepted at every depth."""

    def __init__(self, tiny: Target, name: str, expected: tuple[int, ...], n: int) -> None:
        self.inner = drafter(name, tiny)
        self.expected, self.n = expected, n
        self.name, self.taps = self.inner.name, self.inner.taps
        self.passes, self.block_size = self.inner.passes, self.inner.block_size
        self.revision = ""
        self._rank, self.inner._rank = self.inner._rank, self._favour
        self._at = 0

    def start(self, prompt_ids, positions=None):
        return self.inner.start(prompt_ids, positions)

    def draft(self, state, out, features):
        self._at = len(out) - self.n
        return self.inner.draft(state, out, features)

    def _favour(self, hidden):
        """The true token, were the row on the true path, in front of the head's own."""
        true = self.expected[self._at : self._at + 1]
        self._at += 1
        found = self._rank(hidden)
        for children in found:
            if true:
                others = [i for i in children.ids if i != true[0]]
                children.ids[:] = [*true, *others][: len(children.ids)]
        return found


@pytest.mark.parametrize("name", ["eagle2", "eagle3"])
@pytest.mark.parametrize("family", FAMILIES)
def test_accepted_paths_leave_the_text_alone(family, name):
    """Random heads are hardly ever right: this one is, so rounds commit many tokens."""
    expected = reference(family, torch.float64, "sdpa")
    tiny, ask = target(family, torch.float64), prompt(family, dtype=torch.float64)
    draft = Echo(tiny, name, expected.ids, ask.input_ids.shape[1])
    result = check(tiny, ask, draft, expected, LOGIT_BOUNDS[torch.float64, "sdpa"])
    assert result.stats["tau"] > 2


@pytest.mark.parametrize("name", ["eagle2", "eagle3"])
def test_a_small_node_budget_cuts_the_tree(name):
    expected = reference("qwen3_vl", torch.float64, "sdpa")
    tiny, ask = target("qwen3_vl", torch.float64), prompt("qwen3_vl", dtype=torch.float64)
    config = DecodeConfig(max_new_tokens=24, node_budget=5)
    lines = list(Decoder(tiny, drafter(name, tiny), config).stream(ask))
    assert {len(line["tree"]["id"]) for line in lines if line["kind"] == "build"} == {6}
    ids = [t["id"] for line in lines if line["kind"] == "commit" for t in line["tokens"]]
    assert tuple(ids) == expected.ids[1:24]
