"""POST /v1/runs/{id}/cancel and /kill: TERM, the grace, KILL; or KILL now."""

from typing import Annotated

import msgspec
from aiohttp.web_response import StreamResponse

from jobctl import wire
from jobctl.model import Run
from jobctl_daemon.api.answers import answer
from jobctl_daemon.api.call import Call
from jobctl_daemon.api.context import StopMode
from jobctl_daemon.api.queries import NoQuery, Query
from jobctl_daemon.rows import Cancelled

_GRACE_S_MAX = 86_400


class Grace(Query, frozen=True):
    """Seconds between TERM and KILL; the job's own unless given."""

    grace: Annotated[float, msgspec.Meta(ge=0, le=_GRACE_S_MAX)] | None = None


async def cancel(call: Call) -> StreamResponse:
    """202 when a command is being stopped, 200 when nothing had started."""
    grace_s = call.query(Grace).grace
    return await _stopped(call, "cancel", None if grace_s is None else int(grace_s * 1000))


async def kill(call: Call) -> StreamResponse:
    """As cancel, without a grace."""
    call.query(NoQuery)
    return await _stopped(call, "kill", 0)


async def _stopped(call: Call, mode: StopMode, grace_ms: int | None) -> StreamResponse:
    if grace_ms is None:
        grace_ms = await _own_grace_ms(call)
    cancelled, waits_for = await _asked(call, call.run_id, mode, grace_ms)
    call.services.changed()
    return answer(_shown(cancelled.run, waits_for), 200 if cancelled.fence is None else 202)


def _shown(run: Run, waits_for: str | None) -> object:
    """With `waits_for` when it is stopped only once its runner answers."""
    return run if waits_for is None else {**msgspec.json.decode(wire.encode(run)), "waits_for": waits_for}


async def _own_grace_ms(call: Call) -> int:
    run = await call.services.store.run(call.caller, call.run_id)
    spec = await call.services.store.spec(call.caller, run.job_id)
    return spec.policies.grace_ms


async def stop_run(call: Call, run_id: int, mode: StopMode, grace_ms: int) -> Cancelled:
    """Recorded first, then asked of the runner: a daemon that dies in between asks again after its restart."""
    cancelled, _ = await _asked(call, run_id, mode, grace_ms)
    return cancelled


async def _asked(call: Call, run_id: int, mode: StopMode, grace_ms: int) -> tuple[Cancelled, str | None]:
    """And why it has to wait, if it has."""
    services = call.services
    cancelled = await services.store.cancel(call.caller, run_id, call.caller.name, call.now_ms, mode)
    if cancelled.fence is None:
        return cancelled, None
    return cancelled, await services.execution.stop(run_id, cancelled.fence, mode, grace_ms)
