"""Training batches match what the product feeds the model."""

import json
from dataclasses import replace
from pathlib import Path

import pytest
import torch
from PIL import Image
from safetensors.torch import load_file, save_file
from torch import nn

from glance.documents.fields import NOT_THERE
from glance.evaluate import character_errors, normalise
from glance.targets import embedded
from glance.together import agree, run_together
from glance.training import target as training
from glance.training.optimizer import MuonAdamW
from glance.training.pages import CLASSES, SLOTS, Sampler, encode, render
from glance.training.sequences import build, image_positions, misread, pixel_rows


@pytest.fixture(scope="module")
def sampler() -> Sampler:
    return Sampler(render("train", 0, 40, workers=1), seed=0, plan=0)


@pytest.fixture(scope="module")
def model():
    torch.manual_seed(3)
    return embedded.build_model(layers=3, width=64, vision_layers=2).double()


def test_pixels_and_positions_equal_the_processors(sampler, model) -> None:
    image = sampler.pages[0].image
    inputs = embedded.build_processor()(
        text=["<|user|><|vision_start|><|image_pad|><|vision_end|>ab<|assistant|>"],
        images=[Image.fromarray(image)],
        return_tensors="pt",
    )
    rows, grid = pixel_rows(torch.from_numpy(image)[None])
    assert torch.equal(grid, inputs["image_grid_thw"])
    torch.testing.assert_close(rows, inputs["pixel_values"])
    wanted, _ = model.model.get_rope_index(
        inputs["input_ids"],
        mm_token_type_ids=inputs["mm_token_type_ids"],
        image_grid_thw=inputs["image_grid_thw"],
    )
    head, follow = image_positions(*grid[0, 1:].tolist())
    assert torch.equal(head, wanted[:, 0, : head.shape[1]])
    assert wanted[0, 0, head.shape[1]] == follow


def test_every_page_is_asked_for_something_that_is_not_on_it(sampler) -> None:
    unknown = encode(NOT_THERE)
    asked = [any(turn.answer == unknown for turn in page.turns) for page in sampler.pages]
    assert sum(asked) > 0.9 * len(asked)  # but for those that have a field of every group


def test_two_pages_stand_where_the_model_puts_them(sampler, model) -> None:
    batch = sampler.pairs(budget=900)
    s = build(batch)
    one, two = (Image.fromarray(image) for image in batch.images[:2])
    inputs = embedded.build_processor()(
        text=["<|user|>" + 2 * "<|vision_start|><|image_pad|><|vision_end|>" + "ab<|assistant|>"],
        images=[one, two],
        return_tensors="pt",
    )
    wanted, _ = model.model.get_rope_index(
        inputs["input_ids"],
        mm_token_type_ids=inputs["mm_token_type_ids"],
        image_grid_thw=inputs["image_grid_thw"],
    )
    head = inputs["input_ids"].shape[1] - 3
    assert torch.equal(s.ids[0, :head], inputs["input_ids"][0, :head])
    assert torch.equal(s.positions[:, 0, : head + 1], wanted[:, 0, : head + 1])
    pointed = s.here >= 0
    assert pointed.any()
    assert (s.ids.gather(1, s.here.clamp(min=0))[pointed] == embedded.IMAGE).all()


