"""Questions answered side by side get the ids that each gets alone.

python -m pytest tests/unit/test_answers.py
"""

from dataclasses import replace

import pytest
import torch

from glance.answers import answer_together, read_together
from glance.config import DecodeConfig
from glance.decode import Decoder
from glance.targets.base import Target
from glance.types import Prompt
from tests.tiny_models import FAMILIES, prompt, target

KINDS = (*FAMILIES, "gemma3")  # whose window is shorter than any prompt


def alone(target: Target, ask: Prompt, most: int) -> list[int]:
    return list(Decoder(target, None, DecodeConfig(max_new_tokens=most)).generate(ask).ids)


def variants(family: str, lengths: tuple[int, ...]) -> list[Prompt]:
    """Prompts that share an image and end in random questions; the last goes on from the first."""
    base = prompt(family, dtype=torch.float64)
    shared = base.input_ids.shape[1] - 8
    generator = torch.Generator().manual_seed(4)
    tails = [torch.randint(100, (1, length), generator=generator) for length in lengths]
    tails[-1] = torch.cat((tails[0], tails[-1]), 1)
    prompts = []
    for tail in tails:
        inputs = dict(base.model_inputs)
        for name in {"mm_token_type_ids", "token_type_ids"} & inputs.keys():
            inputs[name] = torch.cat((inputs[name][:, :shared], torch.zeros_like(tail)), 1)
        ids = torch.cat((base.input_ids[:, :shared], tail), 1)
        prompts.append(replace(base, input_ids=ids, model_inputs=inputs))
    return prompts


@pytest.mark.parametrize(
    ("family", "attention"),
    [*((family, "sdpa") for family in KINDS), ("llava", "eager"), ("gemma3", "eager")],
)
def test_ids_are_those_of_plain_decoding(family: str, attention: str) -> None:
    tiny, limits = target(family, torch.float64, attention), [24, 5, 16, 1]
    asks = variants(family, (8, 3, 5, 4))
    answers = answer_together(tiny, asks, limits).answers
    assert answers == [alone(tiny, ask, most) for ask, most in zip(asks, limits, strict=True)]
    assert [len(answer) for answer in answers] == limits
    assert len({tuple(answer[:5]) for answer in answers}) == 4


@pytest.mark.parametrize("family", KINDS)
def test_known_answers_are_read_in_one_pass(family: str) -> None:
    tiny, taps = target(family, torch.float64), (0, 2)
    asks = variants(family, (8, 3, 5))
    done = answer_together(tiny, asks, [12, 4, 1], taps)
    assert done.features is not None
    rows = list(zip(done.segments, done.positions, done.ids, strict=True))[done.shared :]
    mixed = torch.randperm(len(rows), generator=torch.Generator().manual_seed(0)).tolist()
    read = read_together(tiny, asks[0], done.shared, [rows[place] for place in mixed], taps)
    order = [*range(done.shared), *(done.shared + place for place in mixed)]
    torch.testing.assert_close(read, done.features[order], rtol=2**-7, atol=1e-6)


def test_an_end_token_ends_one_answer_and_not_the_others() -> None:
    tiny, asks = target("qwen3_vl", torch.float64), variants("qwen3_vl", (8, 3, 5))
    free = answer_together(tiny, asks, [24] * 3).answers
    end = next(i for i in free[0] if i not in free[1] + free[2])
    ends, tiny.eos_ids = tiny.eos_ids, (end,)
    try:
        answers = answer_together(tiny, asks, [24] * 3).answers
    finally:
        tiny.eos_ids = ends
    assert answers == [free[0][: free[0].index(end) + 1], *free[1:]]


def test_one_prompt_and_features_of_every_row() -> None:
    tiny, [ask] = target("llava", torch.float64), variants("llava", (8,))
    done = answer_together(tiny, [ask], [6], taps=(0, 2))
    assert done.answers == [alone(tiny, ask, 6)]
    assert done.features is not None
    assert done.features.shape == (len(done.ids), 2, tiny.hidden_size)
    assert done.ids == [*ask.input_ids[0].tolist(), *done.answers[0][:-1]]
    assert done.positions == list(range(len(done.ids)))
    assert answer_together(tiny, [ask], [6]).features is None
