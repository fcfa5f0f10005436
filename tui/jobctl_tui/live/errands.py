"""What is asked of the daemon besides the stream: in threads that nobody waits for, answered on the screens' loop.

A few threads serve all errands; one that hangs keeps the others neither from being served nor the program from ending.
"""

import contextlib
import threading
from collections import deque
from collections.abc import Callable
from typing import Any, Final, NamedTuple

from jobctl.client.sync import Client
from jobctl.errors import InternalError, JobctlError

#: As many as wait for answers at the same time; a stopped daemon costs each some seconds.
THREADS_MAX: Final = 8
#: A thread that has nothing to do goes after so long.
IDLE_S: Final = 30.0

Work = Callable[[Client], Any]
Done = Callable[[Any], None]
Failed = Callable[[JobctlError], None]


class _Errand(NamedTuple):
    work: Work
    done: Done | None
    failed: Failed | None
    group: str | None
    number: int


class Errands:
    """`run` and `later` are called on the loop, and so is whatever they were given to call."""

    def __init__(self, connect: Callable[[], Client], post: Callable[[Callable[[], None]], None]) -> None:
        self._connect = connect
        self._post = post
        self._lock = threading.Condition()
        self._waiting: deque[_Errand] = deque()
        self._threads = 0
        self._idle = 0
        self._closed = False
        self._number = 0
        self._newest: dict[str, int] = {}
        """Of each group: only its answer counts."""

    def run(self, work: Work, done: Done | None = None, failed: Failed | None = None, group: str | None = None) -> None:
        """Of one `group` only the newest answer is told, and what has not begun yet is not begun any more."""
        with self._lock:
            self._number += 1
            if group is not None:
                self._newest[group] = self._number
                self._waiting = deque(errand for errand in self._waiting if errand.group != group)
            self._waiting.append(_Errand(work, done, failed, group, self._number))
            if self._idle < len(self._waiting) and self._threads < THREADS_MAX and not self._closed:
                self._threads += 1
                threading.Thread(target=self._serve, name="errands", daemon=True).start()
            self._lock.notify()

    def forget(self, group: str) -> None:
        """No answer of this group counts any more."""
        with self._lock:
            self._newest.pop(group, None)
            self._waiting = deque(errand for errand in self._waiting if errand.group != group)

    def later(self, after_ms: int, call: Callable[[], None]) -> None:
        """On the loop, after some time."""
        timer = threading.Timer(after_ms / 1000, self._tell, (call,))
        timer.daemon = True
        timer.start()

    def close(self) -> None:
        """Returns at once; answers that are still on their way are told to nobody."""
        with self._lock:
            self._closed = True
            self._waiting.clear()
            self._lock.notify_all()

    def _serve(self) -> None:
        client = self._connect()
        while (errand := self._next()) is not None:
            try:
                answer = errand.work(client)
            except JobctlError as error:
                self._failed(errand, error)
            except Exception as error:  # noqa: BLE001 - a mistake in one errand must harm only that one
                self._failed(errand, InternalError(f"this is a mistake of jobctl ui: {error!r}", "please report it"))
            else:
                self._done(errand, answer)

    def _next(self) -> _Errand | None:
        with self._lock:
            self._idle += 1
            self._lock.wait_for(lambda: self._waiting or self._closed, IDLE_S)
            self._idle -= 1
            if self._waiting and not self._closed:
                return self._waiting.popleft()
            self._threads -= 1
            return None

    def _done(self, errand: _Errand, answer: object) -> None:
        if errand.done is not None:
            done = errand.done
            self._tell(lambda: done(answer) if self._counts(errand) else None)

    def _failed(self, errand: _Errand, error: JobctlError) -> None:
        if errand.failed is not None:
            failed = errand.failed
            self._tell(lambda: failed(error) if self._counts(errand) else None)

    def _counts(self, errand: _Errand) -> bool:
        return not self._closed and (errand.group is None or self._newest.get(errand.group) == errand.number)

    def _tell(self, call: Callable[[], None]) -> None:
        if not self._closed:
            with contextlib.suppress(RuntimeError):  # the loop has ended before this program
                self._post(call)
