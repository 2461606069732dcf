"""Training of the block head: packed answers, mask, labels, replay, and equality with serving.

Run: python -m pytest tests/unit/test_training_head.py
"""

from dataclasses import replace
from pathlib import Path

import pytest
import torch
from torch import Tensor, nn

from glance.documents.dataset import page
from glance.drafters.block import BlockDrafter
from glance.heads.block import BlockHead
from glance.heads.config import HeadConfig
from glance.targets.base import Target
from glance.training.blocks import (
    PADDING,
    Gaze,
    anchor_rows,
    block_cells,
    block_labels,
    block_loss,
    block_mask,
    collate,
    decay,
    draft_blocks,
    sample_anchors,
)
from glance.training.capture import (
    TENSORS,
    Record,
    answer_cells,
    answer_page,
    load_answers,
    load_record,
    sample_page,
    save_record,
)
from glance.training.replayed import replay
from tests import tiny_models, training_records
from tests.training_records import ANSWERS, LAYERS, PAGE, TAILS, WIDTH, questions, tiny_target

TAPS, BLOCK = (0, 2, 3), 6


@pytest.fixture(scope="module")
def target() -> Target:
    return tiny_target(torch.float64)


def make_record(seed: int = 1) -> Record:
    return training_records.make_record(seed).tapped(TAPS)


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


def test_decay_is_the_papers_for_its_three_block_sizes() -> None:
    assert [decay(size) for size in (16, 10, 8)] == [7, 5, 4]
    assert decay(2) > 0


def test_loss_is_the_weighted_mean_spelled_out() -> None:
    generator = torch.Generator().manual_seed(3)
    logits = torch.randn(1, 2, 3, 7, generator=generator)
    labels = torch.randint(7, (1, 2, 3), generator=generator)
    exists = torch.tensor([[[True, True, True], [True, False, False]]])
    above = below = 0.0
    for a in range(2):
        for k in range(3):
            if exists[0, a, k]:
                weight = float(torch.exp(torch.tensor(-k / 3)))  # gamma of blocks of four
                above -= weight * float(logits[0, a, k].log_softmax(-1)[labels[0, a, k]])
                below += weight
    assert block_loss(logits, labels, exists).item() == pytest.approx(above / below, rel=1e-5)


def test_padding_rows_are_never_anchors() -> None:
    record = make_record()
    rows = record.stream(1)
    fewer = {name: getattr(record, name)[..., rows] for name in TENSORS if name != "features"}
    short = replace(record, **fewer, features=record.features[rows], tasks=("transcribe",))
    batch = collate([record, short], torch.device("cpu"))
    anchors = sample_anchors(batch, 50, torch.Generator().manual_seed(0))
    assert int(anchors[1].max()) <= PAGE + TAILS[0] + ANSWERS[0] - 2
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
            rows = record.stream(segment)
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
    rows = record.stream(1)
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
        rotary=torch.arange(len(ids)).expand(3, -1),
        features=torch.zeros(len(ids), 1, WIDTH),
        cells=torch.full((len(ids),), -1),
        tasks=tuple(q.task for q in sheet.questions),
        taps=(0,),
        target_revision="tiny",
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


@pytest.mark.parametrize("lengths", [(8, 3, 5), (4,)])
def test_packed_answers_equal_answers_one_by_one(lengths: tuple[int, ...]) -> None:
    target, taps, prompts = (
        tiny_models.target("qwen3_vl", torch.float64),
        (0, 2),
        questions(lengths, torch.float64),
    )
    record = answer_page(target, prompts, ["x"] * len(prompts), taps, max_new_tokens=24)
    assert (record.taps, record.target_revision) == (taps, target.revision)
    distinct: set[int] = set()
    for segment, prompt in enumerate(prompts, start=1):
        n = prompt.input_ids.shape[1]
        rows = record.stream(segment)
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
        assert request.positions is not None
        assert torch.equal(record.rotary[:, rows[:n]], request.positions)
        after = request.rope_delta + torch.arange(n, len(ids))
        assert torch.equal(record.rotary[:, rows[n:]], after.expand(3, -1))
        causal = torch.ones(len(ids) - n - 1, len(ids) - 1, dtype=torch.bool).tril(n)
        depths = torch.arange(len(ids) - n - 1)
        _, written = target.forward(request, ids[n:-1], depths, causal[None, None], taps)
        assert read is not None
        assert written is not None
        alone = torch.cat((read, written)).bfloat16()
        torch.testing.assert_close(record.features[rows][:-1], alone)
        assert not record.features[rows][-1].any()  # the last token was never an input
    assert len(distinct) > 8


