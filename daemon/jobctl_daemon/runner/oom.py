"""Tells a kill by the kernel for want of memory from any other KILL: only by the kernel's own counters."""

from __future__ import annotations

from .clock import boot_s
from .identity import read_file

_FRESH_S = 1.0


class OomCounter:
    """The host's count of such kills. Each is attributed to one command at most.

    A group with the memory controller counts for itself and is asked first; on a host without one, a command that
    died of KILL while the host's count rose is taken for the victim.
    """

    __slots__ = ("_accounted", "_sample", "_sampled_at")

    def __init__(self) -> None:
        self._accounted = 0
        self._sample = self._sampled_at = 0.0

    def sample(self) -> int:
        """Return the host's count, at most a second old: the base for a command that starts now."""
        now = boot_s()
        if now - self._sampled_at > _FRESH_S:
            self._sample, self._sampled_at = _count("/proc/vmstat"), now
        return int(self._sample)

    def claims(self, base: int, group: str | None, group_base: int) -> bool:
        """Tell whether a command that died of KILL was the kernel's choice."""
        if group is not None:
            return in_group(group) > group_base
        known = max(base, self._accounted)
        if _count("/proc/vmstat") <= known:
            return False
        self._accounted = known + 1
        return True


def in_group(path: str) -> int:
    """Return how many in a control group, or below it, the kernel has killed for memory."""
    return _count(f"{path}/memory.events")


def _count(path: str) -> int:
    try:
        text = b"\n" + read_file(path, 65536)
    except OSError:
        return 0
    _, found, rest = text.partition(b"\noom_kill ")
    return int(rest.split(None, 1)[0]) if found else 0
