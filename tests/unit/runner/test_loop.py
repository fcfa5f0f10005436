"""The loop: timers in order, faults that harm only themselves."""

from __future__ import annotations

import os

from jobctl_daemon.runner.clock import boot_s
from jobctl_daemon.runner.loop import READ, Loop


def test_timers_fire_in_order_and_never_early() -> None:
    loop, fired = Loop(print), []
    start, due = boot_s(), {}
    for delay in (0.03, 0.01, 0.02):
        due[delay] = boot_s() + delay  # on a busy machine the last one may come late enough to be due last
        loop.after(delay, lambda delay=delay: fired.append((delay, boot_s() - start)))  # type: ignore[misc]
    loop.after(0.015, lambda: fired.append((9.0, 0.0))).cancel()
    loop.after(0.04, loop.stop)
    loop.run()
    assert [delay for delay, _ in fired] == sorted(due, key=due.__getitem__)
    assert all(real >= delay for delay, real in fired)


def test_a_fault_is_complained_of_and_the_rest_goes_on() -> None:
    complaints: list[str] = []
    loop = Loop(complaints.append)
    loop.after(0, lambda: [][1])  # type: ignore[misc]
    loop.after(0.01, loop.stop)
    loop.run()
    assert len(complaints) == 1
    assert "IndexError" in complaints[0]


def test_descriptors_are_looked_at_before_timers() -> None:
    loop, order = Loop(print), []
    reader, writer = os.pipe()
    os.write(writer, b"x")

    def read(_: int) -> None:
        order.append("descriptor")
        loop.remove(reader)

    loop.add(reader, READ, read)
    loop.after(0, lambda: order.append("timer"))
    loop.after(0, loop.stop)
    loop.run()
    os.close(reader)
    os.close(writer)
    assert order == ["descriptor", "timer"]


def test_many_cancelled_timers_are_not_kept() -> None:
    loop = Loop(print)
    for _ in range(10_000):
        loop.after(3600, loop.stop).cancel()
    assert len(loop._timers) < 5000
