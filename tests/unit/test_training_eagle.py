"""Losses of the EAGLE heads, and the training-time test.

Run: python -m pytest tests/unit/test_training_eagle.py
"""

from types import SimpleNamespace

import pytest
import torch
from torch import Tensor, nn
from torch.nn import functional as F

from glance.drafters.grown import Children, TreeShape
from glance.training import eagle2, eagle3
from glance.training.looking import Watched, overlooked, stream_cells
from tests import tiny_models
from tests.eagle_heads import drafter, eagle2_head, eagle3_head

FAMILY = "llava"
STEPS = 5


@pytest.fixture(scope="module")
def tiny():
    return tiny_models.target(FAMILY, torch.float64)


@pytest.fixture(scope="module")
def text(tiny) -> dict[str, Tensor]:
    """A text without images as the target reads it: one sequence, its first 6 tokens the prompt."""
    ids = torch.randint(100, (1, 20), generator=torch.Generator().manual_seed(2))
    ask = tiny_models.Prompt(ids, {}, "", 0)
    with torch.inference_mode():
        _, _, taps = tiny.prefill(ask, (-1, 0, 1, 2))
        states = tiny.final_norm(taps[:, 3])
        says = tiny.lm_head(states)
    answer = torch.arange(20)[None] >= 6
    return {
        "ids": ids,
        "embeds": taps[None, :, 0].clone(),
        "features": taps[None, :, 1:].clone(),
        "states": states[None].clone(),
        "says": says[None].clone(),
        "positions": torch.arange(20)[None, None],
        "answer": answer,
    }


def forced(draft, tokens: list[int], logits_of) -> list[Tensor]:
    """Make a drafter propose these tokens one after the other; collects the logits of each row."""
    heard: list[Tensor] = []

    def rank(hidden: Tensor) -> list[Children]:
        heard.append(logits_of(hidden[0, -1]))
        return [Children([tokens[len(heard) - 1]], [-0.1])]

    draft._rank = rank
    return heard


@pytest.mark.parametrize("changes", [{}, {"mrope_section": ()}])
@pytest.mark.parametrize("root_at", [6, 7, 11])
def test_a_step_of_the_training_time_test_is_a_step_of_drafting(
    tiny, text, root_at: int, changes
) -> None:
    """Row t, step i: the same logits as at depth i of the chain drafted from root t + 1."""
    chain = TreeShape(STEPS - 1, 1, STEPS)
    draft = drafter("eagle3", tiny, chain, **changes)
    ids = text["ids"][0].tolist()
    heard = forced(draft, ids[root_at + 1 :], draft.head.logits)
    state = draft.start(ids[:6], text["positions"][0, :, :6].expand(3, -1))
    draft.draft(state, ids[: root_at + 1], text["features"][0, :root_at])

    positions = text["positions"].expand(-1, 3, -1)
    steps = list(eagle3.unroll(draft.head, text["embeds"], text["features"], positions, STEPS))
    assert len(heard) == len(steps) == STEPS
    for step, logits in enumerate(steps):
        torch.testing.assert_close(logits[0, root_at - 1], heard[step])


def test_a_guess_in_training_is_a_guess_in_drafting(tiny, text) -> None:
    draft = drafter("eagle2", tiny, TreeShape(1, 1, 1))
    ids = text["ids"][0].tolist()
    heard = forced(draft, ids[10:], lambda hidden: hidden)
    features = torch.stack((text["embeds"][0], text["features"][0, :, 2]), dim=1)
    draft.draft(draft.start(ids[:6]), ids[:10], features[:9])
    guessed = eagle2.guess(draft.head, text["embeds"], text["states"])
    torch.testing.assert_close(guessed[0, 8], heard[0])


def test_lessons_begin_at_the_root_and_end_with_the_answer() -> None:
    answer = torch.tensor([[0, 0, 1, 1, 1, 0], [0, 1, 1, 1, 1, 1]], dtype=torch.bool)
    wanted = eagle2.lessons(answer)
    assert wanted.tolist() == [
        [False, False, True, True, False, False],
        [False, True, True, True, True, False],
    ]
    # The first draft pass ends in row 1, the prompt's last: it pairs with the root, at row 2.
    assert eagle2.shifted(wanted, 1)[0].tolist() == [False, True, True, False, False, False]
    assert eagle2.shifted(wanted, 2)[0].tolist() == [True, True, False, False, False, False]


