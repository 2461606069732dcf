"""The entropy law on rounds drawn from it: what a fit must find, and what it must not.

python -m pytest tests/unit/test_law.py
"""

import math
import re
from xml.etree import ElementTree

import numpy as np
import pytest

from glance.law import Law, Rounds, _slope, expected_accepted, fit, fit_flat
from glance.law_checks import (
    EXPLAINS,
    FALLS,
    ORDERED,
    SOUND,
    check,
    curve,
    entropy_ceiling,
    held_out,
    histogram,
    middle_share,
    r2,
    spearman,
)
from glance.law_pages import b1_interval, difference
from glance.law_picture import draw

L = 15
TRUE = Law(1.2, 0.9)


def drawn(
    law: Law,
    n: int = 2000,
    seed: int = 2,
    rooms: tuple[int, int] = (L, L),
    a_page: int = 20,  # rounds
    spread: float = 0.0,  # of b0 from page to page
) -> Rounds:
    """Rounds from the law: offsets are accepted one after the other, each with probability p."""
    rng = np.random.default_rng(seed)
    page = np.arange(n) // a_page
    entropy = rng.exponential(0.8, n)
    room = rng.integers(rooms[0], rooms[1] + 1, n)
    logit = law.b0 - law.b1 * entropy + spread * rng.standard_normal(page[-1] + 1)[page]
    hits = rng.random((n, L)) < (1 / (1 + np.exp(-logit)))[:, None]
    run = np.where(hits.all(axis=1), L, hits.argmin(axis=1))
    return Rounds(entropy, np.minimum(run, room), room, page)


# --- the closed form
@pytest.mark.parametrize("p", [1e-6, 0.03, 0.5, 0.97, 1 - 1e-6])
@pytest.mark.parametrize("room", [1, 2, 7, 15])
def test_the_closed_form_is_the_sum_of_powers(p: float, room: int) -> None:
    logit = math.log(p) - math.log1p(-p)
    wanted = sum(p**k for k in range(1, room + 1))
    assert expected_accepted(np.array([logit]), room)[0] == pytest.approx(wanted, rel=1e-9)


def test_its_limits() -> None:
    never, always = expected_accepted(np.array([-1e6, 1e6]), float(L))
    assert never == pytest.approx(0, abs=1e-12)
    assert always == pytest.approx(L, rel=1e-9)


def test_its_derivative() -> None:
    x = np.linspace(-8, 8, 41)
    for room in (1.0, 4.0, 15.0):
        step = 1e-5
        difference_ = expected_accepted(x + step, room) - expected_accepted(x - step, room)
        assert _slope(x, room) == pytest.approx(difference_ / (2 * step), rel=1e-6, abs=1e-9)


# --- the fit
@pytest.mark.parametrize("law", [Law(1.2, 0.9), Law(-0.5, 0.3), Law(3.0, 4.0), Law(0.2, -0.4)])
def test_means_on_the_law_give_the_law(law: Law) -> None:
    rounds = drawn(law, 400, rooms=(1, L))
    exact = Rounds(
        rounds.entropy, law.expected(rounds.entropy, rounds.room), rounds.room, rounds.page
    )
    found = fit(exact)
    assert (found.b0, found.b1) == pytest.approx((law.b0, law.b1), abs=1e-4)
    assert r2(exact, found, fit_flat(exact)) == pytest.approx(1.0, abs=1e-8)


@pytest.mark.parametrize("law", [TRUE, Law(0.3, 0.46), Law(2.5, 1.71)])
def test_drawn_rounds_give_the_law_within_its_interval(law: Law) -> None:
    checked = check(drawn(law))
    assert checked.law is not None
    assert checked.b1_ci is not None
    assert checked.law.b0 == pytest.approx(law.b0, abs=0.2)
    assert checked.b1_ci[0] < law.b1 < checked.b1_ci[1]
    assert checked.b1_ci[1] - checked.b1_ci[0] < 0.6
    assert checked.holds
    assert (checked.pages, checked.rounds, checked.cut) == (100, 2000, 0)
    assert checked.r2_deciles is not None
    assert checked.r2_deciles > 0.8
    assert checked.held_out == pytest.approx(checked.r2_rounds, abs=0.06)


