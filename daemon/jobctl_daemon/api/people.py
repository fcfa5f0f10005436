"""Which account a uid is, and whether it is in the admin group, asked off the loop and remembered for a moment.

getpwuid(3) and getgrouplist(3) may ask a directory service, which has no time limit: each question has a thread that
nobody waits for at the end, few of them at once. What was answered holds for some seconds, and no longer than the files
that local accounts are in stay as they are: who is taken out of a group loses its
rights with his next request.
"""

import asyncio
import grp
import os
import pwd
import threading
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass
from typing import Final

from jobctl.clock import Clock
from jobctl.errors import Unavailable

#: So long one request waits for an answer; with an older one at hand not so long.
_PATIENCE_S: Final = 5.0
_IMPATIENCE_S: Final = 0.2
#: What a directory service has said holds for so long; that there is no such account, for less: it may just be made.
_FRESH_MS: Final = 10_000
_ABSENT_MS: Final = 2_000
#: While nobody answers, what was true lately holds.
_STALE_MS: Final = 300_000
_AT_ONCE: Final = 8
#: A question of before may have been under way, from before somebody changed the files.
_TRIES: Final = 3
_KNOWN_MAX: Final = 10_000
_FILES: Final = ("/etc/passwd", "/etc/group", "/etc/nsswitch.conf")

Signature = tuple[object, ...]


@dataclass(frozen=True, slots=True)
class Person:
    """An account. `admin_gid`: the admin group, when the account is in it; None: it is not, or there is none."""

    uid: int
    name: str
    admin_gid: int | None


def look_up(uid: int, group: str) -> Person | None:
    """The blocking question; None: no account has this uid."""
    try:
        entry = pwd.getpwuid(uid)
    except (KeyError, OverflowError):
        return None
    return Person(uid, entry.pw_name, _admin_gid(entry, group))


def _admin_gid(entry: pwd.struct_passwd, group: str) -> int | None:
    if not group:
        return None
    try:
        gid = grp.getgrnam(group).gr_gid
    except KeyError:
        return None
    return gid if gid in os.getgrouplist(entry.pw_name, entry.pw_gid) else None


def signature(paths: tuple[str, ...] = _FILES) -> Signature:
    """What changes when one of the files does."""
    found: list[object] = []
    for path in paths:
        try:
            seen = os.stat(path)
            found.append((seen.st_ino, seen.st_size, seen.st_mtime_ns, seen.st_ctime_ns))
        except OSError:
            found.append(None)
    return tuple(found)


@dataclass(frozen=True, slots=True)
class _Answer:
    person: Person | None
    group: str
    at_ms: int
    files: Signature

    def is_fresh(self, boot_ms: int, group: str, files: Signature) -> bool:
        lasts_ms = _ABSENT_MS if self.person is None else _FRESH_MS
        return self.group == group and self.files == files and boot_ms - self.at_ms < lasts_ms


class People:
    """Remembers what was answered; `group` says which one the admin group is now."""

    def __init__(
        self,
        clock: Clock,
        group: Callable[[], str],
        question: Callable[[int, str], Person | None] = look_up,
        files: Callable[[], Signature] = signature,
    ) -> None:
        self._clock = clock
        self._group = group
        self._look_up = question
        self._files = files
        self._known: dict[int, _Answer] = {}
        self._asked: dict[int, asyncio.Future[None]] = {}

    def known(self, uid: int) -> Person | None:
        """Who it was lately, without asking."""
        answer = self._known.get(uid)
        return answer.person if answer is not None else None

    async def ask(self, uid: int) -> Person | None:
        """Who it is; None: there is no such account. `Unavailable`: nobody says so, in time or at all."""
        group, files = self._group(), self._files()
        for _ in range(_TRIES):
            # What is asked from here on is true enough, though the files may change again meanwhile.
            answer = self._fresh(uid, group, files)
            if answer is not None:
                return answer.person
            question = self._question(uid)
            old = self._usable(uid, group, files)
            if question is None:
                break
            done, _ = await asyncio.wait([question], timeout=_PATIENCE_S if old is None else _IMPATIENCE_S)
            if not done:
                break
        answer = self._fresh(uid, group, files) or self._usable(uid, group, files)
        if answer is None:
            raise Unavailable(f"nobody says who uid {uid} is", "see getent passwd, and what nsswitch.conf asks")
        return answer.person

    def _fresh(self, uid: int, group: str, files: Signature) -> _Answer | None:
        answer = self._known.get(uid)
        if answer is None:
            return None
        now_ms = self._clock.boot_ms()
        fresh = answer.is_fresh(now_ms, group, files) or answer.is_fresh(now_ms, group, self._files())
        return answer if fresh else None

    def _usable(self, uid: int, group: str, files: Signature) -> _Answer | None:
        """One that is not fresh, for while nobody answers: not one from before somebody changed the files."""
        answer = self._known.get(uid)
        if answer is None or answer.person is None or answer.group != group or answer.files != files:
            return None
        return answer if self._clock.boot_ms() - answer.at_ms < _STALE_MS else None

    def _question(self, uid: int) -> "asyncio.Future[None] | None":
        """None while too many are under way, or when no thread can be had."""
        if uid not in self._asked and len(self._asked) < _AT_ONCE:
            loop = asyncio.get_running_loop()
            facts = (uid, self._group(), self._files(), loop)
            thread = threading.Thread(target=self._look, args=facts, name="account look-up", daemon=True)
            with suppress(RuntimeError):
                thread.start()
                self._asked[uid] = loop.create_future()
        return self._asked.get(uid)

    def _look(self, uid: int, group: str, files: Signature, loop: asyncio.AbstractEventLoop) -> None:
        answer = None
        with suppress(Exception):  # a directory service that fails has not answered
            answer = _Answer(self._look_up(uid, group), group, self._clock.boot_ms(), files)
        with suppress(RuntimeError):  # the loop is closed: the daemon has ended
            loop.call_soon_threadsafe(self._answered, uid, answer)

    def _answered(self, uid: int, answer: _Answer | None) -> None:
        if answer is not None:
            self._known.pop(uid, None)
            if len(self._known) >= _KNOWN_MAX:
                del self._known[next(iter(self._known))]
            self._known[uid] = answer
        question = self._asked.pop(uid)
        if not question.done():
            question.set_result(None)
