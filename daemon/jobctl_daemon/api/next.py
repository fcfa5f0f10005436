"""POST /v1/schedule/preview and GET /v1/jobs/{id}/next: what a schedule will do."""

from typing import Annotated, Any

import msgspec
from aiohttp.web_response import StreamResponse

from jobctl import wire
from jobctl.errors import InvalidInput
from jobctl.model import PreviewDraft
from jobctl.schedule import LocalFire, Schedule, Transition
from jobctl.schedule import preview as look_ahead
from jobctl_daemon.api.answers import answer
from jobctl_daemon.api.call import Call
from jobctl_daemon.api.definitions import checked, circumstances, with_upstream
from jobctl_daemon.api.limits import PREVIEW_MAX
from jobctl_daemon.api.queries import NoQuery, Query
from jobctl_daemon.drafts import Circumstances, checked_schedule
from jobctl_daemon.rows import DueJob
from jobctl_daemon.schedules import schedule_of


class Ahead(Query, frozen=True):
    """The next `n` fires after `from`, no later than `until`."""

    n: Annotated[int, msgspec.Meta(ge=0, le=PREVIEW_MAX)] = 5
    from_: str | None = msgspec.field(name="from", default=None)
    until: str | None = None


async def preview(call: Call) -> StreamResponse:
    """Of a schedule that no job has, perhaps not yet."""
    call.query(NoQuery)
    draft = await call.body(PreviewDraft)
    if not 0 <= draft.n <= PREVIEW_MAX:
        raise InvalidInput(f"{draft.n} fires cannot be shown", f"ask for 0 to {PREVIEW_MAX}", field="n")
    zone = draft.timezone or draft.schedule.timezone
    since_ms, until_ms = call.instant(draft.since, "since", zone), call.instant(draft.until, "until", zone)
    here = await with_upstream(call, draft.schedule, circumstances(call))
    return answer(await checked(_of_draft, draft, here, since_ms, until_ms))


def _of_draft(draft: PreviewDraft, here: Circumstances, since_ms: int | None, until_ms: int | None) -> dict[str, Any]:
    spec = checked_schedule(draft.schedule, None, draft.timezone, here)
    from_ms = here.now_ms if since_ms is None else since_ms
    return foretold(schedule_of(spec), from_ms, n=draft.n, until_ms=until_ms, zone=spec.timezone)


async def of_job(call: Call) -> StreamResponse:
    """Of a job's own schedule, whether it is paused or not; without `from` what will come of it."""
    ahead = call.query(Ahead)
    job = await call.services.store.job(call.caller, call.selector)
    cursor = await call.services.store.cursor(call.caller, job.id)
    zone = cursor.schedule.timezone
    from_ms = call.instant(ahead.from_, "from", zone)
    until_ms = call.instant(ahead.until, "until", zone)
    start_ms = begins(cursor, call.now_ms) if from_ms is None else from_ms
    schedule = await checked(schedule_of, cursor.schedule)
    return answer(await checked(foretold, schedule, start_ms, n=ahead.n, until_ms=until_ms, zone=zone))


def begins(cursor: DueJob, now_ms: int) -> int:
    """After which instant a job's future begins: with what it waits for, behind what is handled or left out."""
    if cursor.next_ms is not None:
        return cursor.next_ms - 1
    return max(now_ms, cursor.handled_ms, cursor.skip_until_ms or now_ms)


def foretold(schedule: Schedule, from_ms: int, *, n: int, zone: str, until_ms: int | None = None) -> dict[str, Any]:
    """The preview as the API shows it."""
    future = look_ahead(schedule, from_ms, n=n, until_ms=until_ms, tz=zone)
    return {
        "schema": wire.SCHEMA,
        "words": future.words,
        "timezone": future.zone,
        "items": [_item(fire) for fire in future.fires],
        "transitions": [_transition(change) for change in future.transitions],
        "warnings": future.warnings,
    }


def _item(fire: LocalFire) -> dict[str, Any]:
    return {"at": wire.rfc3339(fire.at_ms), "local": fire.local, "zone": fire.abbreviation, "note": fire.note}


def _transition(change: Transition) -> dict[str, Any]:
    return {
        "at": wire.rfc3339(change.at_ms),
        "local": change.local,
        "kind": change.kind,
        "offset_before": wire.seconds(change.old_offset_ms),
        "offset_after": wire.seconds(change.new_offset_ms),
        "fires": [_item(fire) for fire in change.fires],
        "fires_that_day": change.fires_that_day,
        "skipped": change.swallowed,
        "repeated": change.repeated,
        "words": change.words,
    }
