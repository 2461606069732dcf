"""The lossless check itself: one function that every target, drafter and fault goes through."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from functools import cache

import torch
from torch import Tensor

from glance.audit import reference_ids
from glance.config import DecodeConfig
from glance.decode import Decoder, Generation
from glance.drafters.base import Drafter
from glance.drafters.block import BlockDrafter
from glance.drafters.toy import AlwaysWrong, NoisyDrafter, OracleDrafter, RandomDrafter
from glance.heads.block import BlockHead
from glance.heads.config import HeadConfig
from glance.targets.base import Request, Target
from glance.types import CandidateTree, Prompt
from glance.verify import Verified, Verifier
from tests.tiny_models import MROPE, VOCAB, prompt, target

MAX_NEW = 72
DRAFTERS = (
    "ar",
    "glance",
    "glance-chain",
    "oracle",
    "oracle-chain",
    "always-wrong",
    "noisy",
    "random",
)
#: largest logit difference between the packed pass and generate(), on the committed tokens
LOGIT_BOUNDS = {
    (torch.float32, "sdpa"): 1e-4,
    (torch.float32, "eager"): 1e-4,
    (torch.float64, "sdpa"): 1e-9,
    (torch.float64, "eager"): 1e-5,  # eager attention takes its softmax in float32 all the same
}


@dataclass(frozen=True, slots=True)
class Reference:
    """What `model.generate(do_sample=False)` says."""

    ids: tuple[int, ...]
    logits: Tensor  # [tokens, V]


@cache
def reference(family: str, dtype: torch.dtype, attention: str, seed: int = 0) -> Reference:
    """The reference answer to the family's prompt, with the logits of every step."""
    tiny = target(family, dtype, attention)
    ask = prompt(family, seed, dtype)
    said = generated(tiny, ask, DecodeConfig(max_new_tokens=MAX_NEW))
    # a short or repetitive reference would pass a broken decoder
    assert len(said.ids) >= 64
    assert len(set(said.ids)) >= 20
    return said


def generated(tiny: Target, ask: Prompt, config: DecodeConfig) -> Reference:
    """The answer of `generate()` to any prompt of any target."""
    with heard(tiny) as rows:  # generate() itself hands logits out in float32 only
        ids = reference_ids(tiny, ask, config)
    return Reference(tuple(ids), torch.stack(rows))


@contextmanager
def heard(tiny: Target) -> Iterator[list[Tensor]]:
    """The last row of whatever passes the target's lm_head."""
    rows: list[Tensor] = []
    hook = tiny.model.get_output_embeddings().register_forward_hook(
        lambda _module, _args, output: rows.append(output.reshape(-1, output.shape[-1])[-1])
    )
    try:
        yield rows
    finally:
        hook.remove()


@cache
def random_head(family: str, dtype: torch.dtype, attention: str, chain: bool) -> BlockDrafter:
    """The block drafter with random weights, on the family's tiny target."""
    tiny = target(family, dtype, attention)
    torch.manual_seed(0)
    head = BlockHead(
        HeadConfig(
            hidden_size=tiny.hidden_size,
            intermediate_size=96,
            num_hidden_layers=2,
            num_attention_heads=4,
            num_key_value_heads=2,
            head_dim=16,
            vocab_size=tiny.vocab_size,
            num_target_layers=tiny.num_layers,
            mask_token_id=VOCAB - 1,
            target_layer_ids=(0, 1, 2),
            block_size=8,
        )
    )
    return BlockDrafter(head, tiny, chain=chain)


def drafter(
    name: str,
    family: str,
    dtype: torch.dtype = torch.float32,
    attention: str = "sdpa",
    answer: Sequence[int] = (),
) -> Drafter | None:
    """A drafter by name; those that know the answer are told it."""
    if name == "ar":
        return None
    if name.startswith("glance"):
        return random_head(family, dtype, attention, chain=name == "glance-chain")
    if name.startswith("oracle"):
        return OracleDrafter(answer, VOCAB, chain=name == "oracle-chain")
    if name == "always-wrong":
        return AlwaysWrong(answer, VOCAB)
    if name == "noisy":
        return NoisyDrafter(answer, VOCAB)
    assert name == "random"
    return RandomDrafter(VOCAB)


