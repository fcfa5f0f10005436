"""Blocking questions with a time limit: to directory services, whose library calls have none and cannot be broken off.

Each has a thread of its own that nobody waits for, neither when the time is up nor when the process ends. Only so many
hang at once; after that nobody is asked any more until one of them comes back.
"""

import queue
import threading
from collections.abc import Callable
from typing import Final, TypeVar

from jobctl.errors import Unavailable

T = TypeVar("T")

_AT_ONCE: Final = 16
_slots = threading.BoundedSemaphore(_AT_ONCE)


def within(within_s: float, question: Callable[[], T], about: str) -> T:
    """The answer, or what the question raises. `Unavailable`: there is none in time. It waits, so never on the loop."""
    said: queue.SimpleQueue[tuple[T | None, BaseException | None]] = queue.SimpleQueue()

    def ask() -> None:
        try:
            said.put((question(), None))
        except BaseException as error:  # noqa: BLE001 - it is the answer, to whoever asked
            said.put((None, error))
        finally:
            _slots.release()

    if not _slots.acquire(blocking=False):
        raise _silent(about)
    try:
        threading.Thread(target=ask, name="question", daemon=True).start()
    except RuntimeError as error:
        _slots.release()
        raise Unavailable("the daemon is at its limit of threads", "try again in a moment") from error
    try:
        answer, failure = said.get(timeout=within_s)
    except queue.Empty:
        raise _silent(about) from None
    if failure is not None:
        raise failure
    return answer  # type: ignore[return-value]  # without an error there is an answer


def _silent(about: str) -> Unavailable:
    return Unavailable(f"nobody says {about}", "see getent passwd, and what nsswitch.conf asks")
