"""PATCH /v1/jobs/{id}: a changed definition, with nothing that fires by surprise."""

import re
from dataclasses import dataclass
from typing import Any, Final

from aiohttp.web_response import StreamResponse

from jobctl import wire
from jobctl.errors import Conflict, InvalidInput
from jobctl.model import Job, JobSpec, ScheduleSpec
from jobctl.schedule import Schedule
from jobctl_daemon.api.answers import answer, answer_job
from jobctl_daemon.api.call import Call
from jobctl_daemon.api.definitions import after_shown, checked, circumstances, has_name, with_upstream
from jobctl_daemon.api.dry import as_edited
from jobctl_daemon.api.limits import PREVIEWED
from jobctl_daemon.api.next import foretold
from jobctl_daemon.api.queries import Query
from jobctl_daemon.decide.edit import edit as decided
from jobctl_daemon.drafts import Checked, Circumstances, changes, checked_edit, merged
from jobctl_daemon.rows import DueJob, Edit
from jobctl_daemon.schedules import schedule_of

#: An edit without If-Match is made on what the job is; others may change it between the look and the write.
_TRIES: Final = 16
_TAGS: Final = re.compile(r'\s*(?:W/)?"[\x21\x23-\x7e]*"\s*(?:,\s*(?:W/)?"[\x21\x23-\x7e]*"\s*)*', re.ASCII)


class How(Query, frozen=True):
    """`dry_run`: only say what would come of it."""

    dry_run: bool = False


@dataclass(frozen=True, slots=True)
class Planned:
    """An edit that is not made yet, and what it was decided from."""

    job: Job
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
        _must_match(job, wanted)
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
    store, here = call.services.store, circumstances(call)
    old = await store.spec(call.caller, job.id)
    if old.hidden:
        raise Conflict(f"{job.name} is the command of a run and no job", "make a job of it with `jobctl add`")
    draft = await checked(merged, old, patch, here)
    here = await with_upstream(call, draft.schedule, here)
    new = await checked(checked_edit, old, patch, here)
    cursor = await store.cursor(call.caller, job.id)
    decision = await checked(_decided, cursor, old, new.spec, job.rev, here.now_ms)
    return Planned(job, old, new, cursor, decision, here)


def _decided(cursor: DueJob, old: JobSpec, new: JobSpec, rev: int, now_ms: int) -> Edit:
    return decided(cursor, old, new, rev, _expandable(old.schedule), schedule_of(new.schedule), now_ms)


def _expandable(spec: ScheduleSpec) -> Schedule | None:
    """A schedule that this host does not understand any more can still be replaced."""
    try:
        return schedule_of(spec)
    except InvalidInput:
        return None


async def _made(call: Call, planned: Planned) -> Job | None:
    """None when somebody else changed the job first."""
    store = call.services.store
    try:
        edited = await store.edit_job(call.caller, planned.edit, planned.here.now_ms)
    except Conflict:
        if (await store.job(call.caller, str(planned.job.id))).rev == planned.job.rev:
            raise
        return None
    call.services.changed()
    return edited


async def _dry(call: Call, planned: Planned) -> dict[str, Any]:
    """The job as it would be, its fires before and after, and what its author should know."""
    old, new = planned.old, planned.new.spec
    if new.name != old.name and await has_name(call, new.name):
        raise Conflict(f"there is a job {new.name} already", "choose another name", details={"field": "name"})
    now_ms = planned.here.now_ms
    return {
        "job": as_edited(planned.job, planned.cursor, planned.edit, after_shown(new.schedule, planned.here)),
        "before": await checked(_future, old.schedule, now_ms),
        "preview": await checked(_future, new.schedule, now_ms),
        "changes": [
            {"field": field, "before": before, "after": after}
            for field, before, after in changes(old, new, _upstream_names(planned))
        ],
        "warnings": planned.new.warnings,
    }


def _upstream_names(planned: Planned) -> dict[int, str]:
    """The jobs that the old and the new schedule come after, by id."""
    was, shown = planned.old.schedule.after_job, planned.job.schedule
    names = {was: shown.after.rpartition(":")[0]} if was is not None and shown and shown.after else {}
    return {**names, **dict([planned.here.upstream] if planned.here.upstream else [])}


def _future(spec: ScheduleSpec, now_ms: int) -> dict[str, Any]:
    try:
        return foretold(schedule_of(spec), now_ms, n=PREVIEWED, zone=spec.timezone)
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


def _must_match(job: Job, wanted: frozenset[str] | None) -> None:
    if wanted is not None and f'"{job.rev}"' not in wanted:
        raise Conflict(
            f"{job.name} was changed meanwhile: it is at revision {job.rev}",
            "look at it again, and edit what it is now",
            details={"rev": job.rev},
        )
