"""Why a command could not be started."""

from __future__ import annotations

import errno
import os
import stat

_TRANSIENT = frozenset({
    errno.EAGAIN, errno.EMFILE, errno.ENFILE, errno.ENOMEM, errno.ETXTBSY, errno.ENOSPC, errno.EDQUOT, errno.EIO,
})  # fmt: skip
#: Of the first line of a script no more is read by execve(2).
_LINE_MAX = 256


class SpawnError(Exception):
    """A command that could not be started; transient means nothing was used up and it may be tried again."""

    def __init__(self, number: int, detail: str) -> None:
        super().__init__(detail)
        self.errno = number
        self.name = errno.errorcode.get(number, str(number))
        self.detail = detail
        self.transient = number in _TRANSIENT


def about(what: str, path: bytes, error: OSError) -> SpawnError:
    """Return the failure of something that was named; error.strerror may be words of our own."""
    number = error.errno or errno.EIO
    return SpawnError(number, f"{what} {shown(path)}: {error.strerror or os.strerror(number)}")


def of_program(argv: list[bytes], number: int, cwd: bytes = b"") -> SpawnError:
    """Return the failure of an exec. ENOENT for a program that is there means its interpreter (execve(2)).

    `cwd`: where the program would have been started, when the caller is somewhere else.
    """
    program, why = argv[0], os.strerror(number)
    path = os.path.normpath(os.path.join(cwd, program))
    mode = _mode(path) if b"/" in program else None
    if number == errno.ENOENT and mode is not None:
        why = f"{_interpreter(path)} is missing"
    elif number == errno.EACCES and mode is not None and stat.S_ISDIR(mode):
        why = "it is a directory"
    elif number == errno.EACCES and mode is not None and not mode & 0o111:
        why = f"it is not executable: chmod +x {shown(path)}"
    return SpawnError(number, f"program {shown(program)}: {why}")


def _mode(path: bytes) -> int | None:
    """Return None for what is not there, or cannot be looked at."""
    try:
        return os.stat(path).st_mode
    except OSError:
        return None


def _interpreter(program: bytes) -> str:
    """Return it by its name in the first line of a script, where that can be read."""
    try:
        with open(program, "rb") as file:
            line = file.readline(_LINE_MAX)
    except OSError:
        line = b""
    words = line.removeprefix(b"#!").split(None, 1) if line.startswith(b"#!") else []
    if not words:
        return "its interpreter"
    if line.endswith(b"\r\n") and len(words) == 1:
        return f"its interpreter {shown(words[0])} with a carriage return behind it (its lines end as on Windows)"
    return f"its interpreter {shown(words[0])}"


def shown(path: bytes) -> str:
    """Return a path for people."""
    return path.decode("utf-8", "backslashreplace")
