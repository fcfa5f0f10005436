"""Sockets at paths of any length: an address has room for 107 bytes (unix(7)), a descriptor's path is short."""

import os
from collections.abc import Iterator
from contextlib import contextmanager

from jobctl.paths import SOCKET_PATH_BYTES_MAX


@contextmanager
def reachable(path: str) -> Iterator[str]:
    """The path, or one that is good for the block; OSError when its folder cannot be opened."""
    if len(os.fsencode(path)) <= SOCKET_PATH_BYTES_MAX:
        yield path
        return
    folder, name = os.path.split(path)
    descriptor = os.open(folder, os.O_PATH | os.O_DIRECTORY | os.O_CLOEXEC)
    try:
        yield f"/proc/self/fd/{descriptor}/{name}"
    finally:
        os.close(descriptor)