class Recorder(Verifier):
    """Keeps the logits of the rows that chose the committed tokens."""

    def __init__(self, target: Target, taps: Sequence[int] = ()) -> None:
        super().__init__(target, taps)
        self.rows: list[Tensor] = []
        self._latest: Tensor | None = None

    def verify(self, request: Request, tree: CandidateTree) -> Verified:
        verified = super().verify(request, tree)
        self._latest = verified.logits
        return verified

    def keep(self, request: Request, tree: CandidateTree, path: Sequence[int]) -> None:
        assert self._latest is not None
        self.rows.append(self._latest[list(path)])
        super().keep(request, tree, path)


class CausalMask(Recorder):
    """Fault: a row sees all rows before it, siblings and cousins too."""

    def visible(self, tree: CandidateTree):
        return torch.ones(len(tree), len(tree)).tril().bool().numpy()


class SlotPositions(Recorder):
    """Fault: rows of the tree count on, whatever their depth."""

    def verify(self, request: Request, tree: CandidateTree) -> Verified:
        return super().verify(request, replace(tree, depths=tuple(range(len(tree)))))


class NoRopeDelta(Recorder):
    """Fault: positions go on from the token count, as if the image had counted one by one."""

    def verify(self, request: Request, tree: CandidateTree) -> Verified:
        return super().verify(replace(request, rope_delta=0), tree)


class CropOnly(Recorder):
    """Fault: the cache has the right length, and the wrong rows."""

    def keep(self, request: Request, tree: CandidateTree, path: Sequence[int]) -> None:
        assert self._latest is not None
        self.rows.append(self._latest[list(path)])
        Verifier.keep(self, request, tree, range(len(path)))


def check(
    tiny: Target,
    ask: Prompt,
    draft: Drafter | None,
    expected: Reference,
    bound: float,
    recorder: type[Recorder] = Recorder,
) -> Generation:
    """Assert that a lane gives the reference's tokens and, row by row, its logits."""
    verifier = recorder(tiny, draft.taps if draft else ())
    config = DecodeConfig(max_new_tokens=len(expected.ids))
    with heard(tiny) as passes:
        result = Decoder(tiny, draft, config, verifier=verifier).generate(ask)
    assert result.ids == expected.ids
    assert result.text == tiny.decode_text(expected.ids)
    # the prefill's row is the first; of later passes the plain lane's have one row each
    rows = torch.stack(passes) if draft is None else torch.cat([passes[0][None], *verifier.rows])
    assert rows.shape == expected.logits.shape
    assert (rows - expected.logits).abs().max() < bound
    return result


def check_another_image(family: str, name: str) -> None:
    """Assert that other pixels under the same words give other logits and their own answer."""
    tiny = target(family, torch.float64)
    ask, other = prompt(family, 0, torch.float64), prompt(family, 1, torch.float64)
    pixels = {"pixel_values": other.model_inputs["pixel_values"]}
    swapped = replace(ask, model_inputs={**ask.model_inputs, **pixels})
    with torch.inference_mode():
        first, second = (tiny.prefill(p)[1] for p in (ask, swapped))
    assert (first - second).abs().max() > 0.01
    config = DecodeConfig(max_new_tokens=40)
    expected = reference_ids(tiny, swapped, config)
    assert expected != list(reference(family, torch.float64, "sdpa").ids[:40])
    draft = drafter(name, family, torch.float64, answer=expected)
    assert list(Decoder(tiny, draft, config).generate(swapped).ids) == expected


def check_interleaved(family: str) -> None:
    """Assert that two requests, a round of each in turn, get the answers that each gets alone."""
    tiny = target(family)
    asks = [prompt(family, seed) for seed in (0, 1)]
    config = DecodeConfig(max_new_tokens=48)
    expected = [reference_ids(tiny, ask, config) for ask in asks]
    assert expected[0] != expected[1]
    if family in MROPE:
        # what a stranger's prefill leaves on the model must not matter, nor be touched
        tiny.model.model.rope_deltas = torch.tensor([[12345]])
    shared = drafter("glance", family)  # one drafter, two requests
    streams = [
        Decoder(tiny, shared, config).stream(asks[0]),
        Decoder(tiny, None, config).stream(asks[1]),
    ]
    got: list[list[int]] = [[], []]
    going = [0, 1]
    while going:
        for user in list(going):
            line = next(streams[user], None)
            if line is None:
                going.remove(user)
            elif line["kind"] == "prefill":
                got[user].append(line["root"]["id"])
            elif line["kind"] == "commit":
                got[user] += [token["id"] for token in line["tokens"]]
    assert got == expected
    if family in MROPE:
        assert tiny.model.model.rope_deltas.item() == 12345
        tiny.model.model.rope_deltas = None
