"""Processes that a test finds again by what stands in their environment, wherever they went."""

import os
import select
from pathlib import Path


class Carriers:
    """A variable with a value of its own, and whoever carries it."""

    def __init__(self) -> None:
        self.env = {"MARK": os.urandom(8).hex()}
        self._text = f"MARK={self.env['MARK']}".encode()

    def states(self) -> dict[int, str]:
        """The letter of proc(5) of each process that carries it, by pid. A zombie is none."""
        found = {}
        for entry in Path("/proc").iterdir():
            if entry.name.isdigit():
                try:
                    carries = self._text in (entry / "environ").read_bytes().split(b"\0")
                    state = (entry / "stat").read_text(errors="replace").rpartition(")")[2].split()[0]
                except OSError:
                    continue
                if carries and state != "Z":
                    found[int(entry.name)] = state
        return found

    def pids(self) -> list[int]:
        return sorted(self.states())


def until_gone(pid: int) -> None:
    """Waits until the process has ended."""
    try:
        handle = os.pidfd_open(pid)
    except ProcessLookupError:
        return
    try:
        assert select.select([handle], [], [], 20)[0]
    finally:
        os.close(handle)
