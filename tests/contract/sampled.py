"""Draws above temperature 0: the distribution that they must have, and thousands of them.

The target has three words, so that all beginnings of an answer can be counted. Its rounds are taken
from the real decoder and remembered: given what was committed before, a round's tree and logits
are always the same, so only the draws and the walk through the tree need to run every time.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import cache
from typing import Any
from unittest.mock import patch

import torch
from torch import Tensor
from transformers import AutoModelForImageTextToText

from glance.accept import accept
from glance.config import DecodeConfig
from glance.decode import Decoder
from glance.drafters.base import Drafter
from glance.drafters.block import BlockDrafter
from glance.drafters.hivis import HiViSDrafter
from glance.drafters.medusa import MedusaDrafter
from glance.drafters.ngram import NgramDrafter
from glance.drafters.toy import AlwaysWrong, NoisyDrafter, OracleDrafter, RandomDrafter
from glance.drafters.vispec import ViSpecDrafter
from glance.heads.block import BlockHead
from glance.heads.config import HeadConfig
from glance.heads.hivis import HiViSConfig, HiViSHead
from glance.heads.medusa import MedusaConfig, MedusaHead
from glance.heads.vispec import ViSpecConfig, ViSpecHead
from glance.sampling import Sampler
from glance.targets.base import Request, Target
from glance.targets.load import make_target
from glance.types import CandidateTree, Prompt, Verdict
from glance.verify import Verified, Verifier
from tests import eagle_heads
from tests.tiny_models import PlainTokenizer, config

WORDS = 3
MASK, IMAGE, VIDEO, VISION_START, VISION_END = range(WORDS, WORDS + 5)  # never drawn
VOCAB = WORDS + 5
GRID = (1, 4, 4)  # patches: four image tokens
TEMPERATURE = 0.8
TOKENS = 4  # of an answer that are counted: the prefill token and three of rounds
NODE_BUDGET = 6  # too few for all continuations of even two tokens
DRAWS = 20_000


@cache
def target() -> Target:
    """A random float64 target that has three words and never stops."""
    sizes = config("qwen3_vl")
    sizes.text_config.vocab_size = VOCAB
    sizes.image_token_id, sizes.video_token_id = IMAGE, VIDEO
    sizes.vision_start_token_id, sizes.vision_end_token_id = VISION_START, VISION_END
    sizes.text_config.pad_token_id = sizes.text_config.bos_token_id = MASK
    model = AutoModelForImageTextToText.from_config(
        sizes, attn_implementation="sdpa", dtype=torch.float64
    )
    eagle_heads.drawn(model)
    with torch.no_grad():  # what comes next then depends on what came before, and is uncertain
        model.get_input_embeddings().weight.mul_(4.0)
        model.get_output_embeddings().weight.mul_(0.4)
    model.generation_config.eos_token_id = None
    never = torch.arange(WORDS, VOCAB)
    model.get_output_embeddings().register_forward_hook(
        lambda _module, _args, logits: logits.index_fill(-1, never, -torch.inf)
    )
    return make_target("qwen3_vl", model, tokenizer=PlainTokenizer())


@cache
def prompt() -> Prompt:
    """A few words around one image."""
    generator = torch.Generator().manual_seed(0)
    before, after = torch.randint(WORDS, (2, 6), generator=generator).tolist()
    ids = torch.tensor([[*before, VISION_START, *[IMAGE] * 4, VISION_END, *after]])
    pixels = torch.randn(16, 3 * 2 * 16 * 16, generator=generator, dtype=torch.float64)
    return Prompt(
        input_ids=ids,
        model_inputs={
            "pixel_values": pixels,
            "image_grid_thw": torch.tensor([GRID]),
            "mm_token_type_ids": (ids == IMAGE).long(),
        },
        question="",
        image_tokens=4,
    )


@cache
@torch.inference_mode()
def exact() -> dict[tuple[int, ...], float]:
    """Probability of every beginning of an answer, from whole passes of the bare model."""
    ask, known = prompt(), {(): 1.0}
    kinds = ask.model_inputs["mm_token_type_ids"]
    for _ in range(TOKENS):
        longer: dict[tuple[int, ...], float] = {}
        for said, p in known.items():
            added = torch.tensor([said], dtype=torch.long)
            ids = torch.cat([ask.input_ids, added], dim=1)
            inputs = {
                **ask.model_inputs,
                "mm_token_type_ids": torch.cat([kinds, torch.zeros_like(added)], dim=1),
            }
            logits = target().model(input_ids=ids, use_cache=False, **inputs).logits[0, -1]
            each = torch.softmax(logits / TEMPERATURE, dim=-1)[:WORDS].tolist()
            longer |= {(*said, word): p * q for word, q in enumerate(each)}
        known = longer
    return known


# --- drafters, all of them with random heads ---


def _sized() -> dict:
    return eagle_heads.sizes(target())


def _block(chain: bool) -> Drafter:
    sizes = {
        **_sized(),
        "num_hidden_layers": 2,
        "mask_token_id": MASK,
        "target_layer_ids": (0, 1, 2),
        "block_size": 8,
    }
    return BlockDrafter(_drawn(BlockHead(HeadConfig(**sizes))), target(), chain=chain)


def _eagle3() -> Drafter:
    return eagle_heads.drafter("eagle3", target(), draft_vocab_size=VOCAB)


def _medusa() -> Drafter:
    tiny = target()
    sizes = MedusaConfig(tiny.hidden_size, VOCAB, tiny.num_layers, medusa_num_heads=4)
    return MedusaDrafter(_drawn(MedusaHead(sizes)), tiny)


def _vispec() -> Drafter:
    head = ViSpecHead(ViSpecConfig(**_sized()))
    return ViSpecDrafter(_drawn(head), target(), eagle_heads.SHAPE)


def _hivis() -> Drafter:
    head = HiViSHead(HiViSConfig(**_sized()))
    return HiViSDrafter(_drawn(head), target(), eagle_heads.SHAPE)


def _drawn(head: Any) -> Any:
    eagle_heads.drawn(head)
    return head


@cache
def _greedy() -> tuple[int, ...]:
    """What the drafters that know an answer are told; draws often say something else."""
    return Decoder(target(), None, DecodeConfig(max_new_tokens=12)).generate(prompt()).ids


#: one for every name that `glance.drafters.load` knows
DRAFTERS: dict[str, Callable[[], Drafter | None]] = {
    "glance": lambda: _block(chain=False),
    "glance-chain": lambda: _block(chain=True),
    "eagle3": _eagle3,
    "eagle2": lambda: eagle_heads.drafter("eagle2", target()),
    "medusa": _medusa,
    "vispec": _vispec,
    "hivis": _hivis,
    "ngram": lambda: NgramDrafter(IMAGE),
    "ar": lambda: None,
    "oracle": lambda: OracleDrafter(_greedy(), VOCAB),
    "noisy": lambda: NoisyDrafter(_greedy(), VOCAB),
    "random": lambda: RandomDrafter(VOCAB, seed=27),  # guesses words, by chance
    "always-wrong": lambda: AlwaysWrong(_greedy(), VOCAB),
}


# --- rounds of the real decoder, remembered ---


class _Asked(Exception):  # noqa: N818 - no error: the script ran out, as it must
    pass


Commits = tuple[tuple[int, ...], ...]  # tokens of the prefill, then of every round


class _Script:
    """Sampler and accept in one: commits what it is told to, then stops the decoder."""

    greedy = False

    def __init__(self, commits: Commits) -> None:
        self._commits = iter(commits)
        self.row = torch.empty(0)  # [V] that the latest pick was for

    def _next(self) -> tuple[int, ...]:
        tokens = next(self._commits, None)
        if tokens is None:
            raise _Asked
        return tokens

    def pick(self, logits: Tensor) -> int:
        self.row = logits
        [token_id] = self._next()
        return token_id

    def accept(self, tree: CandidateTree, _choose: Callable[[int], int]) -> Verdict:
        *drafted, bonus = self._next()
        path = [0]
        for token_id in drafted:
            wanted = path[-1], token_id
            path.append(list(zip(tree.parents, tree.token_ids, strict=True)).index(wanted))
        return Verdict(tuple(path), bonus)


class _Watched(Verifier):
    """Keeps the latest tree and its logits."""

    latest: tuple[CandidateTree, Tensor] | None = None

    def verify(self, request: Request, tree: CandidateTree) -> Verified:
        verified = super().verify(request, tree)
        self.latest = tree, verified.logits
        return verified


Ruling = tuple[list[int], int]  # tokens that a round commits, how many of them were drafted
Rule = Callable[[CandidateTree, Tensor, Sampler], Ruling]
ROOT_ALONE = CandidateTree((-1,), (-1,), (0,), (0,), (1.0,))


class Rounds:
    """The rounds of one lane on the prompt, by what was committed before them."""

    def __init__(self, name: str) -> None:
        self.drafter = DRAFTERS[name]()
        self.config = DecodeConfig(
            node_budget=NODE_BUDGET, max_new_tokens=64, temperature=TEMPERATURE
        )
        self._known: dict[Commits, tuple[CandidateTree, Tensor]] = {}

    def after(self, commits: Commits) -> tuple[CandidateTree, Tensor]:
        """The tree of the next round and its logits [rows, V]; of prefill where none was."""
        if commits not in self._known:
            self._known[commits] = self._rehearse(commits)
        return self._known[commits]

    def _rehearse(self, commits: Commits) -> tuple[CandidateTree, Tensor]:
        script = _Script(commits)
        verifier = _Watched(target(), self.drafter.taps if self.drafter else ())
        decoder = Decoder(target(), self.drafter, self.config, verifier=verifier)
        with (
            patch("glance.decode.Sampler", lambda _temperature, _seed: script),
            patch("glance.rounds.accept", script.accept),
        ):
            try:
                decoder.generate(prompt())
            except _Asked:
                # prefill and plain decoding verify no tree: they have one row
                return verifier.latest or (ROOT_ALONE, script.row[None])
        raise AssertionError("the decoder ended before its script did")

    def decode(self, seed: int) -> tuple[int, ...]:
        """The beginning of the real decoder's answer with a seed."""
        settings = replace(self.config, seed=seed, max_new_tokens=TOKENS)
        return Decoder(target(), self.drafter, settings).generate(prompt()).ids


