"""Waiting for the daemon's lock: everything is loaded and checked, and the moment its holder is gone it is ours.

Nobody polls. A thread sleeps in flock(2) until the kernel hands it the lock; the process sleeps until then or a signal.
"""

import os
import select
import signal
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Final

from jobctl_daemon import holder
from jobctl_daemon.notify import Supervisor

_STOPS: Final = (signal.SIGTERM, signal.SIGINT)


def wait(path: str, supervisor: Supervisor, on_waiting: Callable[[], None]) -> int | None:
    """The lock's descriptor; None when TERM or INT came first. `on_waiting` is called once it waits.

    A supervisor that wants to hear that it is alive is told so meanwhile, and only then does it wake up by itself.
    """
    taken: list[int | OSError] = []
    reader, writer = os.pipe2(os.O_CLOEXEC)

    def take() -> None:
        try:
            taken.append(holder.wait_for_lock(path))
        except OSError as error:
            taken.append(error)
        os.write(writer, b"L")

    with _told_of_stops(writer):
        threading.Thread(target=take, name="standby", daemon=True).start()
        on_waiting()
        _wait_for_a_word(reader, supervisor)
    words = os.read(reader, 16)
    if b"S" in words:
        return None  # the thread ends with the process, and its claim to the lock as well
    os.close(reader)
    os.close(writer)
    if isinstance(taken[0], OSError):
        raise taken[0]
    return taken[0]


def _wait_for_a_word(reader: int, supervisor: Supervisor) -> None:
    """`L` for the lock, `S` for a stop."""
    every_s = supervisor.alive_every_s
    poller = select.poll()
    poller.register(reader, select.POLLIN)
    while not poller.poll(None if every_s is None else every_s * 1000):
        supervisor.alive()


@contextmanager
def _told_of_stops(writer: int) -> Iterator[None]:
    def stop(number: int, _: object) -> None:
        del number
        os.write(writer, b"S")

    before = {number: signal.signal(number, stop) for number in _STOPS}
    try:
        yield
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)
