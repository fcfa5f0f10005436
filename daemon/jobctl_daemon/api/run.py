"""POST /v1/jobs/{id}/runs and /v1/runs: a run because somebody asks for it."""

from aiohttp.web_response import StreamResponse

from jobctl.model import RunDraft, TriggerDraft
from jobctl_daemon.api.answers import answer
from jobctl_daemon.api.call import Call
from jobctl_daemon.api.definitions import checked, circumstances
from jobctl_daemon.api.queries import NoQuery
from jobctl_daemon.drafts import checked_run, due_at
from jobctl_daemon.rows import Triggered


async def trigger(call: Call) -> StreamResponse:
    """A run of a job, now or later. The key is its identity: the same one never runs twice."""
    call.query(NoQuery)
    draft = await call.body_or_default(TriggerDraft)
    job = await call.services.store.job(call.caller, call.selector)
    here = circumstances(call)
    own_tz = job.schedule.timezone if job.schedule else None
    due_ms = await checked(due_at, draft.run_at, draft.timezone, here, own_tz)
    request = call.idempotency(f"run {job.id}", draft)
    await call.services.rooms.for_run(call.caller, request)
    return _made(call, await call.services.store.trigger(call.caller, job.id, due_ms, here.now_ms, request))


async def adhoc(call: Call) -> StreamResponse:
    """A command that no job stands for, now or later."""
    call.query(NoQuery)
    draft = await call.body(RunDraft)
    here = circumstances(call)
    spec, due_ms = await checked(checked_run, draft, here)
    request = call.idempotency("run", draft)
    await call.services.rooms.for_run(call.caller, request)
    return _made(call, await call.services.store.run_adhoc(call.caller, spec, due_ms, here.now_ms, request))


def _made(call: Call, triggered: Triggered) -> StreamResponse:
    if triggered.fresh:
        call.services.changed()
    return answer(triggered.run, 201 if triggered.fresh else 200)