def walk(tree: CandidateTree, logits: Tensor, sampler: Sampler) -> Ruling:
    """The decoder's own rule."""
    verdict = accept(tree, lambda node: sampler.pick(logits[node]))
    tokens = [*(tree.token_ids[node] for node in verdict.path[1:]), verdict.bonus]
    return tokens, verdict.accepted


@dataclass(frozen=True, slots=True)
class Drawn:
    """Answers that were drawn."""

    counts: Counter[tuple[int, ...]]  # by their first tokens
    deep: int  # answers with a round that accepted two drafted tokens or more among the counted


@torch.inference_mode()
def draw(rounds: Rounds, rule: Rule = walk, first_seed: int = 0, draws: int = DRAWS) -> Drawn:
    """Answers of as many seeds, one after the other."""
    counts: Counter[tuple[int, ...]] = Counter()
    deep = 0
    for seed in range(first_seed, first_seed + draws):
        sampler = Sampler(TEMPERATURE, seed)
        commits: Commits = ()
        said: list[int] = []
        deepest = 0
        while len(said) < TOKENS:
            tokens, accepted = rule(*rounds.after(commits), sampler)
            deepest = max(deepest, min(accepted, TOKENS - len(said)))
            said += tokens
            commits = (*commits, tuple(tokens))
        counts[tuple(said[:TOKENS])] += 1
        deep += deepest >= 2
    return Drawn(counts, deep)


def chi_square(counts: Counter[tuple[int, ...]]) -> tuple[float, float]:
    """Pearson's statistic against the target's exact distribution, and its p-value."""
    expected = {answer: counts.total() * p for answer, p in exact().items()}
    assert set(counts) <= set(expected)
    assert min(expected.values()) >= 5  # with fewer in a cell, the p-value would mean little
    statistic = sum((counts[answer] - n) ** 2 / n for answer, n in expected.items())
    half = torch.tensor([len(expected) - 1, statistic], dtype=torch.float64) / 2
    return statistic, float(torch.special.gammaincc(half[0], half[1]))
