"""What keeps a service manager from ending the daemon: a word in its rhythm, while nothing is stalled."""

import asyncio
from collections.abc import Callable, Mapping

import structlog

from jobctl_daemon.notify import Supervisor


async def reassure(supervisor: Supervisor, every_s: float, stalled: Callable[[], Mapping[str, str]]) -> None:
    """Until it is cancelled. `stalled`: who has not done what for too long; then nothing is said but in the log."""
    while True:
        found = stalled()
        if not found:
            supervisor.alive()
        for name, words in found.items():
            structlog.get_logger().error("service.stalled", service=name, error=words)
        await asyncio.sleep(every_s)  # noqa: TID251 - the manager's own rhythm
