"""Who may use the system's daemon at all: lists of names, by cron's rule (crontab(1)).

Where there is a list of the allowed, who is not in it is refused; else where there is one of the denied, who is in it
is. Without either everybody may. Root always may. The lists are read again when they have changed.
"""

import os
import stat
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

import structlog

_BYTES_MAX: Final = 1 << 20
_FLAGS: Final = os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC | os.O_NOCTTY


@dataclass(frozen=True, slots=True)
class _Read:
    """A list as it was read; `names` None: it cannot be."""

    signature: tuple[int, int, int, int]
    names: frozenset[str] | None


class Lists:
    """Pairs of files, allow and deny; the first pair of which one file is there counts, and no other."""

    def __init__(self, pairs: Sequence[tuple[str, str]]) -> None:
        self._pairs = pairs
        self._read: dict[str, _Read] = {}

    def refusal(self, name: str) -> str | None:
        """Why this user is not served; None: it is. A list that cannot be read serves nobody."""
        for allow, deny in self._pairs:
            allowed = self._list(allow)
            if allowed is not None:
                listed = allowed.names is not None and name in allowed.names
                return None if listed else f"{allow} does not list {name}"
            denied = self._list(deny)
            if denied is not None:
                if denied.names is None:
                    return f"{deny} cannot be read"
                return f"{deny} lists {name}" if name in denied.names else None
        return None

    def _list(self, path: str) -> _Read | None:
        """None: there is no such file."""
        try:
            found = _found(path)
        except OSError as error:
            return self._unreadable(path, (0, 0, 0, 0), error)
        if found is None:
            self._read.pop(path, None)
            return None
        signature = (found.st_ino, found.st_size, found.st_mtime_ns, found.st_ctime_ns)
        known = self._read.get(path)
        if known is None or known.signature != signature:
            try:
                known = _Read(signature, _names(path))
            except OSError as error:
                known = self._unreadable(path, signature, error)
            self._read[path] = known
        return known

    def _unreadable(self, path: str, signature: tuple[int, int, int, int], error: OSError) -> _Read:
        words = f"{path} cannot be read, so nobody but root is served: {error.strerror or error}"
        structlog.get_logger().error("lists.unreadable", file=path, error=words)
        return _Read(signature, None)


def _found(path: str) -> os.stat_result | None:
    """The file; a link that leads nowhere is there as well, and is itself what was found. None: there is nothing."""
    for look in (os.stat, os.lstat):
        try:
            return look(path)
        except (FileNotFoundError, NotADirectoryError):
            continue
    return None


def _names(path: str) -> frozenset[str]:
    """One a line, as cron reads them."""
    descriptor = os.open(path, _FLAGS)
    try:
        if not stat.S_ISREG(os.fstat(descriptor).st_mode):
            raise OSError("it is no plain file")
        data = os.read(descriptor, _BYTES_MAX + 1)
    finally:
        os.close(descriptor)
    if len(data) > _BYTES_MAX:
        raise OSError(f"it is larger than {_BYTES_MAX >> 20} MiB")
    return frozenset(line.strip() for line in os.fsdecode(data).splitlines() if line.strip())
