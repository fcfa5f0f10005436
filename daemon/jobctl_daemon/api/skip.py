"""POST /v1/jobs/{id}/skip: the next occurrences are left out, or are not after all."""

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
from jobctl_daemon.decide.set_back import held_until
from jobctl_daemon.decide.skip import skip as left_out
from jobctl_daemon.decide.skip import unskip
from jobctl_daemon.rows import DueJob
from jobctl_daemon.schedules import schedule_of, stored_schedule


async def skip(call: Call) -> StreamResponse:
    """The job as it is then. `Conflict` when it waits for no time, or nothing is left out that could be taken back."""
    call.query(NoQuery)
    draft = await call.body_or_default(SkipDraft)
    if not 0 <= draft.count <= SKIPPED_MAX:
        raise InvalidInput(
            f"{str(draft.count)[:20]} occurrences cannot be left out",
            f"give 1 to {SKIPPED_MAX}, or 0 to leave out none after all",
            field="count",
        )
    why = checked_why(draft.why)
    detail = f"skipped by {call.caller.name}" + (f": {why}" if why else "")
    job = await call.services.store.job(call.caller, call.selector)
    # Read once: an instant between two readings would be due for neither, and lost.
    now_ms = call.now_ms
    shown = await (_leave_out(call, job, draft.count, detail, now_ms) if draft.count else _take_back(call, job, now_ms))
    call.services.changed()
    return answer(shown)


async def _leave_out(call: Call, job: Job, count: int, detail: str, now_ms: int) -> Job:
    cursor = await _cursor(call, job, now_ms)
    decision = None
    if cursor.next_ms is not None or cursor.suspended_since_ms is not None:
        schedule = await checked(stored_schedule, cursor)
        decision = await checked(left_out, cursor, schedule, count, detail, now_ms)
    if decision is None:
        raise Conflict(f"{job.name} waits for no time", "only occurrences to come can be left out")
    return await call.services.store.skip_next(
        call.caller, job.id, decision.row, cursor.revision, decision.next_ms, now_ms
    )


async def _cursor(call: Call, job: Job, now_ms: int) -> DueJob:
    """The cursor with nothing due: an occurrence whose time has come runs, also while its successors are left out."""
    store = call.services.store
    cursor = await store.cursor(call.caller, job.id)
    if cursor.next_ms is None or cursor.next_ms > now_ms:
        return cursor
    schedule = await checked(schedule_of, cursor.schedule)
    await store.expand([await checked(expand, cursor, schedule, now_ms)], now_ms, call.services.epoch)
    cursor = await store.cursor(call.caller, job.id)
    if cursor.next_ms is not None and cursor.next_ms <= now_ms:  # overtaken: what is due would be left out unseen
        raise Conflict(f"{job.name} has just become due", "ask again in a moment")
    return cursor


async def _take_back(call: Call, job: Job, now_ms: int) -> Job:
    store = call.services.store
    cursor = await _cursor(call, job, now_ms)
    schedule = await checked(stored_schedule, cursor)
    asked = await store.left_out(call.caller, job.id, now_ms)
    after_ms = held_until(schedule, (await store.clock()).last, now_ms)
    decision = await checked(unskip, cursor, schedule, asked, now_ms, after_ms)
    if decision is None:
        raise Conflict(f"nothing of {job.name} is left out", "leave its next time out: `jobctl skip JOB`")
    return await store.unskip(call.caller, decision, now_ms)
