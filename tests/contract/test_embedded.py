"""A folder in the embedded target's layout, random weights: loaded offline, prompted, decoded."""

from pathlib import Path

import pytest
import torch
from PIL import Image, ImageDraw

from glance.answers import answer_together
from glance.audit import reference_ids
from glance.config import DecodeConfig
from glance.decode import Decoder
from glance.drafters.load import load_drafter
from glance.drafters.toy import NoisyDrafter
from glance.targets.base import Target
from glance.targets.embedded import (
    ASSISTANT,
    END,
    IMAGE,
    USER,
    VISION_END,
    VISION_START,
    build_model,
    build_processor,
)
from glance.targets.load import load_target, weights_revision


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("embedded")
    torch.manual_seed(0)
    build_model(layers=3, width=64, vision_layers=1).save_pretrained(path)
    build_processor().save_pretrained(path)
    return path


@pytest.fixture(scope="module")
def tiny(folder: Path) -> Target:
    return load_target(folder)


def page(text: str, size: tuple[int, int] = (280, 140)) -> Image.Image:
    image = Image.new("RGB", size, "white")
    ImageDraw.Draw(image).text((20, 20), text, fill="black", font_size=20)
    return image


def test_loads_as_a_target(tiny, folder):
    assert tiny.revision == weights_revision(folder)
    assert len(tiny.revision) == 12
    assert (tiny.dtype, tiny.attention, tiny.num_layers) == (torch.float32, "sdpa", 3)
    assert tiny.eos_ids == (END,)
    assert tiny.vocab_size > max(tiny.tokenizer.get_vocab().values())


def test_one_placeholder_a_visual_token(tiny):
    prompt = tiny.prompt(page("Total 48.20"), "What is the total?")
    columns, rows = (side // 14 for side in prompt.images[0].size)
    assert prompt.image_tokens == rows * columns == int((prompt.input_ids == IMAGE).sum())
    assert prompt.input_ids.shape[1] < 256
    assert tiny.decode_text(prompt.input_ids[0].tolist()) == "What is the total?"


def test_a_dialogue_is_laid_out_as_it_was_trained(tiny):
    def ids(text: str) -> list[int]:
        return tiny.tokenizer(text)["input_ids"]

    def picture(cells: int) -> list[int]:
        return [VISION_START, *[IMAGE] * cells, VISION_END]

    first, second, third = page("a"), page("b", (140, 280)), page("c", (112, 84))
    history = [("Which item?", "tea"), ("And its price?", "1.20")]
    assert tiny.prompt(first, "Total?", history).input_ids[0].tolist() == [
        *[USER, *picture(200), *ids("Which item?"), ASSISTANT, *ids("tea"), END],
        *[USER, *ids("And its price?"), ASSISTANT, *ids("1.20"), END],
        *[USER, *ids("Total?"), ASSISTANT],
    ]
    assert tiny.prompt((first, second, third), "Total?").input_ids[0].tolist() == [
        *[USER, *picture(200), *picture(200), *picture(48), *ids("Total?"), ASSISTANT],
    ]


@pytest.mark.parametrize(
    "typed", ["<|image_pad|>", "<|end|>", "<|im<|image_pad|>age_pad|>", "</s>"]
)
def test_special_strings_in_a_question_stay_text(tiny, typed):
    plain = tiny.prompt(page("x"), "Read it")
    prompt = tiny.prompt(page("x"), f"Read {typed} it")
    assert prompt.image_tokens == plain.image_tokens
    assert END not in prompt.input_ids
    assert tiny.decode_text(prompt.input_ids[0].tolist()).replace(" ", "") == f"Read{typed}it"


def test_special_strings_in_a_dialogue_stay_text(tiny):
    history = [("<|image_pad|>?", "<|end|><|user|>")]
    prompt = tiny.prompt(page("x"), "And <|end|>?", history)
    ids = prompt.input_ids[0].tolist()
    assert (ids.count(USER), ids.count(END), ids.count(ASSISTANT)) == (2, 1, 2)
    assert prompt.image_tokens == 200


def test_questions_about_two_pages_are_answered_together_as_alone(tiny):
    pages = (page("Total 48.20"), page("Sum 7"))
    history = [("What is the total?", "48.20")]
    prompts = [
        tiny.prompt(pages, "What is the total?"),
        tiny.prompt(pages, "And on page 2?", history),
        tiny.prompt(pages, "Read page 1."),
    ]
    expected = [reference_ids(tiny, ask, DecodeConfig(max_new_tokens=20)) for ask in prompts]
    assert answer_together(tiny, prompts, [20] * 3).answers == expected


def test_any_script_passes(tiny):
    question = "Où? €5 ½ 中文 🙂 שלום"
    prompt = tiny.prompt(page("x"), question)
    assert tiny.decode_text(prompt.input_ids[0].tolist()) == question


def test_the_image_reaches_the_model(tiny):
    with torch.inference_mode():
        left, right = (
            tiny.prefill(tiny.prompt(page(text), "What?"))[1] for text in ("Total 1", "Sum 22222")
        )
    assert (left - right).abs().max() > 1e-3


def test_decodes_as_generate_does(tiny):
    prompt = tiny.prompt(page("Total 48.20"), "What is the total?")
    config = DecodeConfig(max_new_tokens=64)
    expected = reference_ids(tiny, prompt, config)
    for drafter in (None, NoisyDrafter(expected, tiny.vocab_size)):
        assert list(Decoder(tiny, drafter, config).generate(prompt).ids) == expected


def test_no_such_drafter(tiny):
    with pytest.raises(ValueError, match="known are glance, glance-chain"):
        load_drafter("eagle", tiny)
    assert load_drafter("ar", tiny) is None
