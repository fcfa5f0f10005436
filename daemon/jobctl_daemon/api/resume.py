"""POST /v1/jobs/{id}/resume: what the pause swallowed becomes one row, and the schedule goes on from now."""

from aiohttp.web_response import StreamResponse

from jobctl.errors import Conflict
from jobctl_daemon.api.answers import answer
from jobctl_daemon.api.call import Call
from jobctl_daemon.api.definitions import checked
from jobctl_daemon.api.queries import NoQuery
from jobctl_daemon.decide.pause import missed_while_paused
from jobctl_daemon.schedules import schedule_of


async def resume(call: Call) -> StreamResponse:
    """The job as it is then. `Conflict` when it is not paused."""
    call.query(NoQuery)
    store = call.services.store
    job = await store.job(call.caller, call.selector)
    if not job.paused:
        raise Conflict(f"{job.name} is not paused", "see `jobctl show` for its state")
    now_ms = call.now_ms
    cursor = await store.cursor(call.caller, job.id)
    missed, next_ms = await checked(missed_while_paused, cursor, schedule_of(cursor.schedule), now_ms)
    resumed = await store.resume_job(call.caller, job.id, missed, next_ms, now_ms)
    call.services.changed()
    return answer(resumed)