def test_intervals_cover_the_truth() -> None:
    covered = 0
    for seed in range(20):
        rounds = drawn(TRUE, 300, seed, a_page=10)
        low, high = b1_interval(rounds, fit(rounds), draws=60) or (1.0, 0.0)
        covered += low < TRUE.b1 < high
    assert covered >= 16


def test_a_flat_law_has_no_slope_and_does_not_hold() -> None:
    checked = check(drawn(Law(0.4, 0.0)))
    assert checked.law is not None
    assert checked.law.b1 == pytest.approx(0.0, abs=0.1)
    assert checked.b1_ci is not None
    assert checked.b1_ci[0] < 0 < checked.b1_ci[1]
    assert checked.conditions is not None
    assert not checked.conditions[ORDERED]
    assert not checked.conditions[EXPLAINS]
    assert checked.holds is False
    assert checked.held_out == pytest.approx(0.0, abs=0.02)


def test_a_law_that_rises_does_not_hold() -> None:
    checked = check(drawn(Law(-1.0, -0.7)))
    assert checked.conditions == {FALLS: False, ORDERED: False, EXPLAINS: True, SOUND: True}


def test_a_drafter_that_is_hardly_ever_right_does_not_hold() -> None:
    checked = check(drawn(Law(-3.0, 1.0)))
    assert checked.mean_accepted < 0.15
    assert checked.conditions is not None
    assert not checked.conditions[SOUND]


def test_the_block_s_end_does_not_bend_the_law() -> None:
    """Where most rounds accept the whole block, a law without end would find another slope."""
    sure = Law(4.0, 1.5)
    rounds = drawn(sure, 4000)
    assert (rounds.accepted == L).mean() > 0.4
    found = fit(rounds)
    assert (found.b0, found.b1) == pytest.approx((4.0, 1.5), abs=0.2)
    endless = fit(Rounds(rounds.entropy, rounds.accepted, np.full(4000, 1000), rounds.page))
    assert endless.b0 < 3.2
    assert endless.b1 < 1.2


def test_nor_does_the_answer_s_end() -> None:
    rounds = drawn(TRUE, 4000, rooms=(1, 6))
    found = fit(rounds)
    assert (found.b0, found.b1) == pytest.approx((TRUE.b0, TRUE.b1), abs=0.12)
    as_if_whole = fit(Rounds(rounds.entropy, rounds.accepted, np.full(4000, L), rounds.page))
    assert as_if_whole.b0 < 0.8
    assert check(rounds).cut == int((rounds.room < 6).sum())


@pytest.mark.parametrize("always", [0, L])
def test_rounds_without_any_variety_end_the_fit(always: int) -> None:
    one = Rounds(np.full(40, 0.3), np.full(40, always), np.full(40, L), np.arange(40))
    checked = check(one)
    assert checked.law is not None
    assert math.isfinite(checked.law.b0)
    assert (checked.rho, checked.rho_p) == (None, None)
    assert checked.holds is False


def test_too_few_rounds_are_counted_and_no_more() -> None:
    checked = check(drawn(TRUE, 29))
    assert (checked.rounds, checked.law, checked.holds) == (29, None, None)
    assert check(drawn(TRUE, 30)).law is not None


# --- pages
def test_copies_of_a_round_on_its_page_make_nothing_surer() -> None:
    once = drawn(TRUE, 60, a_page=1)
    often = once.where(np.repeat(np.arange(60), 25))
    law = fit(often)
    low, high = b1_interval(once, law, 200) or (0.0, 0.0)
    assert b1_interval(often, law, 200) == pytest.approx((low, high), rel=1e-3)
    apart = Rounds(often.entropy, often.accepted, often.room, np.arange(1500))
    naive = b1_interval(apart, law, 200) or (0.0, 0.0)
    assert naive[1] - naive[0] < 0.35 * (high - low)


