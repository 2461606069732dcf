"""Degradations: plans, sizes, determinism, and where the ink goes."""

import random

import numpy as np
import pytest
from PIL import Image, ImageChops

from glance.documents.canvas import Canvas
from glance.documents.degrade import NAMES, Degradation, degrade, draw_plan, move_box
from glance.documents.faces import FACES, load_face
from glance.documents.warp import IDENTITY, Matrix, turn, warp

SIZE = 11
LEVELS = (0.0, 0.5, 1.0)
GEOMETRIC = ("rotation", "perspective")
LINES = ("Invoice no. INV-20931", "Total due: £1,284.60", "17 Elm Road, 0161 496 0382")


def a_page(width: int = 280, height: int = 224, text: tuple[str, ...] = LINES) -> Canvas:
    """Text from edge to edge: the first and last lines and columns are close to the sides."""
    canvas = Canvas((width, height), (246, 246, 246), (30, 30, 30))
    for k, y in enumerate(range(3, height - 18, 18)):
        face = load_face(FACES[k % len(FACES)], SIZE)
        line = text[k % len(text)]
        canvas.row(y, [(4 if k % 2 else width - 4 - face.getlength(line), line, False)], face)
    return canvas


PAGE = a_page()


def once(
    name: str, level: float, seed: int = 0, canvas: Canvas = PAGE
) -> tuple[Image.Image, Matrix]:
    return degrade(canvas.image, (Degradation(name, level),), random.Random(seed), SIZE)


def test_plans_are_distinct_ordered_and_without_rivals() -> None:
    rng = random.Random(0)
    seen: set[str] = set()
    for _ in range(300):
        for count in range(10):
            plan = draw_plan(rng, count)
            names = [d.name for d in plan]
            assert len(set(names)) == count
            assert names == sorted(names, key=NAMES.index)
            assert not {"rotation", "perspective"} <= set(names)
            assert not {"paper", "inverted"} <= set(names)
            assert all(0 <= d.level <= 1 for d in plan)
            seen.update(names)
    assert seen == set(NAMES)
    with pytest.raises(ValueError, match="go together"):
        draw_plan(rng, 10)


def test_a_plan_repeats_with_its_seed_and_uses_all_levels() -> None:
    assert draw_plan(random.Random(3), 4) == draw_plan(random.Random(3), 4)
    rng = random.Random(1)
    levels = [d.level for _ in range(500) for d in draw_plan(rng, 2)]
    assert np.histogram(levels, 5, (0, 1))[0].min() > 150


@pytest.mark.parametrize(("name", "level"), [("crumple", 0.5), ("blur", -0.1), ("blur", 1.1)])
def test_an_impossible_degradation_is_refused(name: str, level: float) -> None:
    with pytest.raises(ValueError, match="no such degradation"):
        Degradation(name, level)


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("level", LEVELS)
def test_size_and_mode_stay_and_the_seed_decides(name: str, level: float) -> None:
    before = PAGE.image.tobytes()
    (image, matrix), (again, same) = once(name, level), once(name, level)
    assert image.size == PAGE.image.size
    assert image.mode == "RGB"
    assert image.tobytes() == again.tobytes()
    assert matrix == same
    assert image.tobytes() != before
    assert PAGE.image.tobytes() == before
    assert (matrix == IDENTITY) == (name not in GEOMETRIC)


@pytest.mark.parametrize("name", NAMES)
def test_a_higher_level_changes_more(name: str) -> None:
    def change(level: float) -> float:
        images = [once(name, level, seed)[0] for seed in range(6)]
        return sum(float(np.asarray(ImageChops.difference(i, PAGE.image)).mean()) for i in images)

    if name == "inverted":  # the purest negative is the easiest one to read
        assert change(0.0) > change(1.0)
    else:
        assert change(0.0) < change(1.0)


