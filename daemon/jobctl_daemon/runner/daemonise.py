"""Leaves the starter's process tree, session and terminal, and tells the starter how it went."""

from __future__ import annotations

import os

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable


def detach() -> Callable[[int, str], int]:
    """Fork twice; return, in the last process only, the call that releases the starter: done(exit status, error).

    The starter's process ends with that status, and prints the error first if there is one.
    """
    reader, writer = os.pipe()
    if os.fork() != 0:
        os.close(writer)
        _wait(reader)
    os.setsid()
    if os.fork() != 0:
        os._exit(0)
    os.close(reader)

    def done(status: int, error: str) -> int:
        os.write(writer, bytes([status]) + error.encode("utf-8", "backslashreplace")[:2000])
        os.close(writer)
        return status

    return done


def _wait(reader: int) -> None:
    answer = b""
    while block := os.read(reader, 4096):
        answer += block
    status, error = (answer[0], answer[1:]) if answer else (70, b"runner: died while starting")
    if error:
        os.write(2, error + b"\n")
    os._exit(status)


def let_go_of_terminal() -> None:
    """Put /dev/null in place of the standard descriptors."""
    null = os.open("/dev/null", os.O_RDWR)
    for descriptor in (0, 1, 2):
        os.dup2(null, descriptor)
    if null > 2:
        os.close(null)