def test_the_guide_of_eagle3_written_out(tiny, text) -> None:
    """Step i of row t speaks of the token of row t + 2 + i, and is to look at that one's cell."""
    head, rows = eagle3_head(tiny).double(), torch.arange(8, 17)
    attend = eagle3.OwnSteps(20, rows.device, rows, watched=True)
    given = head, text["embeds"], text["features"], text["positions"], 3, rows
    told = list(eagle3.unroll(*given, attend))
    for one, other in zip(told, eagle3.unroll(*given), strict=True):
        torch.testing.assert_close(one, other)
    assert [look.shape for look in attend.looks] == [(1, 9, 20), (1, 9, 21), (1, 9, 22)]
    for look in attend.looks:
        torch.testing.assert_close(look.exp().sum(-1), torch.ones(1, 9))
    cells = torch.full((1, 20), -1)
    cells[0, 12], cells[0, 18] = 3, 5
    loss = eagle3.guide_loss(attend.looks, cells, rows)
    total = sum(
        -(0.8**step) * attend.looks[step][0, row - 8, cell]
        for at, cell in ((12, 3), (18, 5))
        for step in range(3)
        if 8 <= (row := at - 2 - step) < 17
    )
    torch.testing.assert_close(loss, total / 20)
    # what it watches is what the layer does
    whole = list(eagle3.unroll(*given))
    for one, other in zip(
        eagle3.unroll(*given, eagle3.OwnSteps(20, rows.device, rows, watched=True)),
        whole,
        strict=True,
    ):
        torch.testing.assert_close(one, other)


def test_eagle2_is_watched_while_it_guesses(tiny, text) -> None:
    draft, rows = drafter("eagle2", tiny, TreeShape(1, 1, 1)), torch.arange(8, 17)
    attend = Watched(eagle2.causal_mask(20, rows.device)[:, :, rows])
    given = draft.head, text["embeds"], text["states"], rows
    torch.testing.assert_close(eagle2.guess(*given, attend), eagle2.guess(*given))
    torch.testing.assert_close(attend.look.exp().sum(-1), torch.ones(1, 9))
    cells = torch.full((1, 20), -1)
    cells[0, 12], cells[0, 19] = 3, 5  # of row 17's token, which no row here speaks of
    missed, known = overlooked(attend.look, cells, rows, ahead=2)
    assert known == 1
    torch.testing.assert_close(missed, -attend.look[0, 10 - 8, 3])


def test_cells_are_found_in_the_stream_of_a_question() -> None:
    record = SimpleNamespace(cells=torch.tensor([-1, -1, -1, -1, 1, 2, 0]))
    rows = torch.tensor([0, 1, 2, 5, 6])  # rows 3 and 4 are another question's
    assert stream_cells(record, rows).tolist() == [-1, -1, -1, 2, 0]


def test_the_loss_of_eagle3_written_out(tiny, text) -> None:
    head = eagle3_head(tiny).double()
    wanted = eagle2.lessons(text["answer"])
    steps = list(eagle3.unroll(head, text["embeds"], text["features"], text["positions"], 3))
    loss, shares = eagle3.eagle3_loss(iter(steps), head, text["says"], wanted)
    total, says = 0.0, text["says"][0]
    for i, logits in enumerate(steps):
        lessons, right = [], 0
        for t in range(20):
            at = t + 1 + i  # the row whose distribution is drafted
            if at >= 20 or not wanted[0, at] or says[at].argmax() % 2:
                continue  # odd tokens are not in the draft vocabulary
            p = says[at, ::2].float().softmax(-1)
            log_q = logits[0, t].float().log_softmax(-1)
            lessons.append(-(p * log_q).sum())
            right += int(2 * log_q.argmax() == says[at].argmax())
        assert len(lessons) > 1
        total += 0.8**i * torch.stack(lessons).sum() / 20
        assert shares[i] == pytest.approx(right / len(lessons))
    torch.testing.assert_close(loss, total)


def test_the_loss_of_eagle2_written_out(tiny, text) -> None:
    head = eagle2_head(tiny).double()
    wanted = eagle2.lessons(text["answer"])
    guessed = eagle2.guess(head, text["embeds"], text["states"])
    loss, share = eagle2.eagle2_loss(guessed, text["states"], wanted, tiny)
    feature, tokens, right, rows = 0.0, 0.0, 0, range(5, 18)
    for t in rows:  # row 5 pairs with the root at 6; row 18's answer has nothing after it
        true = text["states"][0, t + 1]
        feature += F.smooth_l1_loss(guessed[0, t], true)
        p, log_q = text["says"][0, t + 1].softmax(-1), tiny.lm_head(guessed[0, t]).log_softmax(-1)
        tokens -= (p * log_q).sum()
        right += int(log_q.argmax() == p.argmax())
    expected = (feature + 0.1 * tokens) / len(rows)
    torch.testing.assert_close(loss, expected, atol=1e-6, rtol=1e-6)
    assert share == pytest.approx(right / len(rows))


