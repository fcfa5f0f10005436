"""GET /v1/runs and /v1/jobs/{id}/runs: what ran, runs and waits, newest first."""

import msgspec
from aiohttp.web_response import StreamResponse

from jobctl.filters import parse
from jobctl.states import RunState
from jobctl_daemon.api import halted
from jobctl_daemon.api.answers import page
from jobctl_daemon.api.call import Call
from jobctl_daemon.api.queries import Paged, words
from jobctl_daemon.rows import RunFilter


class OfJob(Paged, frozen=True):
    """The audit trail of one job, paged by time."""

    state: str | None = None
    before: str | None = None
    since: str | None = None
    q: str | None = None


class Which(OfJob, frozen=True):
    """Runs of all jobs."""

    owner: str | None = None


async def runs(call: Call) -> StreamResponse:
    """Runs of all jobs that match."""
    which = call.query(Which)
    return await _page(call, which, RunFilter(owner=which.owner), None)


async def of_job(call: Call) -> StreamResponse:
    """Runs of one job that match."""
    which = call.query(OfJob)
    job = await call.services.store.job(call.caller, call.selector)
    return await _page(call, which, RunFilter(job_id=job.id), job.schedule.timezone if job.schedule else None)


async def _page(call: Call, which: OfJob, of: RunFilter, timezone: str | None) -> StreamResponse:
    wanted = msgspec.structs.replace(
        of,
        q=parse(which.q or ""),
        now_ms=call.now_ms,
        states=words(which.state, RunState, "state"),
        before_ms=call.instant(which.before, "before", timezone),
        since_ms=call.instant(which.since, "since", timezone),
        limit=which.limit,
        cursor=which.cursor,
    )
    found, cursor = await call.services.store.runs(call.caller, wanted)
    return page(await halted.told(call, found), cursor)