def test_a_sampled_answer_is_a_draw_and_no_longer_than_the_greedy_one(target: Target) -> None:
    sheet, taps = page("train", 3), (-1, 3)
    image = sheet.image.convert("RGB")
    prompts = [target.prompt(image, q.question, q.history) for q in sheet.questions]
    record = answer_page(target, prompts[2:3], [sheet.questions[2].task], taps, 9)
    segments = torch.where(record.segments > 0, 3, 0)  # as if it were the third of the page
    sampled = sample_page(target, sheet, taps, replace(record, segments=segments))
    again = sample_page(target, sheet, taps, replace(record, segments=segments))
    assert sampled.tasks == (sheet.questions[2].task,)
    n, drawn = prompts[2].input_ids.shape[1], sampled.ids[sampled.answer].tolist()
    assert sampled.ids[:n].tolist() == prompts[2].input_ids[0].tolist()
    assert drawn == again.ids[again.answer].tolist()
    assert drawn != record.ids[record.answer].tolist()
    assert len(set(drawn)) > 1
    assert len(drawn) <= 9


def test_the_end_of_the_longest_answer_can_be_left_out() -> None:
    record = make_record()
    assert record.longest() == 1
    cut = record.without_end(3)
    first = PAGE + TAILS[0]
    assert cut.answer.tolist() == [
        keep and not first + 5 <= row < first + 8 for row, keep in enumerate(record.answer.tolist())
    ]
    assert torch.equal(record.without_end(0).answer, record.answer)
    assert int(record.without_end(8).answer.sum()) == ANSWERS[1]


def test_record_round_trip(tmp_path: Path) -> None:
    record, path = make_record(), tmp_path / "page.safetensors"
    save_record(record, path)
    again = load_record(path)
    for name in ("tasks", "taps", "target_revision"):
        assert getattr(again, name) == getattr(record, name)
    for name in TENSORS:
        assert torch.equal(getattr(again, name), getattr(record, name))
    assert torch.equal(load_answers(path), record.ids[record.answer])
    save_record(make_record(2), path)  # whoever comes second leaves what is there
    assert torch.equal(load_record(path).ids, record.ids)
    assert [file.name for file in tmp_path.iterdir()] == ["page.safetensors"]


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
    rows, n = record.stream(1), PAGE + TAILS[0]
    ids = record.ids[rows].tolist()
    block = drafter.draft(drafter.start(ids[:n]), ids[: n + 1], record.features[rows][:n].float())
    assert block.logits.argmax(-1).tolist() == ids[n + 1 : n + BLOCK]
    replayed = replay(drafter, Single, [record])  # type: ignore[arg-type]
    # 7 tokens after the first: 5 accepted + bonus, then 1; and 3 in one round that the end cuts
    assert replayed.rounds == {"transcribe": 2, "docvqa": 1}
    assert replayed.tau == pytest.approx(10 / 3)
    assert str(replayed) == "tau 3.333 (docvqa 3.00, transcribe 3.50)"


def test_replayed_chain_equals_rounds_counted_by_hand(target: Target) -> None:
    head, record = make_head(target, seed=5), make_record()
    drafter = BlockDrafter(head, target, chain=True)
    replayed = replay(drafter, target, [record])
    for segment, task in ((1, "transcribe"), (2, "docvqa")):
        rows, n = record.stream(segment), PAGE + TAILS[segment - 1]
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
        assert replayed.rounds[task] == rounds
        assert replayed.committed[task] == len(ids) - 1 - n
