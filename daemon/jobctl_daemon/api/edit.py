"""PATCH /v1/jobs/{id}: a changed definition, with nothing that fires by surprise."""

import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Final

from aiohttp.web_response import StreamResponse

from jobctl import wire
from jobctl.errors import Conflict, InvalidInput
from jobctl.model import Job, JobSpec, ScheduleSpec
from jobctl_daemon.api.aim import aim
from jobctl_daemon.api.answers import answer, answer_job
from jobctl_daemon.api.call import Call
from jobctl_daemon.api.declared import must_be_made_by_hand
from jobctl_daemon.api.definitions import (
    EVERYBODY,
    after_shown,
    checked,
    circumstances,
    holder_of,
    with_its_upstream,
    with_upstream,
)
from jobctl_daemon.api.dry import as_edited
from jobctl_daemon.api.limits import PREVIEWED
from jobctl_daemon.api.next import begins, foretold
from jobctl_daemon.api.queries import Query
from jobctl_daemon.api.queues import pauses_over
from jobctl_daemon.api.rights import changes_work, must_own_work
from jobctl_daemon.decide.edit import edit as decided
from jobctl_daemon.decide.pause import resumption
from jobctl_daemon.drafts import Checked, Circumstances, changes, checked_edit, merged
from jobctl_daemon.rows import Caller, DueJob, Edit, LedgerRow
from jobctl_daemon.schedules import expandable, schedule_of
from jobctl_daemon.services.resuming import counted_from_its_rows

#: An edit without If-Match is made on what the job is; others may change it between the look and the write.
_TRIES: Final = 16
#: Fields that say after which job it comes.
_NEW_TIMES: Final = frozenset({"schedule", "run_at"})
_TAGS: Final = re.compile(r'\s*(?:W/)?"[\x21\x23-\x7e]*"\s*(?:,\s*(?:W/)?"[\x21\x23-\x7e]*"\s*)*', re.ASCII)


class How(Query, frozen=True):
    """`dry_run`: only say what would come of it."""

    dry_run: bool = False


@dataclass(frozen=True, slots=True)
class Planned:
    """An edit that is not made yet, and what it was decided from."""

    job: Job
    owner: Caller
    old: JobSpec
    new: Checked
    cursor: DueJob
    edit: Edit
    here: Circumstances


async def edit(call: Call) -> StreamResponse:
    """The job as it is then. `Conflict` when it is not the one that If-Match names."""
    how = call.query(How)
    patch = await call.body(dict[str, Any])
    wanted = _if_match(call)
    selector = call.selector
    for _ in range(_TRIES):
        job = await call.services.store.job(call.caller, selector)
        must_be_made_by_hand(job, "edited")
        await _must_match(call, job, wanted)
        planned = await _planned(call, job, patch)
        if how.dry_run:
            return answer(await _dry(call, planned))
        if planned.new.spec == planned.old:
            return answer_job(job)
        edited = await _made(call, planned)
        if edited is not None:
            return answer_job(edited)
        selector = str(job.id)
    raise Conflict(f"{selector} is changed by others all the time", "look at it, and edit it again")


async def _planned(call: Call, job: Job, patch: dict[str, Any]) -> Planned:
    store = call.services.store
    owner, old = await store.owner_of(call.caller, job.id), await store.spec(call.caller, job.id)
    here = circumstances(call, owner)
    if old.hidden:
        raise Conflict(f"{job.name} is the command of a run and no job", "make a job of it with `jobctl add`")
    draft = await checked(merged, old, patch, here)
    if _NEW_TIMES.isdisjoint(patch):
        here = await with_its_upstream(call, old.schedule, here)
    else:
        here = await with_upstream(call, draft.schedule, here, owner)
    new = await checked(checked_edit, old, patch, here)
    if changes_work(old.execution, new.spec.execution, old.policies, new.spec.policies):
        must_own_work(call.caller, owner, new.spec.execution.user)
    cursor = await counted_from_its_rows(store, await store.cursor(call.caller, job.id), here.now_ms)
    asked = await store.left_out(call.caller, job.id, here.now_ms) if cursor.skips_after(here.now_ms) else []
    decision = await checked(_decided, cursor, old, new.spec, job.rev, here.now_ms, asked)
    return Planned(job, owner, old, new, cursor, decision, here)


def _decided(cursor: DueJob, old: JobSpec, new: JobSpec, rev: int, now_ms: int, asked: Sequence[LedgerRow]) -> Edit:
    was, becomes = expandable(old.schedule), expandable(new.schedule)
    return decided(cursor, old, new, rev, was, becomes, now_ms, asked)