def test_pages_that_differ_widen_the_interval() -> None:
    rounds = drawn(TRUE, 1000, a_page=100, spread=1.0)
    apart = Rounds(rounds.entropy, rounds.accepted, rounds.room, np.arange(1000))
    by_page, by_round = curve_width(rounds), curve_width(apart)
    assert by_page > 1.5 * by_round


def curve_width(rounds: Rounds) -> float:
    """Mean width of the deciles' intervals."""
    bins = curve(rounds, fit(rounds), fit_flat(rounds))
    return float(np.mean([one.ci[1] - one.ci[0] for one in bins]))


def test_one_page_has_no_interval() -> None:
    checked = check(drawn(TRUE, 60, a_page=60))
    assert checked.law is not None
    assert (checked.b1_ci, checked.held_out) == (None, None)


def test_a_law_of_one_half_of_the_pages_only_is_found_out() -> None:
    """Two kinds of pages with opposite slopes: what is learnt on some does not serve on others."""
    rounds = drawn(Law(0.0, 2.0), 200, a_page=100)
    other = drawn(Law(-2.0, -2.0), 200, seed=1, a_page=100)
    both = Rounds(
        *(
            np.concatenate((getattr(rounds, name), getattr(other, name)))
            for name in ("entropy", "accepted", "room")
        ),
        np.repeat([0, 0, 1, 1], 100),
    )
    found = held_out(both)
    assert found is not None
    assert found < 0


def test_a_steeper_group_is_told_from_a_flatter_one() -> None:
    steep, flat = drawn(Law(2.0, 1.6)), drawn(Law(2.0, 0.5), seed=1)
    found = difference(steep, flat, draws=200)
    assert found is not None
    assert found.b1 == pytest.approx(1.1, abs=0.3)
    assert found.ci is not None
    assert 0 < found.ci[0] < found.b1 < found.ci[1]
    same = difference(steep, drawn(Law(2.0, 1.6), seed=3), draws=200)
    assert same is not None
    assert same.ci is not None
    assert same.ci[0] < 0 < same.ci[1]
    assert difference(steep, drawn(TRUE, 20)) is None


# --- the statistics
def test_with_equal_rooms_everything_is_as_usual() -> None:
    rounds = drawn(TRUE)
    flat = fit_flat(rounds)
    assert flat.expected(rounds.entropy, rounds.room) == pytest.approx(rounds.accepted.mean())
    law = fit(rounds)
    left = rounds.accepted - law.expected(rounds.entropy, rounds.room)
    assert r2(rounds, law, flat) == pytest.approx(1 - (left**2).mean() / rounds.accepted.var())
    order = np.argsort(rounds.entropy).reshape(50, -1)
    within = rounds.accepted[order].var(axis=1).mean()
    share = 1 - within / rounds.accepted.var()
    assert entropy_ceiling(rounds, flat) == pytest.approx(share, abs=1e-6)
    assert r2(rounds, law, flat) < share


def test_deciles_are_even_and_equal_entropies_share_one() -> None:
    rounds = drawn(TRUE)
    law, flat = fit(rounds), fit_flat(rounds)
    bins = curve(rounds, law, flat)
    assert [one.rounds for one in bins] == [200] * 10
    assert all(one.ci[0] < one.accepted < one.ci[1] for one in bins)
    assert sum(one.ci[0] < one.expected < one.ci[1] for one in bins) >= 8
    sure = Rounds(
        np.where(rounds.entropy < 0.5, 0.0, rounds.entropy),
        rounds.accepted,
        rounds.room,
        rounds.page,
    )
    merged = curve(sure, law, flat)
    assert merged[0].rounds >= int((sure.entropy == 0).sum()) > 200
    assert sum(one.rounds for one in merged) == 2000


