"""The runner's own log: only what is not as it should be, and never large."""

from __future__ import annotations

import os
import time
from collections.abc import Callable

from . import clock

_MAX_BYTES = 256 << 10
#: Lines that differ in nothing but numbers are one kind. So many of a kind are written at once,
_FREE = 5
#: then one after so long, and after twice as long each time.
_GAP_S_MIN = 120.0
_GAP_S_MAX = 3600.0
#: A kind that did not come for so long is new again.
_QUIET_S = 600.0
_KINDS_MAX = 200
_NO_DIGITS = str.maketrans("", "", "0123456789")


class Complaints:
    """Appends lines to one file; at 256 KiB the file becomes NAME.1 and a new one begins."""

    __slots__ = ("_kinds", "_now_s", "_path")

    def __init__(self, path: str, now_s: Callable[[], float] = clock.boot_s) -> None:
        self._path = path
        self._now_s = now_s
        self._kinds: dict[str, _Kind] = {}

    def __call__(self, text: str) -> None:
        """Write one line; never raises, for there is nobody to tell. A fault that lasts is told less and less often."""
        hidden = self._held_back(text.translate(_NO_DIGITS))
        if hidden is None:
            return
        if hidden:
            text = f"{text} (and {hidden} more like it before)"
        stamp = time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime())
        line = f"{stamp} [{os.getpid()}] {text}\n".encode("utf-8", "backslashreplace")
        try:
            flags = os.O_WRONLY | os.O_APPEND | os.O_CREAT | os.O_NOFOLLOW | os.O_CLOEXEC
            descriptor = os.open(self._path, flags, 0o600)
            try:
                os.write(descriptor, line[:4096])
                if os.fstat(descriptor).st_size > _MAX_BYTES:
                    os.rename(self._path, f"{self._path}.1")
            finally:
                os.close(descriptor)
        except OSError:
            pass

    def _held_back(self, words: str) -> int | None:
        """How many of the kind were not written since the last one; None: nor is this one."""
        now_s = self._now_s()
        kind = self._kinds.get(words)
        if kind is None or now_s - kind.last_s >= max(_QUIET_S, kind.gap_s):
            if len(self._kinds) >= _KINDS_MAX:
                self._kinds.clear()
            hidden = 0 if kind is None else kind.hidden
            self._kinds[words] = _Kind(now_s)
            return hidden
        kind.last_s = now_s
        if kind.free > 0:
            kind.free -= 1
        elif now_s - kind.written_s >= kind.gap_s:
            kind.gap_s = min(kind.gap_s * 2, _GAP_S_MAX)
        else:
            kind.hidden += 1
            return None
        hidden, kind.hidden, kind.written_s = kind.hidden, 0, now_s
        return hidden


class _Kind:
    __slots__ = ("free", "gap_s", "hidden", "last_s", "written_s")

    def __init__(self, now_s: float) -> None:
        self.last_s = self.written_s = now_s
        self.gap_s = _GAP_S_MIN
        self.free = _FREE - 1
        self.hidden = 0
