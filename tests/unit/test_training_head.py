"""Training of the block head: packed answers, mask, labels, and equality with serving.

Run: python -m pytest tests/unit/test_training_head.py
"""

import json
import time
from dataclasses import replace
from pathlib import Path

import pytest
import torch
from torch import Tensor, nn

from glance.documents.dataset import page
from glance.drafters.block import BlockDrafter
from glance.heads.block import BlockHead
from glance.heads.config import HeadConfig, HeadError
from glance.heads.formats import read_head, write_head
from glance.targets.base import Target
from glance.targets.embedded import build_model, build_processor
from glance.targets.load import make_target
from glance.training import head as training
from glance.training.blocks import (
    PADDING,
    Gaze,
    anchor_rows,
    block_cells,
    block_labels,
    block_loss,
    block_mask,
    collate,
    draft_blocks,
    sample_anchors,
)
from glance.training.capture import (
    TENSORS,
    Record,
    answer_cells,
    answer_page,
    answering,
    load_record,
    record_path,
    save_record,
)
from glance.training.replayed import replay_rounds
from glance.types import Prompt
from tests import tiny_models

LAYERS, WIDTH, TAPS, BLOCK = 4, 64, (0, 2, 3), 6
PAGE, TAILS, ANSWERS = 5, (3, 2), (8, 4)  # rows of the page; of each question; of each answer


@pytest.fixture(scope="module")
def target() -> Target:
    torch.manual_seed(0)
    model = build_model(layers=LAYERS, width=WIDTH, vision_layers=1).double()
    return make_target("tiny", model, build_processor(), revision="tiny")


def make_head(target: Target, seed: int = 0) -> BlockHead:
    torch.manual_seed(seed)
    config = HeadConfig(
        hidden_size=WIDTH,
        intermediate_size=96,
        num_hidden_layers=2,
        num_attention_heads=4,
        num_key_value_heads=2,
        head_dim=16,
        vocab_size=target.vocab_size,
        num_target_layers=LAYERS,
        mask_token_id=target.tokenizer.mask_token_id,
        target_layer_ids=TAPS,
        block_size=BLOCK,
        target_revision="tiny",
    )
    return BlockHead(config).to(target.dtype)


def make_record(seed: int = 1) -> Record:
    """Random tokens and taps in the packed shape, two questions."""
    generator = torch.Generator().manual_seed(seed)
    segments, positions, answer = [0] * PAGE, list(range(PAGE)), [False] * PAGE
    for q, (tail, length) in enumerate(zip(TAILS, ANSWERS, strict=True)):
        segments += [q + 1] * (tail + length)
        positions += range(PAGE, PAGE + tail + length)
        answer += [False] * tail + [True] * length
    rows = len(segments)
    return Record(
        ids=torch.randint(20, 300, (rows,), generator=generator),
        positions=torch.tensor(positions),
        segments=torch.tensor(segments),
        answer=torch.tensor(answer),
        features=torch.randn(rows, len(TAPS), WIDTH, generator=generator, dtype=torch.float64),
        cells=torch.full((rows,), -1),
        tasks=("transcribe", "docvqa"),
    )


def stream(record: Record, segment: int) -> Tensor:
    """Rows of the page and of one question: the stream that serving sees."""
    return ((record.segments == 0) | (record.segments == segment)).nonzero()[:, 0]


