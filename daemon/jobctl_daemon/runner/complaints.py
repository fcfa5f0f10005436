"""The runner's own log: only what is not as it should be, and never large."""

from __future__ import annotations

import os
import time

_MAX_BYTES = 256 << 10


class Complaints:
    """Appends lines to one file; at 256 KiB the file becomes NAME.1 and a new one begins."""

    __slots__ = ("_path",)

    def __init__(self, path: str) -> None:
        self._path = path

    def __call__(self, text: str) -> None:
        """Write one line; never raises, for there is nobody to tell."""
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
