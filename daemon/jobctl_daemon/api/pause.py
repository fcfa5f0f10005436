"""POST /v1/jobs/{id}/pause: nothing starts but what is asked for by hand."""

from aiohttp.web_response import StreamResponse

from jobctl.errors import InvalidInput
from jobctl.model import PauseDraft
from jobctl_daemon.api.answers import answer
from jobctl_daemon.api.call import Call
from jobctl_daemon.api.queries import NoQuery

_WHY_CHARS_MAX = 1000


async def pause(call: Call) -> StreamResponse:
    """Holds what has not started; the job as it is then."""
    call.query(NoQuery)
    draft = await call.body_or_default(PauseDraft)
    job = await call.services.store.job(call.caller, call.selector)
    until_ms = call.instant(draft.until, "until", job.schedule.timezone if job.schedule else None)
    if until_ms is not None and until_ms <= call.now_ms:
        raise InvalidInput("the pause would have ended already", "give a time ahead, or none", field="until")
    if draft.why is not None and len(draft.why) > _WHY_CHARS_MAX:
        raise InvalidInput(f"the reason has over {_WHY_CHARS_MAX} characters", "say it shorter", field="why")
    store = call.services.store
    paused = await store.pause_job(call.caller, job.id, call.caller.name, until_ms, draft.why, call.now_ms)
    call.services.changed()
    return answer(paused)
