"""The kernel's limits on this process, as the settings see them."""

import resource


def process_limits() -> tuple[int, int]:
    """(descriptors, processes) that may be had at the most; -1 where there is no limit (getrlimit(2))."""
    _, descriptors = resource.getrlimit(resource.RLIMIT_NOFILE)
    _, processes = resource.getrlimit(resource.RLIMIT_NPROC)
    return _bounded(descriptors), _bounded(processes)


def _bounded(limit: int) -> int:
    return -1 if limit == resource.RLIM_INFINITY else limit


def connections_possible(wanted: int = 256) -> int:
    """Connections of callers that leave descriptors for the database, the runners and the logs being read."""
    soft, _ = resource.getrlimit(resource.RLIMIT_NOFILE)
    return wanted if soft == resource.RLIM_INFINITY else max(8, min(wanted, soft // 2 - 32))
