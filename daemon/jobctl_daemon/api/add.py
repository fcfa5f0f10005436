"""POST /v1/jobs: a new job, once for each idempotency key."""

from shlex import quote
from typing import Any, Final

import msgspec
from aiohttp.web_response import StreamResponse

from jobctl.errors import Conflict
from jobctl.model import JobDraft
from jobctl_daemon.api.answers import answer
from jobctl_daemon.api.call import Call
from jobctl_daemon.api.definitions import after_shown, checked, circumstances, free_names, holder_of, with_upstream
from jobctl_daemon.api.dry import as_job
from jobctl_daemon.api.limits import PREVIEWED
from jobctl_daemon.api.next import foretold
from jobctl_daemon.api.queries import Query
from jobctl_daemon.api.queues import pauses_over
from jobctl_daemon.drafts import Checked, Circumstances, checked_job
from jobctl_daemon.rows import Created, Request
from jobctl_daemon.schedules import schedule_of

#: Others may take a made-up name between the look and the write.
_TRIES: Final = 64


class How(Query, frozen=True):
    """`dry_run`: only say what would come of it."""

    dry_run: bool = False


async def add(call: Call) -> StreamResponse:
    """201 and the job; 200 and the job as it is now when the key repeats."""
    how = call.query(How)
    draft = await call.body(JobDraft)
    here = await with_upstream(call, draft.schedule, circumstances(call))
    definition = await checked(checked_job, draft, here)
    if how.dry_run:
        return answer(await _dry(call, definition, here))
    request = call.idempotency("add", draft)
    await call.services.rooms.for_jobs(call.caller, request)
    created = await _create(call, definition, here.now_ms, request)
    if created.fresh:
        call.services.changed()
    return answer(created.job, 201 if created.fresh else 200)


async def _create(call: Call, definition: Checked, now_ms: int, request: Request | None) -> Created:
    """A name from the command gets a number when it is taken; a name that was given is a conflict."""
    spec = definition.spec
    for _ in range(_TRIES):
        try:
            return await call.services.store.create_job(call.caller, spec, definition.next_ms, now_ms, request)
        except Conflict:
            # The key may be what conflicts: then no other name helps.
            if definition.named or await holder_of(call, spec.name) is None:
                raise
            spec = msgspec.structs.replace(spec, name=(await free_names(call, [definition.spec.name], []))[0])
    return await call.services.store.create_job(call.caller, spec, definition.next_ms, now_ms, request)


async def _dry(call: Call, definition: Checked, here: Circumstances) -> dict[str, Any]:
    """What would be stored, its future, and what its author should know."""
    spec = definition.spec
    if not definition.named:
        spec = msgspec.structs.replace(spec, name=(await free_names(call, [spec.name], []))[0])
    elif await holder_of(call, spec.name) is not None:
        hint = f"choose another name, or change it: `jobctl edit {quote(spec.name)} …`"
        raise Conflict(f"there is a job {spec.name} already", hint, details={"field": "name"})
    zone = spec.schedule.timezone
    future = await checked(foretold, schedule_of(spec.schedule), here.now_ms, n=PREVIEWED, zone=zone)
    return {
        "job": as_job(
            spec,
            call.caller,
            definition.next_ms,
            here.now_ms,
            after_shown(spec.schedule, here),
            await pauses_over(call, spec.queue),
        ),
        "preview": future,
        "warnings": definition.warnings,
    }
