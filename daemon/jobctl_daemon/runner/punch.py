"""Gives the middle of a file back to the filesystem; offsets and size stay."""

from __future__ import annotations

import os

_KEEP_SIZE, _PUNCH_HOLE = 1, 2
_libc = None


def punch(path: bytes, start: int, end: int) -> None:
    """Free the blocks from start to end, in bytes; raises OSError where the filesystem cannot."""
    global _libc
    # Loaded at the first large log only: it costs over a megabyte that most runners never need.
    import ctypes

    if _libc is None:
        _libc = ctypes.CDLL(None, use_errno=True)
    descriptor = os.open(path, os.O_WRONLY | os.O_NOFOLLOW | os.O_CLOEXEC)
    try:
        mode, offset, length = _KEEP_SIZE | _PUNCH_HOLE, ctypes.c_int64(start), ctypes.c_int64(end - start)
        if _libc.fallocate64(descriptor, mode, offset, length) != 0:
            number = ctypes.get_errno()
            raise OSError(number, os.strerror(number))
    finally:
        os.close(descriptor)
