"""POST /v1/jobs/{id}/resume: what the pause swallowed becomes one row, and the schedule goes on from now."""

from aiohttp.web_response import StreamResponse

from jobctl.errors import Conflict
from jobctl.model import Job
from jobctl_daemon.api.answers import answer
from jobctl_daemon.api.call import Call
from jobctl_daemon.api.instants import ms_of
from jobctl_daemon.api.queries import NoQuery
from jobctl_daemon.decide.pause import missed_while_paused
from jobctl_daemon.rows import DueJob
from jobctl_daemon.schedules import schedule_of

#: How far before the pause the ledger is asked for the last occurrence that was dealt with, and for how many rows.
_LOOK_BACK_MS = 600_000
_ROWS = 2000


async def resume(call: Call) -> StreamResponse:
    """The job as it is then. `Conflict` when it is not paused."""
    call.query(NoQuery)
    job = await call.services.store.job(call.caller, call.selector)
    if not job.paused or job.paused_since is None:
        raise Conflict(f"{job.name} is not paused", "see `jobctl show` for its state")
    now_ms = call.now_ms
    due = await _due_job(call, job, ms_of(job.paused_since))
    missed, next_ms = missed_while_paused(due, schedule_of(due.schedule), now_ms)
    resumed = await call.services.store.resume_job(call.caller, job.id, missed, next_ms, now_ms)
    call.services.changed()
    return answer(resumed)


async def _due_job(call: Call, job: Job, paused_ms: int) -> DueJob:
    spec = await call.services.store.spec(call.caller, job.id)
    return DueJob(
        job_id=job.id,
        job_uid=job.uid,
        name=job.name,
        version=job.version,
        schedule=spec.schedule,
        policies=spec.policies,
        next_ms=None,
        handled_ms=await _handled_ms(call, job, paused_ms),
        revision=job.rev,
        created_ms=ms_of(job.created_at),
        paused_since_ms=paused_ms,
    )


async def _handled_ms(call: Call, job: Job, paused_ms: int) -> int:
    """Up to where every occurrence has its row. A pause may come in between an instant and its expansion."""
    from_ms = max(paused_ms - _LOOK_BACK_MS, ms_of(job.created_at))
    rows = await call.services.store.ledger(call.caller, job.id, from_ms, paused_ms, _ROWS)
    if len(rows) == _ROWS:
        return paused_ms - 1
    return max([from_ms, *(row.to_ms for row in rows if row.key[:2] in ("s:", "r:"))])
