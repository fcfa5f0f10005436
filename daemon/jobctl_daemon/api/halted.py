"""Commands that a signal has stopped: they count as running, and will not end by themselves before their timeout."""

from collections.abc import Iterable

import msgspec

from jobctl.model import Run
from jobctl.states import RunState
from jobctl_daemon.api.call import Call


async def told(call: Call, runs: Iterable[Run]) -> list[Run]:
    """The runs; what runs and is stopped says so as its reason."""
    return [await _told(call, run) if run.state is RunState.RUNNING and run.reason is None else run for run in runs]


async def _told(call: Call, run: Run) -> Run:
    attempts = await call.services.store.attempts(call.caller, run.id)
    pid = attempts[-1].pid if attempts else None
    if pid is None or not _is_stopped(pid):
        return run
    why = f"stopped by a signal: kill -CONT {pid} lets it go on"
    return msgspec.structs.replace(run, reason=why)


def _is_stopped(pid: int) -> bool:
    """By proc(5): T, or t where a debugger has done it."""
    try:
        with open(f"/proc/{pid}/stat", encoding="ascii", errors="replace") as file:
            return file.read().rpartition(")")[2].split()[0] in "Tt"
    except (OSError, IndexError):
        return False