def test_a_packed_turn_gives_the_logits_it_has_alone(sampler, model) -> None:
    batch = sampler.whole(budget=900)
    packed = build(batch)
    rows, grid = pixel_rows(torch.from_numpy(batch.images))
    with torch.no_grad():
        seen = model.model.visual(rows.double(), grid_thw=grid).pooler_output
    text = model.model.language_model

    def run(s, features):
        embedded_ids = text.embed_tokens(s.ids)
        place = (s.ids == embedded.IMAGE)[..., None].expand_as(embedded_ids)
        with torch.no_grad():
            return text(
                inputs_embeds=embedded_ids.masked_scatter(place, features),
                position_ids=s.positions,
                attention_mask=s.mask,
                use_cache=False,
            ).last_hidden_state

    together = run(packed, seen)[0][packed.goals[0] != -100]
    alone = []
    for turn in batch.turns[0]:
        single = build(replace(batch, images=batch.images[:1], turns=[[turn]]))
        alone.append(run(single, seen[: len(seen) // len(batch.turns)])[0][single.goals[0] != -100])
    torch.testing.assert_close(together, torch.cat(alone), atol=1e-9, rtol=0)


def test_only_characters_of_answers_are_given_wrongly(sampler) -> None:
    batch = sampler.whole(budget=900)
    s = build(batch)
    wrong = misread(s, 1.0)
    changed = wrong.ids != s.ids
    answers = torch.zeros_like(changed)
    answers[:, 1:] = (s.goals[:, :-1] != -100) & (s.ids[:, 1:] != embedded.END)
    assert not changed[~answers].any()
    assert changed[answers].float().mean() > 0.9  # some draw the character that was there
    assert (wrong.ids[answers] >= embedded.FIRST_CHARACTER).all()
    assert torch.equal(wrong.goals, s.goals)
    assert torch.equal(misread(s, 0.0).ids, s.ids)


def test_goals_and_cells_line_up(sampler) -> None:
    batch = sampler.strips(budget=200, rows=4)
    s = build(batch)
    columns, first = batch.images.shape[2] // embedded.CELL, 2
    for b, turns in enumerate(batch.turns):
        answer = s.goals[b] != -100
        assert s.goals[b][answer].tolist() == [*turns[0].answer, embedded.END]
        # the token a row predicts is the next row's own, and so is its cell
        at = answer.nonzero()[:-1, 0]
        assert torch.equal(s.goals[b][at], s.ids[b][at + 1])
        ahead, here = s.ahead[b][at], s.here[b][at + 1]
        assert torch.equal(ahead[ahead >= 0], here[ahead >= 0])
        assert (here[1:][ahead[1:] < 0] == here[:-1][ahead[1:] < 0]).all()  # separators look back
        for cell, char in zip(s.here[b][at + 1].tolist(), turns[0].answer, strict=True):
            if cell >= 0 and char != encode(" ")[0]:
                row, column = divmod(cell - first, columns)
                slots = batch.labels[b, row, column * SLOTS : (column + 1) * SLOTS]
                character = ord(embedded.CHARACTERS[char - embedded.FIRST_CHARACTER])
                # a glyph that shares its slot with the next one is overwritten by it
                assert character - 32 in slots or (slots > 0).any()


def test_labels_name_printable_characters(sampler) -> None:
    batch = sampler.windows(size=4)
    assert batch.images.shape == (4, 8 * 14, 16 * 14, 3)
    assert batch.labels.min() >= 0
    assert batch.labels.max() < CLASSES


def test_a_run_writes_a_folder_and_resumes(tmp_path, monkeypatch, capfd) -> None:
    monkeypatch.setattr(
        training, "build_model", lambda *shape: embedded.build_model(*shape, vision_layers=1)
    )
    monkeypatch.setattr(training, "BUDGET", 120)
    monkeypatch.setattr(training, "ROWS", 900)
    monkeypatch.setattr(training, "_check", lambda *_: {"pages": 1, "cer": 1.0, "exact": 0.0})
    training.train(tmp_path, minutes=0.2, pages=40, layers=8, width=64)
    first = json.loads((tmp_path / "progress.json").read_text())
    assert all(first["steps"][stage] > 0 for stage in training.STAGES)
    weights = load_file(tmp_path / "model" / "model.safetensors")
    text = json.loads((tmp_path / "model" / "config.json").read_text())["text_config"]
    assert (text["num_hidden_layers"], text["hidden_size"]) == (8, 64)
    assert {w.dtype for w in weights.values()} == {torch.bfloat16}
    training.train(tmp_path, minutes=0.15, pages=40, resume=True)
    second = json.loads((tmp_path / "progress.json").read_text())
    assert second["steps"]["pages"] > first["steps"]["pages"]
    assert second["steps"]["vision"] == first["steps"]["vision"]  # no stage is entered again
    assert "lines" in (tmp_path / "model" / "README.md").read_text()
    assert "validation" not in capfd.readouterr().out  # progress goes to stderr
    processor = embedded.load_embedded_processor(tmp_path / "model")
    assert processor.tokenizer.convert_tokens_to_ids("<|mask|>") == embedded.MASK


def _step_together(rank: int, _count: int, folder: Path) -> None:
    """One process of two: a step on a batch of its own, then its weights and gradient to a file."""
    torch.manual_seed(0)
    model = nn.Linear(3, 2)
    optimizer = MuonAdamW([list(model.parameters())], layers=[])
    rate, _ = agree(0.1 * (rank + 1), 0.0)
    optimizer.step([model(torch.full((4, 3), float(rank + 1))).square().mean()], [rate])
    save_file(
        {"weight": model.weight.detach(), "rate": torch.tensor([rate])},
        folder / f"{rank}.safetensors",
    )


def test_processes_take_one_step_together(tmp_path) -> None:
    run_together(2, _step_together, tmp_path)
    one, two = (load_file(tmp_path / f"{rank}.safetensors") for rank in range(2))
    torch.testing.assert_close(one["weight"], two["weight"], atol=0, rtol=0)
    assert one["rate"].item() == two["rate"].item() == pytest.approx(0.1)


def test_averaged_gradients_are_those_of_the_joint_batch(tmp_path) -> None:
    run_together(2, _step_together, tmp_path)
    torch.manual_seed(0)
    model = nn.Linear(3, 2)
    optimizer = MuonAdamW([list(model.parameters())], layers=[])
    joint = torch.cat([torch.full((4, 3), 1.0), torch.full((4, 3), 2.0)])
    optimizer.step([model(joint).square().mean()], [0.1])
    shared = load_file(tmp_path / "0.safetensors")["weight"]
    torch.testing.assert_close(shared, model.weight.detach(), atol=1e-6, rtol=0)


def test_tokens_pass_any_script() -> None:
    tokenizer = embedded.build_tokenizer()
    assert len(tokenizer) == embedded.VOCABULARY
    for text in ("Total: 12.50\nSum", "Grüße, 漢字 🙂 \u05d0", "<b>&</b> 5 €"):
        ids = tokenizer(text)["input_ids"]
        assert tokenizer.decode(ids) == text
    assert tokenizer("Total 5")["input_ids"] == encode("Total 5")


@pytest.mark.parametrize(
    ("got", "wanted", "errors"),
    [("abc", "abc", 0), ("", "abc", 3), ("abxc", "abc", 1), ("kitten", "sitting", 3)],
)
def test_character_errors(got: str, wanted: str, errors: int) -> None:
    assert character_errors(got, wanted) == errors


def test_normalise_folds_space_and_composes() -> None:
    assert normalise(" Gru\u0308n\n\n 5 ") == "Gr\u00fcn 5"
