"""POST /v1/jobs/{id}/skip: the next occurrences are left out."""

from aiohttp.web_response import StreamResponse

from jobctl.errors import Conflict, InvalidInput
from jobctl.model import Job, SkipDraft
from jobctl_daemon.api.answers import answer
from jobctl_daemon.api.call import Call
from jobctl_daemon.api.definitions import checked
from jobctl_daemon.api.limits import SKIPPED_MAX
from jobctl_daemon.api.queries import NoQuery
from jobctl_daemon.api.values import checked_why
from jobctl_daemon.decide.due import expand
from jobctl_daemon.decide.skip import skip as left_out
from jobctl_daemon.rows import DueJob
from jobctl_daemon.schedules import schedule_of


async def skip(call: Call) -> StreamResponse:
    """The job as it is then. `Conflict` when it waits for no time, or is paused."""
    call.query(NoQuery)
    draft = await call.body_or_default(SkipDraft)
    if not 1 <= draft.count <= SKIPPED_MAX:
        raise InvalidInput(
            f"{str(draft.count)[:20]} occurrences cannot be left out", f"give 1 to {SKIPPED_MAX}", field="count"
        )
    why = checked_why(draft.why)
    detail = f"skipped by {call.caller.name}" + (f": {why}" if why else "")
    job = await call.services.store.job(call.caller, call.selector)
    cursor = await _cursor(call, job)
    decision = None
    if cursor.next_ms is not None:
        schedule = await checked(schedule_of, cursor.schedule)
        decision = await checked(left_out, cursor, schedule, draft.count, detail, call.now_ms)
    if decision is None:
        raise Conflict(f"{job.name} waits for no time", "only occurrences to come can be left out")
    shown = await call.services.store.skip_next(
        call.caller, job.id, decision.row, cursor.revision, decision.next_ms, call.now_ms
    )
    call.services.changed()
    return answer(shown)


async def _cursor(call: Call, job: Job) -> DueJob:
    """The cursor with nothing due: an occurrence whose time has come runs, also while its successors are left out."""
    store, now_ms = call.services.store, call.now_ms
    cursor = await store.cursor(call.caller, job.id)
    if cursor.suspended_since_ms is not None:
        raise Conflict(
            f"{job.name} is paused", f"resume it with `jobctl resume {job.name}`", details={"state": "paused"}
        )
    if cursor.next_ms is None or cursor.next_ms > now_ms:
        return cursor
    schedule = await checked(schedule_of, cursor.schedule)
    await store.expand([await checked(expand, cursor, schedule, now_ms)], now_ms, call.services.epoch)
    return await store.cursor(call.caller, job.id)
