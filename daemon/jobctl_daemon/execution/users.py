"""Who commands run as, asked off the loop: a directory service that does not answer holds up nobody else's start.

getpwnam(3) has no time limit and cannot be broken off. So each question has a thread that nobody waits for at the end,
few of them at once, and what was answered is remembered for a while: no longer than until the files of local
accounts change.
"""

import asyncio
import os
import threading
from collections.abc import Callable, Iterable, Sequence
from contextlib import suppress
from dataclasses import dataclass
from typing import Final

from jobctl.clock import Clock
from jobctl.errors import InvalidInput, Unavailable
from jobctl_daemon.execution.identity import User, user_by_name

#: So long a batch of starts waits for answers; a local file takes a hundredth of a millisecond.
PATIENCE_S: Final = 0.2
_FRESH_MS: Final = 60_000
#: Somebody may just be making the user.
_ABSENT_MS: Final = 2_000
#: While nobody answers, what was true lately holds.
_STALE_MS: Final = 3_600_000
_AT_ONCE: Final = 8
_KNOWN_MAX: Final = 10_000
_FILES: Final = ("/etc/passwd", "/etc/group", "/etc/shadow", "/etc/nsswitch.conf")


@dataclass(frozen=True, slots=True)
class _Answer:
    user: User | None
    error: Exception | None
    at_ms: int

    def is_fresh(self, boot_ms: int) -> bool:
        return boot_ms - self.at_ms < (_FRESH_MS if self.user is not None else _ABSENT_MS)


class Users:
    """`ask` first, then `get`. `look_up` is the blocking question: a name → `User`, or raises `InvalidInput`."""

    def __init__(
        self, clock: Clock, look_up: Callable[[str], User] = user_by_name, files: Sequence[str] = _FILES
    ) -> None:
        self._clock = clock
        self._look_up = look_up
        self._files = files
        self._seen = _state_of(files)
        self._known: dict[str, _Answer] = {}
        self._asked: dict[str, asyncio.Future[None]] = {}

    async def ask(self, names: Iterable[str]) -> None:
        """Waits until all of them are known, but never longer than `PATIENCE_S`, and only once for one question."""
        if (seen := _state_of(self._files)) != self._seen:
            self._seen = seen
            self._known.clear()
        boot_ms = self._clock.boot_ms()
        unknown = [name for name in names if name not in self._asked and not self._is_fresh(name, boot_ms)]
        asked = [question for name in unknown if (question := self._question(name)) is not None]
        if asked:
            await asyncio.wait(asked, timeout=PATIENCE_S)

    def get(self, name: str) -> User:
        """`InvalidInput`: there is no such user. `Unavailable`: nobody has said so far."""
        answer = self._known.get(name)
        boot_ms = self._clock.boot_ms()
        if answer is None or (not answer.is_fresh(boot_ms) and (answer.user is None or self._is_stale(answer))):
            raise Unavailable(f"nobody says who the user {name!r} is", "see getent passwd, and what nsswitch.conf asks")
        if answer.user is None:
            raise answer.error or InvalidInput(f"no such user: {name}", field="user")
        return answer.user

    def _is_fresh(self, name: str, boot_ms: int) -> bool:
        answer = self._known.get(name)
        return answer is not None and answer.is_fresh(boot_ms)

    def _is_stale(self, answer: _Answer) -> bool:
        return self._clock.boot_ms() - answer.at_ms >= _STALE_MS

    def _question(self, name: str) -> "asyncio.Future[None] | None":
        """None while too many are under way, or when no thread can be had."""
        if len(self._asked) < _AT_ONCE:
            loop = asyncio.get_running_loop()
            thread = threading.Thread(target=self._look, args=(name, loop), name="user look-up", daemon=True)
            with suppress(RuntimeError):
                thread.start()
                self._asked[name] = loop.create_future()
        return self._asked.get(name)

    def _look(self, name: str, loop: asyncio.AbstractEventLoop) -> None:
        user, error = None, None
        try:
            user = self._look_up(name)
        except Exception as failure:  # noqa: BLE001 - it is the answer
            error = failure
        try:
            loop.call_soon_threadsafe(self._answered, name, user, error)
        except RuntimeError:
            return  # the loop is closed: the daemon has ended

    def _answered(self, name: str, user: User | None, error: Exception | None) -> None:
        if len(self._known) >= _KNOWN_MAX:
            self._known.clear()
        self._known[name] = _Answer(user, error, self._clock.boot_ms())
        question = self._asked.pop(name)
        if not question.done():
            question.set_result(None)


def _state_of(files: Sequence[str]) -> list[tuple[int, ...] | None]:
    """What changes when one of the files does."""
    return [_stamp(path) for path in files]


def _stamp(path: str) -> tuple[int, ...] | None:
    try:
        found = os.stat(path)
    except OSError:
        return None
    return found.st_ino, found.st_size, found.st_mtime_ns, found.st_ctime_ns