def test_eagle2_without_a_lesson_has_nothing_to_learn(tiny, text) -> None:
    head = eagle2_head(tiny).double()
    guessed = eagle2.guess(head, text["embeds"], text["states"])
    none = torch.zeros_like(text["answer"])
    loss, share = eagle2.eagle2_loss(guessed, text["states"], none, tiny)
    loss.backward()
    assert (loss.item(), share) == (0.0, 0.0)
    assert all((p.grad == 0).all() for p in head.parameters())


def test_noise_is_uniform_and_fades_with_length() -> None:
    for rows, bound in ((64, 0.8), (512, 0.1), (1024, 0.05)):
        clean = torch.zeros(2, rows, 8)
        noise = eagle2.noisy(clean, torch.Generator().manual_seed(0))
        assert 0.95 * bound < noise.max() <= bound
        assert -bound <= noise.min() < -0.95 * bound
        assert abs(noise.mean()) < 0.05 * bound


def test_what_was_not_drafted_yet_is_not_seen(tiny, text) -> None:
    """A row sees first-step rows up to itself, and of later steps its own alone."""
    head = eagle3_head(tiny).double()

    def logits(embeds: Tensor, features: Tensor) -> list[Tensor]:
        return list(eagle3.unroll(head, embeds, features, text["positions"], 3))

    plain = logits(text["embeds"], text["features"])
    later = text["features"].clone()
    later[:, 10:] += 1.0
    ahead = text["embeds"].clone()
    ahead[:, 13:] += 1.0
    for step, (one, other, third) in enumerate(
        zip(
            plain,
            logits(text["embeds"], later),
            logits(ahead, text["features"]),
            strict=True,
        )
    ):
        torch.testing.assert_close(one[:, :10], other[:, :10])
        assert not torch.isclose(one[:, 10], other[:, 10]).all()
        seen = 12 - step  # the row that reads token 13 at this step
        torch.testing.assert_close(one[:, :seen], third[:, :seen])
        assert not torch.isclose(one[:, seen], third[:, seen]).all()


def train(head: nn.Module, lesson, steps: int) -> tuple[list[float], list[float]]:
    head.train()
    optimizer = torch.optim.AdamW(head.parameters(), lr=1e-2, betas=(0.9, 0.95))
    losses, shares = [], []
    for _ in range(steps):
        loss, share = lesson()
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        losses.append(loss.item())
        shares.append(share)
    return losses, shares


def test_eagle2_learns_a_text_by_heart(tiny, text) -> None:
    head = eagle2_head(tiny).double()
    wanted = eagle2.lessons(text["answer"])

    def lesson():
        guessed = eagle2.guess(head, text["embeds"], text["states"])  # so short a text: no noise
        return eagle2.eagle2_loss(guessed, text["states"], wanted, tiny)

    losses, shares = train(head, lesson, 60)
    assert losses[-1] < 0.5 * losses[0]
    assert shares[0] < 0.3 < 0.8 < shares[-1]


def test_eagle3_learns_a_text_by_heart(tiny, text) -> None:
    head = eagle3_head(tiny, draft_vocab_size=tiny.vocab_size, mrope_section=()).double()
    wanted = eagle2.lessons(text["answer"])
    says = 4 * text["says"]  # surer than the tiny target: the loss can come near 0

    def lesson():
        steps = eagle3.unroll(head, text["embeds"], text["features"], text["positions"])
        return eagle3.eagle3_loss(steps, head, says, wanted)

    losses, shares = train(head, lesson, 60)
    assert losses[-1] < 0.5 * losses[0]
    for step in range(7):
        assert shares[0][step] < 0.3 < 0.8 < shares[-1][step]


def test_the_draft_vocabulary_is_the_most_frequent_tokens() -> None:
    counts = torch.tensor([3, 0, 5, 5, 1, 3])
    assert eagle3.draft_vocabulary(counts, 3).tolist() == [0, 2, 3]
    assert eagle3.draft_vocabulary(counts, 6).tolist() == list(range(6))
