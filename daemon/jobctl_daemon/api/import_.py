"""POST /v1/jobs/import: many jobs, all of them or none."""

import msgspec
from aiohttp.web_response import StreamResponse

from jobctl.errors import InvalidInput
from jobctl.model import JobDraft, Value
from jobctl_daemon.api.answers import page
from jobctl_daemon.api.call import Call
from jobctl_daemon.api.definitions import checked_in_turn, circumstances, free_names, with_upstream
from jobctl_daemon.api.limits import IMPORT_MAX
from jobctl_daemon.api.queries import NoQuery
from jobctl_daemon.drafts import Checked, Circumstances, checked_job


class Batch(Value, frozen=True):
    """The body."""

    jobs: list[JobDraft]


async def import_(call: Call) -> StreamResponse:
    """201 and the jobs, in the order given."""
    call.query(NoQuery)
    batch = await call.body(Batch)
    if len(batch.jobs) > IMPORT_MAX:
        raise InvalidInput(f"there are over {IMPORT_MAX} jobs", "send them in several imports", field="jobs")
    here = circumstances(call)
    each = [(draft, await with_upstream(call, draft.schedule, here)) for draft in batch.jobs]
    definitions = await checked_in_turn(call, _all, each)
    await call.services.rooms.for_jobs(call.caller, None, len(definitions))
    named = await _with_names(call, definitions)
    jobs = await call.services.store.create_jobs(
        call.caller, [(definition.spec, definition.next_ms) for definition in named], here.now_ms
    )
    call.services.changed()
    return page(jobs, status=201)


def _all(each: list[tuple[JobDraft, Circumstances]]) -> list[Checked]:
    return [_one(index, draft, here) for index, (draft, here) in enumerate(each)]


def _one(index: int, draft: JobDraft, here: Circumstances) -> Checked:
    try:
        return checked_job(draft, here)
    except InvalidInput as error:
        message = f"job {index + 1}: {error.message}"
        raise InvalidInput(message, error.hint, field=f"jobs[{index}].{error.field or ''}".rstrip(".")) from error


async def _with_names(call: Call, definitions: list[Checked]) -> list[Checked]:
    given = [definition.spec.name for definition in definitions if definition.named]
    made = iter(await free_names(call, [one.spec.name for one in definitions if not one.named], given))
    return [
        definition if definition.named else Checked(
            msgspec.structs.replace(definition.spec, name=next(made)), definition.next_ms, definition.warnings
        )
        for definition in definitions
    ]  # fmt: skip