async def _made(call: Call, planned: Planned) -> Job | None:
    """None when somebody else changed the job first, or it became due."""
    store = call.services.store
    job, now_ms = planned.job, planned.here.now_ms
    try:
        edited = await store.edit_job(call.caller, planned.edit, now_ms)
    except Conflict:
        rev = (await store.job(call.caller, str(job.id))).rev
        revision = (await store.cursor(call.caller, job.id)).revision
        if (rev, revision) == (job.rev, planned.cursor.revision):
            raise
        return None
    if job.suspended_by is not None:  # another queue may let it go
        await aim(call, job.id, now_ms)
        edited = await store.job(call.caller, str(job.id))
    call.services.changed()
    return edited


async def _dry(call: Call, planned: Planned) -> dict[str, Any]:
    """The job as it would be, its fires before and after, and what its author should know."""
    old, new = planned.old, planned.new.spec
    named = new.name != old.name or planned.edit.schedule_changed  # one that is done wants its name back
    if named and await holder_of(call, new.name, planned.owner) not in (None, planned.job.id):
        raise Conflict(f"there is a job {new.name} already", "choose another name", details={"field": "name"})
    await _must_not_come_after_itself(call, planned)
    begin_ms = begins(planned.cursor, planned.here.now_ms)
    return {
        "job": as_edited(
            planned.job,
            await checked(_next_ms, planned),
            planned.edit,
            after_shown(new.schedule, planned.here),
            await pauses_over(call, new.queue),
            planned.here.now_ms,
        ),
        "before": await checked(_future, old.schedule, begin_ms),
        "preview": await checked(
            _future, new.schedule, planned.edit.handled_ms if planned.edit.schedule_changed else begin_ms
        ),
        "changes": [
            {"field": field, "before": before, "after": after}
            for field, before, after in changes(old, new, _upstream_names(planned))
        ],
        "warnings": planned.new.warnings,
    }


def _next_ms(planned: Planned) -> int | None:
    """Where the cursor would wait if nothing held the job."""
    cursor, now_ms = planned.cursor, planned.here.now_ms
    schedule = expandable(planned.new.spec.schedule)
    if schedule is None:
        return None
    if planned.edit.schedule_changed:
        following = schedule.next_after(planned.edit.handled_ms)
        return following.at_ms if following else None
    held = cursor.suspended_since_ms is not None
    return resumption(cursor, schedule, now_ms, catch_up=False).next_ms if held else cursor.next_ms


async def _must_not_come_after_itself(call: Call, planned: Planned) -> None:
    """The store refuses it when it is done; this is for who asks before."""
    upstream = planned.new.spec.schedule.after_job
    while upstream is not None:
        if upstream == planned.job.id:
            raise Conflict("the job would come after itself", "no chain of --after may lead back to its beginning")
        upstream = (await call.services.store.spec(EVERYBODY, upstream)).schedule.after_job


def _upstream_names(planned: Planned) -> dict[int, str]:
    """The jobs that the old and the new schedule come after, by id."""
    was, shown = planned.old.schedule.after_job, planned.job.schedule
    names = {was: shown.after.rpartition(":")[0]} if was is not None and shown and shown.after else {}
    return {**names, **dict([planned.here.upstream] if planned.here.upstream else [])}


def _future(spec: ScheduleSpec, begin_ms: int) -> dict[str, Any]:
    try:
        return foretold(schedule_of(spec), begin_ms, n=PREVIEWED, zone=spec.timezone)
    except InvalidInput as error:
        nothing: list[Any] = []
        return {
            "schema": wire.SCHEMA,
            "words": spec.words,
            "timezone": spec.timezone,
            "items": nothing,
            "transitions": nothing,
            "warnings": [error.message],
        }


# ── If-Match (RFC 9110, 13.1.1) ──────────────────────────────────────────────


def _if_match(call: Call) -> frozenset[str] | None:
    """The entity tags of which the job must have one; None: any will do. A weak tag matches nothing."""
    text = call.request.headers.get("If-Match")
    if text is None or text.strip() == "*":
        return None
    if not _TAGS.fullmatch(text):
        raise InvalidInput(
            "If-Match is not an entity tag", 'send the ETag of the job, such as "3", or *', field="If-Match"
        )
    return frozenset(tag.strip() for tag in text.split(","))


async def _must_match(call: Call, job: Job, wanted: frozenset[str] | None) -> None:
    if wanted is None or f'"{job.rev}"' in wanted:
        return
    by = await call.services.store.changed_by(call.caller, job.id)
    raise Conflict(
        f"{job.name} was changed meanwhile" + (f" by {by}" if by else ""),
        "look at it again, and edit what it is now",
        details={"rev": job.rev, "by": by},
    )
