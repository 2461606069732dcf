"""Traces by run id: there for ten minutes, within bounds."""

from app.kept import Kept


class Clock:
    now = 0.0

    def __call__(self) -> float:
        return self.now


def test_a_trace_is_there_until_its_time_is_over():
    clock = Clock()
    kept = Kept(seconds=600, clock=clock)
    kept.put("a", "first")
    clock.now = 300
    kept.put("b", "second")
    clock.now = 599
    assert (kept.get("a"), kept.get("b"), kept.get("c")) == ("first", "second", None)
    clock.now = 600
    assert (kept.get("a"), kept.get("b")) == (None, "second")
    clock.now = 900
    assert kept.get("b") is None


def test_the_oldest_give_way_where_there_is_no_room():
    kept = Kept(most_chars=10)
    for run, trace in (("a", "aaaa"), ("b", "bbbb"), ("c", "cccc")):
        kept.put(run, trace)
    assert [kept.get(run) for run in "abc"] == [None, "bbbb", "cccc"]
    kept.put("d", "d" * 11)  # would fit if all others went, and one more
    assert [kept.get(run) for run in "bcd"] == ["bbbb", "cccc", None]
