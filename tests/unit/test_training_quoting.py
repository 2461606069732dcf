"""Where the words of a question stand on its page.

Run: python -m pytest tests/unit/test_training_quoting.py
"""

import pytest

from glance.training.pages import Batch, Sampler, train_page
from glance.training.quoting import NO_CELL, quoted
from glance.training.sequences import build

LINES = ("Item Price", "Grey bowl 4.50", "Red bowl 3.10", "Rosa 25%")


def lines(*texts: str) -> list[tuple[str, list[tuple[int, int]]]]:
    """Every character in a cell of its own."""
    return [(text, [(n, at) for at in range(len(text))]) for n, text in enumerate(texts)]


def shown(question: str) -> str:
    """The characters that are found, by their own cells; dots for the others."""
    cells = quoted(question, lines(*LINES))
    assert len(cells) == len(question)
    return "".join("." if c == NO_CELL else LINES[c[0]][c[1]] for c in cells)


@pytest.mark.parametrize(
    ("question", "wanted"),
    [
        ("the price of Grey bowl?", "......ice......ey bowl."),  # whatever the case
        ("the bowl", "........"),  # stands there twice
        ("I need Red bowl.", ".........d bowl."),
        ("Rosa", "..sa"),
        ("for Ros", "......."),  # whole words alone
        ("the sum", "......."),
    ],
)
def test_words_that_stand_on_the_page_once_are_found(question, wanted) -> None:
    assert shown(question) == wanted


def test_the_longest_run_wins() -> None:
    assert quoted("Blue bowl", lines("Blue bowl", "Blue plate"))[2] == (0, 2)


def test_rows_of_a_question_look_at_the_cells_of_its_quotations() -> None:
    drawn = [train_page("train", index) for index in range(12)]
    turns = [(p, t) for p in drawn for t in p.turns if any(c != NO_CELL for c in t.quoted)]
    assert len(turns) > 3
    for p, turn in turns:
        s = build(Batch(p.image[None], p.labels[None], [[turn]]))
        rows, columns = p.labels.shape[0], p.labels.shape[1] // 4
        begin = 1 + 1 + rows * columns + 1  # user, start, cells, end
        here = s.here[0, begin : begin + len(turn.question)].tolist()
        where = [NO_CELL] * (len(turn.question) - len(turn.quoted)) + list(turn.quoted)
        assert here == [-1 if r < 0 else 2 + r * columns + c for r, c in where]


def test_prompts_of_two_pages_point_at_the_right_page() -> None:
    drawn = [train_page("train", index) for index in range(40)]
    batch = Sampler(drawn, seed=0, plan=0).pairs(2000)
    rows = batch.labels.shape[1]
    places = [c[0] for turns in batch.turns for t in turns for c in t.quoted if c != NO_CELL]
    assert places
    assert max(places) < 2 * rows
