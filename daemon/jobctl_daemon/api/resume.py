"""POST /v1/jobs/{id}/resume, /v1/queues/{name}/resume and /v1/daemon/resume: schedules go on from now.

What a pause swallowed becomes a row of the ledger; with `catch_up` the misfire policy says what of it still runs.
"""

from aiohttp.web_response import StreamResponse

from jobctl.errors import Conflict
from jobctl.model import Job, ResumeDraft
from jobctl_daemon.api.aim import aim
from jobctl_daemon.api.answers import answer
from jobctl_daemon.api.call import Call
from jobctl_daemon.api.queries import NoQuery
from jobctl_daemon.api.queues import DAEMON, queue_named
from jobctl_daemon.api.rights import must_operate


async def job(call: Call) -> StreamResponse:
    """The job as it is then, with its next fire. `Conflict` when it is not paused."""
    call.query(NoQuery)
    draft = await call.body_or_default(ResumeDraft)
    store, now_ms = call.services.store, call.now_ms
    shown = await store.job(call.caller, call.selector)
    _must_be_its_own(shown)
    if await store.resume_job(call.caller, shown.id, draft.catch_up, now_ms):
        await aim(call, shown.id, now_ms)
    call.services.changed()
    return answer(await store.job(call.caller, str(shown.id)))


def _must_be_its_own(job: Job) -> None:
    if job.paused or job.suspended_by is None:
        return
    of_queue = job.suspended_by == "queue"
    holder = f"its queue {job.queue}" if of_queue else "the daemon"
    verb = f"queue resume {job.queue}" if of_queue else "daemon resume"
    raise Conflict(
        f"{job.name} itself is not paused, {holder} is",
        f"`jobctl {verb}` ends that",
        details={"suspended_by": job.suspended_by},
    )


async def queue(call: Call) -> StreamResponse:
    """The queue as it is then; its jobs are aimed by the due scan."""
    return await _all_of(call, call.queue)


async def daemon(call: Call) -> StreamResponse:
    """The same of all jobs there are."""
    return await _all_of(call, DAEMON)


async def _all_of(call: Call, name: str) -> StreamResponse:
    call.query(NoQuery)
    must_operate(call.caller, call.services.host.uid)
    draft = await call.body_or_default(ResumeDraft)
    await call.services.store.resume_queue(name, draft.catch_up, call.now_ms)
    call.services.changed()
    return answer(await queue_named(call, name))