def test_rank_correlation() -> None:
    x = np.array([1.0, 2.0, 3.0, 4.0, 5.0])
    assert spearman(x, x**3)[0] == pytest.approx(1.0)
    assert spearman(x, -np.exp(x))[0] == pytest.approx(-1.0)
    # ranks 0, 1.5, 1.5, 3 against 0, 2, 1, 3: by hand 4.5 / sqrt(4.5 * 5)
    tied = spearman(np.array([1, 2, 2, 3]), np.array([1, 3, 2, 4]))[0]
    assert tied == pytest.approx(4.5 / math.sqrt(22.5))
    assert spearman(x, np.ones(5)) == (None, None)


def test_its_p_is_that_of_shuffled_values() -> None:
    rng = np.random.default_rng(5)
    x = rng.random(60)
    y = 0.25 * x + rng.random(60)
    rho, p = spearman(x, y)
    assert rho is not None
    shuffled = [abs(spearman(x, rng.permutation(y))[0] or 0.0) for _ in range(2000)]
    assert p == pytest.approx(np.mean([other >= abs(rho) for other in shuffled]), abs=0.03)


def test_where_entropy_lies() -> None:
    entropy = np.array([0.0, 0.0005, 0.02, 0.05, 0.3, 1.5, 2.0, 9.0])
    shares = histogram(entropy)
    assert sum(share for _, _, share in shares) == pytest.approx(1.0)
    assert shares[0] == (0.0, 0.001, 0.25)
    assert shares[-1] == (1.5, math.inf, 0.375)
    assert middle_share(entropy) == pytest.approx(3 / 8)


# --- the picture
def test_the_picture_has_the_deciles_and_the_curve() -> None:
    svg = "{http://www.w3.org/2000/svg}"
    checked = check(drawn(TRUE))
    assert checked.law is not None
    root = ElementTree.fromstring(draw(checked.law, checked.deciles, L, "a < b & c"))
    width, height = map(float, root.attrib["viewBox"].split()[2:])
    dots = [c for c in root.findall(f"{svg}circle") if c.attrib["r"] == "3"][1:]
    rings = [c for c in root.findall(f"{svg}circle") if c.attrib["r"] == "5"][1:]
    assert len(dots) == len(rings) == 10
    # one scale for all: the two ends of the deciles fix it, the curve must lie on it
    y0, y1 = float(dots[0].attrib["cy"]), float(dots[-1].attrib["cy"])
    a0, a1 = checked.deciles[0].accepted, checked.deciles[-1].accepted
    [line] = root.findall(f"{svg}polyline")
    x, y = map(float, line.attrib["points"].split()[0].split(","))
    assert y == pytest.approx(
        y0 + (y1 - y0) / (a1 - a0) * (at_certainty(checked.law) - a0), abs=0.3
    )
    assert x < float(dots[0].attrib["cx"])
    for mark in (*dots, *rings):
        assert 0 < float(mark.attrib["cx"]) < width
        assert 0 < float(mark.attrib["cy"]) < height
    texts = [text.text or "" for text in root.findall(f"{svg}text")]
    assert any(re.search(r"logit p = 1\.\d\d - \d\.\d\d H", text) for text in texts)
    assert "a < b & c" in texts


def at_certainty(law: Law) -> float:
    """What a law expects where the target is certain."""
    return float(law.expected(np.zeros(1), float(L))[0])


@pytest.mark.parametrize("highest", [0.0, 0.004, 7.0])
def test_any_range_of_entropy_can_be_drawn(highest: float) -> None:
    rounds = drawn(TRUE, 60)
    flat = Rounds(rounds.entropy * 0 + highest, rounds.accepted, rounds.room, rounds.page)
    checked = check(flat)
    assert checked.law is not None
    ElementTree.fromstring(draw(checked.law, checked.deciles, L, "x"))
