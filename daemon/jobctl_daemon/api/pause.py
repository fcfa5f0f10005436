"""POST /v1/jobs/{id}/pause: nothing starts but what is asked for by hand."""

from aiohttp.web_response import StreamResponse

from jobctl.errors import InvalidInput
from jobctl.model import PauseDraft
from jobctl_daemon.api.answers import answer
from jobctl_daemon.api.call import Call
from jobctl_daemon.api.queries import NoQuery

_WHY_CHARS_MAX = 1000


async def pause(call: Call) -> StreamResponse:
    """Holds what has not started; the job as it is then. Again, it changes only what is given."""
    call.query(NoQuery)
    draft = await call.body_or_default(PauseDraft)
    job = await call.services.store.job(call.caller, call.selector)
    until_ms = call.instant(draft.until, "until", job.schedule.timezone if job.schedule else None)
    if until_ms is not None and until_ms <= call.now_ms:
        raise InvalidInput("the pause would have ended already", "give a time ahead, or none", field="until")
    if draft.why is not None and len(draft.why) > _WHY_CHARS_MAX:
        raise InvalidInput(f"the reason has over {_WHY_CHARS_MAX} characters", "say it shorter", field="why")
    if job.paused and draft.until is None and draft.why is None:
        return answer(job)
    if job.paused and until_ms is None:
        until_ms = call.instant(job.paused_until, "until", None)
    why = job.paused_why if draft.why is None else draft.why
    paused = await call.services.store.pause_job(call.caller, job.id, call.caller.name, until_ms, why, call.now_ms)
    call.services.changed()
    return answer(paused)
