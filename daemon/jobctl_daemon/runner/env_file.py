"""Reads a file of variables with the rights of the job's user: lines NAME=VALUE, blank ones and # or ; comments.

`export ` before a name, and one pair of quotes around a value, are taken off; nothing is expanded.
"""

from __future__ import annotations

import errno
import os
import stat

_MOST_BYTES = 1 << 20
_BLANKS = b" \t\r\f\v"


def read(path: bytes) -> dict[bytes, bytes]:
    """Return the variables; raises OSError, also (EINVAL, with the line's number) for what is not a variable."""
    variables = {}
    for number, line in enumerate(_contents(path).split(b"\n"), 1):
        line = line.strip(_BLANKS)
        if not line or line[:1] in b"#;":
            continue
        name, equals, value = line.removeprefix(b"export ").partition(b"=")
        name = name.strip(_BLANKS)
        if not equals or not _is_name(name) or b"\0" in value:
            raise OSError(errno.EINVAL, f"line {number} is not NAME=VALUE")
        variables[name] = _unquoted(value.strip(_BLANKS))
    return variables


def _contents(path: bytes) -> bytes:
    descriptor = opened(path)
    try:
        found = os.fstat(descriptor)
        if not stat.S_ISREG(found.st_mode):
            raise OSError(errno.EINVAL, "not a regular file")
        if found.st_size > _MOST_BYTES:
            raise OSError(errno.E2BIG, "larger than 1 MiB")
        text = b""
        while block := os.read(descriptor, _MOST_BYTES):
            text += block
        return text
    finally:
        os.close(descriptor)


def opened(path: bytes) -> int:
    """Open a file that a job names. Of a FIFO that nobody writes to the end is there at once, not in half a minute."""
    flags = os.O_RDONLY | os.O_NOCTTY | os.O_CLOEXEC
    try:
        return os.open(path, flags | os.O_NONBLOCK)
    except BlockingIOError:  # somebody holds a lease on it (fcntl(2)), and has some time to let go
        return os.open(path, flags)


def _is_name(name: bytes) -> bool:
    return bool(name) and not name[:1].isdigit() and name.replace(b"_", b"a").isalnum()


def _unquoted(value: bytes) -> bytes:
    if len(value) >= 2 and value[:1] in (b'"', b"'") and value[-1:] == value[:1]:
        return value[1:-1]
    return value
