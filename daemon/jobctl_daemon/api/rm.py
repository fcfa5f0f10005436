"""DELETE /v1/jobs/{id}: no fire after it returns."""

from typing import Literal

from aiohttp.web_response import StreamResponse

from jobctl.errors import Conflict
from jobctl.states import RunState
from jobctl_daemon.api.answers import nothing
from jobctl_daemon.api.call import Call
from jobctl_daemon.api.cancel import stop_run
from jobctl_daemon.api.declared import must_be_made_by_hand
from jobctl_daemon.api.limits import PAGE_MAX
from jobctl_daemon.api.queries import Query
from jobctl_daemon.rows import RunFilter


class What(Query, frozen=True):
    """`runs=cancel` stops the runs that are running; otherwise they finish."""

    runs: Literal["cancel"] | None = None


async def rm(call: Call) -> StreamResponse:
    """The job goes first, so that nothing new is started while its runs are stopped."""
    store = call.services.store
    what = call.query(What)
    job = await store.job(call.caller, call.selector)
    must_be_made_by_hand(job, "removed")
    await store.delete_job(call.caller, job.id, call.now_ms)
    if what.runs == "cancel":
        await _stop_running(call, job.id, int(job.grace * 1000))
    call.services.changed()
    return nothing()


async def _stop_running(call: Call, job_id: int, grace_ms: int) -> None:
    wanted = RunFilter(job_id=job_id, states=(RunState.RUNNING,), limit=PAGE_MAX)
    while True:
        runs, cursor = await call.services.store.runs(call.caller, wanted)
        for run in runs:
            try:
                await stop_run(call, run.id, "cancel", grace_ms)
            except Conflict:
                continue  # it has ended meanwhile
        if cursor is None:
            return
        wanted = RunFilter(job_id=job_id, states=(RunState.RUNNING,), limit=PAGE_MAX, cursor=cursor)
