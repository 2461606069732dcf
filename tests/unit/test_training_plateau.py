"""When the learning rate falls, and when training stops.

Run: python -m pytest tests/unit/test_training_plateau.py
"""

import math

import pytest

from glance.training.plateau import CHECK_STEPS, LEAST_STEPS, LEVELS, LITTLE, Plateau


def test_checks_are_a_tenth_of_the_steps_apart_once_there_are_many() -> None:
    assert Plateau().next_check() == CHECK_STEPS
    assert Plateau([(300, 1.0)]).next_check() == 300 + CHECK_STEPS
    assert Plateau([(4500, 1.0)]).next_check() == 5000


def test_gain_is_over_the_last_tenth_of_the_steps() -> None:
    plateau = Plateau([(800, 2.0), (895, 2.2), (905, 2.35), (1000, 2.42)])
    assert plateau.gain() == (pytest.approx(2.42 / 2.2 - 1), 895)
    assert Plateau([(1000, 2.0)]).gain() is None
    assert Plateau().gain() is None


@pytest.mark.parametrize(
    ("points", "lowered", "flat"),
    [
        ([(900, 2.0), (1000, 2.019)], 0, True),
        ([(900, 2.0), (1000, 2.021)], 0, False),
        ([(900, 2.0), (1000, 1.9)], 0, True),
        ([(900, 2.0)], 0, False),
        ([(LEAST_STEPS - 100, 1.0), (LEAST_STEPS - 1, 1.0)], 0, False),  # some begin late
        ([(900, 2.0), (1000, 2.0)], 950, False),  # of another rate in part
        ([(900, 2.0), (1000, 2.0)], 900, True),
    ],
)
def test_flat_is_a_gain_under_one_percent(
    points: list[tuple[int, float]], lowered: int, flat: bool
) -> None:
    assert LITTLE == 0.01
    assert Plateau(points, lowered=lowered).is_flat() == flat


def test_the_rate_falls_where_validation_is_flat_and_training_ends_after_the_last() -> None:
    plateau, factors, steps = Plateau(), [], 0
    while not plateau.is_over():
        factors.append(plateau.advance(steps, spent=0.0))
        steps += 1
        if steps >= plateau.next_check():
            # each lower rate brings a jump, then nothing more
            tau = 3 - 2 * math.exp(-steps / 400) + 0.5 * plateau.level
            plateau.points.append((steps, tau))
        assert steps < 20_000
    assert sorted(set(factors), reverse=True) == list(LEVELS)
    assert factors == sorted(factors, reverse=True)
    (_, before), (last, now) = plateau.points[-2:]
    assert now / before - 1 < LITTLE
    assert last == steps
    assert plateau.lowered <= 0.9 * steps
    assert factors.count(LEVELS[-1]) >= 0.1 * steps


def test_the_rate_falls_as_well_when_the_time_is_running_out() -> None:
    plateau = Plateau([(90, 1.0)])
    assert [plateau.advance(100 + i, spent) for i, spent in enumerate((0.5, 0.76, 0.8, 0.91))] == [
        LEVELS[0],
        LEVELS[1],
        LEVELS[1],
        LEVELS[2],
    ]
    assert plateau.lowered == 103
    assert not plateau.is_over()


@pytest.mark.parametrize(
    ("flat", "spent", "level"),
    [(0, 0.5, 0), (0, 0.75, 0), (0, 0.8, 1), (0, 0.95, 2), (1, 0.5, 1), (1, 0.95, 2), (2, 0.5, 2)],
)
def test_more_time_takes_back_what_was_lowered_for_want_of_it(
    flat: int, spent: float, level: int
) -> None:
    plateau = Plateau([(900, 2.0), (1000, 2.5)], level=2, lowered=950, flat=flat)
    plateau.resume(1000, spent)
    assert plateau.level == level
    assert (plateau.lowered, plateau.raised) == ((950, 0) if level == 2 else (1000, 1000))


def test_a_level_counts_as_flat_by_validation_alone() -> None:
    flat, growing = [(900, 2.0), (1000, 2.0)], [(900, 2.0), (1000, 2.5)]
    for points, spent, counted in ((flat, 0.1, 1), (flat, 0.8, 1), (growing, 0.8, 0)):
        plateau = Plateau(list(points))
        plateau.advance(1000, spent)
        assert (plateau.level, plateau.flat) == (1, counted)
    hurried = Plateau(list(flat), level=1)  # the first level was not flat
    hurried.advance(1000, 0.8)
    assert (hurried.level, hurried.flat) == (2, 0)


def test_a_higher_rate_is_not_measured_against_a_lower_one() -> None:
    plateau = Plateau([(900, 2.0), (1000, 2.5)], level=2, lowered=850)
    plateau.resume(1000, spent=0.5)
    plateau.points.append((1112, 2.3))  # the noise is back
    assert plateau.gain() is None
    plateau.points += [(1236, 2.31)]
    assert plateau.gain() == (pytest.approx(2.31 / 2.3 - 1), 1112)
    assert plateau.is_flat()
