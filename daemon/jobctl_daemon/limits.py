"""The kernel's limits on this process, as the settings see them."""

import resource
from typing import Final

from jobctl.errors import InvalidInput

#: What a daemon with two runners and a few callers needs; below it answers nobody.
_DESCRIPTORS: Final = 64


def process_limits() -> tuple[int, int]:
    """(descriptors, processes) that may be had at the most; -1 where there is no limit (getrlimit(2))."""
    _, descriptors = resource.getrlimit(resource.RLIMIT_NOFILE)
    _, processes = resource.getrlimit(resource.RLIMIT_NPROC)
    return _bounded(descriptors), _bounded(processes)


def must_have_descriptors() -> None:
    """Raises `InvalidInput` where so few files may be open that the daemon would start and never answer."""
    soft, _ = resource.getrlimit(resource.RLIMIT_NOFILE)
    if soft != resource.RLIM_INFINITY and soft < _DESCRIPTORS:
        raise InvalidInput(
            f"it may have only {soft} files open, and needs {_DESCRIPTORS}",
            "raise the limit: ulimit -n 1024, under systemd LimitNOFILE=1024",
        )


def _bounded(limit: int) -> int:
    return -1 if limit == resource.RLIM_INFINITY else limit


def connections_possible(wanted: int = 256) -> int:
    """Connections of callers that leave descriptors for the database, the runners and the logs being read."""
    soft, _ = resource.getrlimit(resource.RLIMIT_NOFILE)
    return wanted if soft == resource.RLIM_INFINITY else max(8, min(wanted, soft // 2 - 32))
