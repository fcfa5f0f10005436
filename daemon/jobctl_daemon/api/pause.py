"""POST /v1/jobs/{id}/pause, …/queues/{name}/pause and …/daemon/pause: nothing starts but what is asked for by hand."""

from aiohttp.web_response import StreamResponse

from jobctl.errors import InvalidInput
from jobctl.model import Job, PauseDraft, Queue
from jobctl_daemon.api.answers import answer
from jobctl_daemon.api.call import Call
from jobctl_daemon.api.queries import NoQuery
from jobctl_daemon.api.queues import DAEMON, queue_named
from jobctl_daemon.api.rights import must_operate
from jobctl_daemon.api.values import checked_why
from jobctl_daemon.rows import Pause


async def job(call: Call) -> StreamResponse:
    """Holds what has not started; the job as it is then. Again, it changes only what is given."""
    call.query(NoQuery)
    draft = await call.body_or_default(PauseDraft)
    shown = await call.services.store.job(call.caller, call.selector)
    pause = _wanted(call, draft, shown, shown.schedule.timezone if shown.schedule else None)
    if shown.paused and draft == PauseDraft():
        return answer(shown)
    paused = await call.services.store.pause_job(
        call.caller, shown.id, pause.by, pause.until_ms, pause.why, call.now_ms
    )
    call.services.changed()
    return answer(paused)


async def queue(call: Call) -> StreamResponse:
    """The same of all jobs of a queue."""
    return await _all_of(call, call.queue)


async def daemon(call: Call) -> StreamResponse:
    """The same of all jobs there are."""
    return await _all_of(call, DAEMON)


async def _all_of(call: Call, name: str) -> StreamResponse:
    call.query(NoQuery)
    must_operate(call.caller, call.services.host.uid)
    draft = await call.body_or_default(PauseDraft)
    before = await queue_named(call, name)
    pause = _wanted(call, draft, before, None)
    if before.paused and draft == PauseDraft():
        return answer(before)
    await call.services.store.pause_queue(name, pause, call.now_ms)
    call.services.changed()
    return answer(await queue_named(call, name))


def _wanted(call: Call, draft: PauseDraft, before: Job | Queue, timezone: str | None) -> Pause:
    """The pause that is asked for; what a second one leaves out stays as it is."""
    until_ms = call.instant(draft.until, "until", timezone)
    if until_ms is not None and until_ms <= call.now_ms:
        raise InvalidInput("the pause would have ended already", "give a time ahead, or none", field="until")
    why = checked_why(draft.why)
    if before.paused:
        until_ms = call.instant(before.paused_until, "until") if until_ms is None else until_ms
        why = before.paused_why if why is None else why
    return Pause(by=call.caller.name, until_ms=until_ms, why=why)