@pytest.mark.parametrize("name", GEOMETRIC)
@pytest.mark.parametrize("size", [(280, 224), (196, 560), (560, 196)])
def test_moved_boxes_hold_all_ink_and_none_leaves(name: str, size: tuple[int, int]) -> None:
    canvas = a_page(*size)
    bare = Image.new("RGB", size, canvas.paper)
    for seed in range(4):
        image, matrix = once(name, 1.0, seed, canvas)
        seen = np.asarray(image.convert("L"))
        alone = np.asarray(warp(canvas.image, matrix, bare).convert("L")).copy()
        for edge in (alone[0], alone[-1], alone[:, 0], alone[:, -1]):
            assert edge.min() > 200  # ink that left would have been cut through here
        for glyph in canvas.glyphs:
            x0, y0, x1, y1 = move_box(glyph.box, matrix)
            box = slice(max(int(y0), 0), int(y1) + 1), slice(max(int(x0), 0), int(x1) + 1)
            if glyph.char not in " .,:-":
                assert seen[box].min() < 190, glyph  # the thinnest strokes are pale
        for glyph in canvas.glyphs:
            x0, y0, x1, y1 = move_box(glyph.box, matrix)
            alone[max(int(y0 - 1), 0) : int(y1 + 2), max(int(x0 - 1), 0) : int(x1 + 2)] = 255
        assert alone.min() > 200


def test_a_page_with_room_is_turned_without_scaling() -> None:
    roomy = turn((400, 400), 3.0, (60, 60, 340, 340))
    full = turn((400, 400), 3.0, (0, 0, 400, 400))
    assert np.linalg.det(np.array(roomy)) == pytest.approx(1.0)
    assert np.linalg.det(np.array(full)) == pytest.approx(0.9, abs=0.02)
    assert move_box((60, 60, 340, 340), roomy)[0] >= 1
    assert move_box((0, 0, 400, 400), full) == pytest.approx((1, 1, 399, 399))


def test_boxes_move_with_the_matrix() -> None:
    assert move_box((1, 2, 3, 4), IDENTITY) == (1, 2, 3, 4)
    shift = ((1.0, 0.0, 5.0), (0.0, 1.0, -1.0), (0.0, 0.0, 1.0))
    assert move_box((1, 2, 3, 4), shift) == (6, 1, 8, 3)
    half = ((1.0, 0.0, 0.0), (0.0, 1.0, 0.0), (0.0, 0.0, 2.0))
    assert move_box((1, 2, 3, 4), half) == (0.5, 1, 1.5, 2)


def test_ink_stays_apart_from_the_paper() -> None:
    for seed in range(8):
        shaded, _ = once("shadow", 1.0, seed)
        for image in (PAGE.image, shaded):
            pale, _ = degrade(image, (Degradation("contrast", 1.0),), random.Random(seed), SIZE)
            grey = np.asarray(pale.convert("L")).astype(int)
            assert np.percentile(grey, 90) - grey.min() >= 69
        tinted = np.asarray(once("paper", 1.0, seed)[0].convert("L")).astype(int)
        assert tinted.min() <= 40
        assert tinted.max() - tinted.min() > 100


def test_pale_ink_is_not_drowned_in_noise() -> None:
    def spread(plan: tuple[Degradation, ...]) -> float:
        image, _ = degrade(PAGE.image, plan, random.Random(2), SIZE)
        return float(np.asarray(image)[-10:].astype(float).std())  # bare paper

    noise = Degradation("noise", 1.0)
    assert 12 < spread((noise,)) <= 23
    assert spread((Degradation("contrast", 1.0), noise)) < 14


def test_whole_plans_keep_size_and_repeat() -> None:
    for seed in range(12):
        plan = draw_plan(random.Random(seed), 9)
        first, a = degrade(PAGE.image, plan, random.Random(seed), SIZE)
        second, b = degrade(PAGE.image, plan, random.Random(seed), SIZE)
        assert first.size == PAGE.image.size
        assert first.tobytes() == second.tobytes()
        assert a == b != IDENTITY
