"""Clocks and the stopwatch."""

from glance.clock import DeviceClock, FakeClock, Stopwatch, WallClock, clock_for


def test_stopwatch_leaves_out_the_time_while_stopped():
    clock = FakeClock(step=10.0)  # every reading 10 ms after the one before
    watch = Stopwatch(clock)
    assert watch.read() == 0.0
    watch.start()
    assert watch.read() == 10.0
    watch.stop()
    for _ in range(5):
        clock.now()
    assert watch.read() == 20.0
    watch.start()
    assert watch.read() == 30.0


def test_device_clock_waits_for_the_device():
    waits: list[int] = []
    DeviceClock(lambda: waits.append(1)).now()
    assert waits == [1]


def test_a_cpu_needs_no_waiting():
    assert isinstance(clock_for("cpu"), WallClock)
    first, second = WallClock().now(), WallClock().now()
    assert second >= first