def test_mask_equals_the_rule_spelled_out() -> None:
    batch = collate([make_record(), make_record(2)], torch.device("cpu"))
    longer = torch.cat((batch.segments, torch.full((2, 2), PADDING)), 1)
    positions = torch.cat((batch.positions, torch.zeros(2, 2, dtype=torch.long)), 1)
    anchors = torch.tensor([[8, 10, 20], [9, 18, 18]])
    mask = block_mask(positions, longer, anchors, BLOCK)
    rows = longer.shape[1]
    assert mask.shape == (2, 1, 3 * BLOCK, rows + 3 * BLOCK)
    for p in range(2):
        for query in range(3 * BLOCK):
            anchor = int(anchors[p, query // BLOCK])
            for key in range(rows + 3 * BLOCK):
                if key < rows:
                    segment = int(longer[p, key])
                    visible = segment in (0, int(longer[p, anchor])) and bool(
                        positions[p, key] < positions[p, anchor]
                    )
                else:
                    visible = (key - rows) // BLOCK == query // BLOCK
                assert bool(mask[p, 0, query, key]) == visible, (p, query, key)


def test_first_anchor_is_the_prefill_token_and_sees_the_whole_prompt() -> None:
    record = make_record()
    rows = anchor_rows(record.answer, record.segments)
    first = PAGE + TAILS[0]
    second = first + ANSWERS[0] + TAILS[1]
    # every answer token but the last of each answer, which has nothing after it
    assert rows.tolist() == [
        *range(first, first + ANSWERS[0] - 1),
        *range(second, second + ANSWERS[1] - 1),
    ]
    batch = collate([record], torch.device("cpu"))
    mask = block_mask(batch.positions, batch.segments, torch.tensor([[second]]), BLOCK)
    seen = mask[0, 0, 0, : len(record.ids)].nonzero()[:, 0].tolist()
    assert seen == [*range(PAGE), *range(second - TAILS[1], second)]


def test_labels_stay_inside_their_answer() -> None:
    record = make_record()
    batch = collate([record], torch.device("cpu"))
    first = PAGE + TAILS[0]
    anchors = torch.tensor([[first, first + ANSWERS[0] - 2, len(record.ids) - 2]])
    labels, exists = block_labels(batch, anchors, BLOCK - 1)
    assert labels[0, 0].tolist() == record.ids[first + 1 : first + BLOCK].tolist()
    assert exists[0, 0].all()
    assert exists[0, 1].tolist() == [True, False, False, False, False]
    assert exists[0, 2].tolist() == [True, False, False, False, False]


def test_loss_is_the_weighted_mean_spelled_out() -> None:
    generator = torch.Generator().manual_seed(3)
    logits = torch.randn(1, 2, 3, 7, generator=generator)
    labels = torch.randint(7, (1, 2, 3), generator=generator)
    exists = torch.tensor([[[True, True, True], [True, False, False]]])
    above = below = 0.0
    for a in range(2):
        for k in range(3):
            if exists[0, a, k]:
                weight = float(torch.exp(torch.tensor(-k / 7.0)))
                above -= weight * float(logits[0, a, k].log_softmax(-1)[labels[0, a, k]])
                below += weight
    assert block_loss(logits, labels, exists).item() == pytest.approx(above / below, rel=1e-5)


def test_padding_rows_are_never_anchors() -> None:
    short = Record(
        **{name: getattr(make_record(), name)[: PAGE + TAILS[0] + 4] for name in TENSORS},
        tasks=("transcribe",),
    )
    batch = collate([make_record(), short], torch.device("cpu"))
    anchors = sample_anchors(batch, 50, torch.Generator().manual_seed(0))
    assert int(anchors[1].max()) <= PAGE + TAILS[0] + 2
    assert batch.answer.gather(1, anchors).all()


def test_training_logits_equal_serving_logits(target: Target) -> None:
    head = make_head(target)
    records = make_record(), make_record(2)
    batch = collate(records, target.device)
    anchors = torch.stack([anchor_rows(r.answer, r.segments) for r in records])
    trained = draft_blocks(head, target, batch, anchors)
    drafter = BlockDrafter(head, target)
    for p, record in enumerate(records):
        for segment in (1, 2):
            rows = stream(record, segment)
            ids, features = record.ids[rows].tolist(), record.features[rows]
            state, absorbed = drafter.start(ids[: PAGE + TAILS[segment - 1]]), 0
            for a, anchor in enumerate(anchors[p].tolist()):
                if record.segments[anchor] != segment:
                    continue
                at = int(record.positions[anchor])
                served = drafter.draft(state, ids[: at + 1], features[absorbed:at])
                absorbed = at
                torch.testing.assert_close(trained[p, a], served.logits)
    assert not torch.allclose(trained[0, 0], trained[0, 1])  # positions do differ


def test_gaze_is_the_attention_of_each_row_on_its_cell(target: Target) -> None:
    head, record = make_head(target), make_record()
    cells = torch.full_like(record.ids, -1)
    anchor = PAGE + TAILS[0] + 2
    cells[anchor + 1], cells[anchor + 3] = 4, 2
    batch = collate([replace(record, cells=cells)], target.device)
    anchors = torch.tensor([[anchor]])
    assert block_cells(batch, anchors, BLOCK - 1).tolist() == [[[4, -1, 2, -1, -1]]]
    # nothing follows the end of the answer, whatever stands in the rows of the next question
    last = torch.tensor([[PAGE + TAILS[0] + ANSWERS[0] - 1]])
    assert (block_cells(batch, last, BLOCK - 1) == -1).all()

    gaze = Gaze(head)
    draft_blocks(head, target, batch, anchors)
    loss = gaze.loss(block_cells(batch, anchors, BLOCK - 1))

    # the serving drafter's own last layer, its first head spelled out
    seen: list[tuple[Tensor, ...]] = []
    attention = head.layers[-1].self_attn
    attention.register_forward_pre_hook(lambda _, args: seen.append(args))
    rows = stream(record, 1)
    ids, at = record.ids[rows].tolist(), int(record.positions[anchor])
    drafter = BlockDrafter(head, target)
    state = drafter.start(ids[:at])
    drafter.draft(state, ids[: at + 1], record.features[rows][:at])
    x, (cos, sin) = seen[0][0][0], seen[0][1]

    def turned(row: Tensor, j: int) -> Tensor:
        low, high = row.chunk(2)
        return row * cos[j] + torch.cat((-high, low)) * sin[j]

    keys = state.keys[0, -1, 0, : at + BLOCK]
    wanted = 0.0
    for j, cell in ((1, 4), (3, 2)):
        query = turned(attention.q_norm((attention.q_proj.weight[:16] @ x[j])[None])[0], j)
        wanted -= float((keys @ query / 4.0).log_softmax(0)[cell]) / 2
    assert loss.item() == pytest.approx(wanted, rel=1e-5)


def test_cells_lie_under_the_glyphs_that_were_copied(target: Target) -> None:
    sheet = page("train", 3)
    prompt = target.prompt(sheet.image.convert("RGB"), sheet.questions[0].question)
    ids = prompt.input_ids[0].tolist()
    segments, answer = [0] * len(ids), [False] * len(ids)
    for segment, question in enumerate(sheet.questions, start=1):
        given = target.tokenizer(question.answer)["input_ids"]
        if segment == 1:
            given[4] = given[4] + 1  # a character misread
        ids, segments = ids + given, segments + [segment] * len(given)
        answer += [True] * len(given)
    record = Record(
        ids=torch.tensor(ids),
        positions=torch.arange(len(ids)),
        segments=torch.tensor(segments),
        answer=torch.tensor(answer),
        features=torch.zeros(len(ids), 1, WIDTH),
        cells=torch.full((len(ids),), -1),
        tasks=tuple(q.task for q in sheet.questions),
    )
    cells = answer_cells(target, prompt, sheet, record)
    first = (prompt.input_ids[0] == target.model.config.image_token_id).nonzero()[0, 0]
    columns = sheet.image.width // 14
    row = len(prompt.input_ids[0])
    for segment, question in enumerate(sheet.questions, start=1):
        for i, glyph in enumerate(question.glyphs):
            cell, row = int(cells[row]), row + 1
            if glyph < 0 or (segment == 1 and i == 4):
                assert cell == -1
                continue
            r, c = divmod(cell - int(first), columns)
            x, y = sheet.glyphs[glyph].middle
            assert c * 14 <= x < (c + 1) * 14
            assert r * 14 <= y < (r + 1) * 14


def questions(lengths: tuple[int, ...]) -> list[Prompt]:
    """Prompts that share an image and end in random questions."""
    base = tiny_models.prompt("qwen3_vl", dtype=torch.float64)
    shared = base.input_ids.shape[1] - 8
    generator = torch.Generator().manual_seed(4)
    prompts = []
    for length in lengths:
        ids = torch.randint(100, (1, length), generator=generator)
        kinds = base.model_inputs["mm_token_type_ids"][:, :shared]
        kinds = torch.cat((kinds, torch.zeros_like(ids)), 1)
        prompts.append(
            replace(
                base,
                input_ids=torch.cat((base.input_ids[:, :shared], ids), 1),
                model_inputs={**base.model_inputs, "mm_token_type_ids": kinds},
            )
        )
    return prompts


@pytest.mark.parametrize("lengths", [(8, 3, 5), (4,)])
def test_packed_answers_equal_answers_one_by_one(lengths: tuple[int, ...]) -> None:
    target, taps, prompts = (
        tiny_models.target("qwen3_vl", torch.float64),
        (0, 2),
        questions(lengths),
    )
    record = answer_page(target, prompts, ["x"] * len(prompts), taps, max_new_tokens=24)
    distinct: set[int] = set()
    for segment, prompt in enumerate(prompts, start=1):
        n = prompt.input_ids.shape[1]
        rows = stream(record, segment)
        ids = record.ids[rows]
        assert torch.equal(ids[:n], prompt.input_ids[0])
        assert record.positions[rows].tolist() == list(range(len(ids)))
        assert record.answer[rows].tolist() == [False] * n + [True] * (len(ids) - n)
        solo = target.model.generate(
            input_ids=prompt.input_ids,
            attention_mask=torch.ones_like(prompt.input_ids),
            **prompt.model_inputs,
            max_new_tokens=24,
            do_sample=False,
        )
        assert ids.tolist() == solo[0].tolist()
        distinct |= set(ids[n:].tolist())

        request, _, read = target.prefill(prompt, taps)
        causal = torch.ones(len(ids) - n - 1, len(ids) - 1, dtype=torch.bool).tril(n)
        depths = torch.arange(len(ids) - n - 1)
        _, written = target.forward(request, ids[n:-1], depths, causal[None, None], taps)
        assert read is not None
        assert written is not None
        alone = torch.cat((read, written)).bfloat16()
        torch.testing.assert_close(record.features[rows][:-1], alone)
        assert not record.features[rows][-1].any()  # the last token was never an input
    assert len(distinct) > 8


@pytest.mark.slow
def test_pages_are_answered_in_another_process(tmp_path: Path) -> None:
    torch.manual_seed(0)
    build_model(layers=1, width=32, vision_layers=1).save_pretrained(tmp_path / "model")
    build_processor().save_pretrained(tmp_path / "model")
    pages = tmp_path / "pages"
    pages.mkdir()
    with answering(str(tmp_path / "model"), (0,), pages, range(5, 500)):
        deadline = time.monotonic() + 120
        while not record_path(pages, "train", 5).exists():
            assert time.monotonic() < deadline, "no page was answered"
            time.sleep(0.1)
    record = load_record(record_path(pages, "train", 5))
    assert record.tasks == tuple(q.task for q in page("train", 5).questions)
    assert record.features.shape == (len(record.ids), 1, 32)
    assert not list(pages.glob("*.partial"))


def test_record_round_trip(tmp_path: Path) -> None:
    record, path = make_record(), tmp_path / "page.safetensors"
    save_record(record, path)
    again = load_record(path)
    assert again.tasks == record.tasks
    for name in TENSORS:
        assert torch.equal(getattr(again, name), getattr(record, name))


def test_head_memorises_an_answer_and_drafts_it(target: Target) -> None:
    head, record = make_head(target).float(), make_record()
    torch.manual_seed(2)
    tables = nn.Embedding(target.vocab_size, WIDTH).requires_grad_(False)

    class Single:  # embedding and lm_head of unit scale, as a trained target has, in float32
        device, dtype = target.device, torch.float32
        vocab_size, hidden_size, num_layers = target.vocab_size, WIDTH, LAYERS
        name, revision = "tiny", "tiny"
        embed = staticmethod(tables)

        @staticmethod
        def lm_head(hidden: Tensor) -> Tensor:
            return hidden @ tables.weight.T

    batch = collate([record], target.device)
    batch = replace(batch, features=batch.features.float())
    anchors = anchor_rows(record.answer, record.segments)[None]
    labels, exists = block_labels(batch, anchors, BLOCK - 1)
    optimizer = torch.optim.AdamW(head.parameters(), lr=3e-3)
    losses = []
    for _ in range(60):
        loss = block_loss(draft_blocks(head, Single, batch, anchors), labels, exists)  # type: ignore[arg-type]
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        losses.append(loss.item())
    assert losses[-1] < 0.1 < 3 < losses[0]

    drafter = BlockDrafter(head, Single)  # type: ignore[arg-type]
    rows, n = stream(record, 1), PAGE + TAILS[0]
    ids = record.ids[rows].tolist()
    block = drafter.draft(drafter.start(ids[:n]), ids[: n + 1], record.features[rows][:n].float())
    assert block.logits.argmax(-1).tolist() == ids[n + 1 : n + BLOCK]
    replayed = replay_rounds(head, Single, [record])  # type: ignore[arg-type]
    # 7 tokens after the first: 5 accepted + bonus, then 1; and 3 in one round that the end cuts
    assert replayed.tau("transcribe", "chain") == pytest.approx(7 / 2)
    assert replayed.tau("docvqa", "tree") == pytest.approx(3)
    assert replayed.accuracy()[0] == 1.0
    assert str(replayed).endswith("tau chain/tree: docvqa 3.00/3.00, transcribe 3.50/3.50")


def test_replayed_chain_equals_rounds_counted_by_hand(target: Target) -> None:
    head, record = make_head(target, seed=5), make_record()
    replayed = replay_rounds(head, target, [record])
    drafter = BlockDrafter(head, target, chain=True)
    for segment, task in ((1, "transcribe"), (2, "docvqa")):
        rows, n = stream(record, segment), PAGE + TAILS[segment - 1]
        ids, features = record.ids[rows].tolist(), record.features[rows]
        state, at, rounds, absorbed = drafter.start(ids[:n]), n, 0, 0
        while at < len(ids) - 1:
            block = drafter.draft(state, ids[: at + 1], features[absorbed:at])
            absorbed = at
            drafted = block.logits.argmax(-1).tolist()
            accepted = 0
            while ids[at + 1 + accepted : at + 2 + accepted] == drafted[accepted : accepted + 1]:
                accepted += 1
            at += accepted + 1
            rounds += 1
        assert replayed.rounds[task, "chain"] == rounds
        assert replayed.committed[task, "chain"] == len(ids) - 1 - n


@pytest.fixture
def small_runs(monkeypatch: pytest.MonkeyPatch) -> None:
    for name, value in (
        ("PAGES_A_STEP", 2),
        ("ANCHORS_A_PAGE", 4),
        ("VALIDATION_PAGES", 1),
        ("FIRST_PAGES", 2),
    ):
        monkeypatch.setattr(training, name, value)
    capture = training.capture_page
    monkeypatch.setattr(
        training, "capture_page", lambda target, sheet, taps: capture(target, sheet, taps, 6)
    )


def answered(run: training.HeadTraining) -> training.HeadTraining:
    """With its pages there, a run of a second or two has time for a step on any machine."""
    run.collect("validation", training.VALIDATION_PAGES)
    run.collect("train", training.FIRST_PAGES)
    return run


@pytest.mark.usefixtures("small_runs")
def test_a_run_writes_a_head_and_resumes(
    target: Target, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    single = make_target("tiny", target.model.float(), target.processor, revision="tiny")
    try:
        first = answered(training.HeadTraining(single, tmp_path, resume=False))
        folder = first.run(minutes=0.04)
        state = json.loads((tmp_path / "state.json").read_text())
        assert state["steps"] == first.progress.steps > 0
        head = read_head(folder)
        assert head.config.target_revision == "tiny"
        assert head.config.target_layer_ids == (0, 1, 2)
        assert BlockDrafter(head, single).block_size == 16
        card = (folder / "README.md").read_text()
        assert f"{sum(p.numel() for p in head.parameters()):,}" in card
        assert "random weights" in card
        assert "tau" in capsys.readouterr().err

        again = training.HeadTraining(single, tmp_path, resume=True)
        assert again.progress == first.progress
        for name, tensor in again.head.state_dict().items():
            assert torch.equal(tensor, first.head.state_dict()[name])
        before = first.optimizer.tensors(first.head.named_parameters())
        after = again.optimizer.tensors(again.head.named_parameters())
        assert before.keys() == after.keys()
        assert any(name.endswith("#momentum_buffer") for name in before)
        for name, tensor in before.items():
            assert torch.equal(tensor, after[name])
        again.step([load_record(path) for path in sorted(again.pages.glob("train-*"))[:2]], 1e-3)
        assert again.progress.steps == first.progress.steps + 1

        single.revision = "another"
        with pytest.raises(HeadError, match="trained on target tiny"):
            training.HeadTraining(single, tmp_path, resume=True)
    finally:
        target.model.double()


def test_resuming_nothing_is_refused(target: Target, tmp_path: Path) -> None:
    with pytest.raises(HeadError, match="no checkpoint"):
        training.HeadTraining(target, tmp_path, resume=True)


@pytest.mark.usefixtures("small_runs")
def test_a_run_starts_from_a_head_made_for_another_target(target: Target, tmp_path: Path) -> None:
    single = make_target("tiny", target.model.float(), target.processor, revision="tiny")
    try:
        given = BlockHead(replace(training.head_config(single), target_revision="another"))
        write_head(given, tmp_path / "given", dtype=torch.float32)
        run = training.HeadTraining(single, tmp_path, resume=False, start=tmp_path / "given")
        assert run.head.revision() == given.revision()
        folder = answered(run).run(minutes=0.02)
        trained = read_head(folder)
        assert trained.config.target_revision == "tiny"
        assert trained.revision() != given.revision()
        resumed = training.HeadTraining(single, tmp_path, resume=True)
        card = resumed.export(resumed.replay([]), minutes=1) / "README.md"
        for text in (folder / "README.md").read_text(), card.read_text():
            assert f"the head with weights `{given.revision()}`" in text
            assert f"--start {tmp_path / 'given'}`" in text
    finally:
        target.model.double()


def test_a_start_of_another_shape_is_refused(target: Target, tmp_path: Path) -> None:
    write_head(make_head(target), tmp_path)
    with pytest.raises(HeadError, match=r"layers\.0\.mlp\.down_proj\.weight"):
        training.HeadTraining(target, tmp_path, resume=False, start=tmp_path)
    with pytest.raises(HeadError, match="no head"):
        training.HeadTraining(target, tmp_path, resume=False, start=tmp_path / "nowhere")


@pytest.mark.parametrize(
    ("layers", "taps"), [(1, (0,)), (2, (0,)), (5, (0, 1, 2, 3)), (8, (1, 3, 5, 6))]
)
def test_taps_are_spread_and_spare_the_last_layer(layers: int, taps: tuple[int, ...]) -> None:
    model = build_model(layers=layers, width=32, vision_layers=1)
    config = training.head_config(make_target("tiny", model, build_processor()))
    assert config.target_layer_ids == taps


def test_rate_warms_up_and_falls() -> None:
    assert training.learning_rate(0, 0.0) < training.learning_rate(100, 0.0)
    assert training.learning_rate(100, 0.5) == pytest.approx(0.51 * training.LEARNING_RATE)
    assert training.learning_rate(100, 1.0) == pytest.approx(0.02 * training.LEARNING_RATE)
