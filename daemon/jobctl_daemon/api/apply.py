"""POST /v1/apply: the jobs that a file declares, as they are in it; or what would come of that."""

from collections.abc import Collection, Container, Mapping, Sequence
from functools import partial
from typing import Any, Final

from aiohttp.web_response import StreamResponse

from jobctl import wire
from jobctl.errors import Conflict, Forbidden, InvalidInput
from jobctl.jobfiles import JOBS_MAX
from jobctl.model import JobSpec, ScheduleSpec, Value
from jobctl_daemon.api.answers import answer
from jobctl_daemon.api.call import Call
from jobctl_daemon.api.definitions import checked, circumstances
from jobctl_daemon.api.limits import PREVIEWED
from jobctl_daemon.api.next import begins, foretold
from jobctl_daemon.api.queries import NoQuery
from jobctl_daemon.api.status import shown_problem
from jobctl_daemon.decide.declared import Matching, Wanted, becomes, match, unchanged
from jobctl_daemon.drafts import changes
from jobctl_daemon.files import Problem
from jobctl_daemon.rows import DeclaredJob
from jobctl_daemon.schedules import expandable
from jobctl_daemon.services.applying import Prepared, given_jobs, prepared
from jobctl_daemon.services.declaring import Declared, declare

#: What a file of jobs that has no path is known as.
STDIN: Final = "stdin"
_PATH_BYTES_MAX: Final = 4095
_ADOPTED: Final = "adopted"


class ApplyDraft(Value, frozen=True):
    """The body. `jobs` are drafts; without a path and jobs: what the files in jobs.d say."""

    path: str | None = None
    jobs: list[dict[str, Any]] | None = None
    prune: bool = False
    """Remove jobs that the file declared and does no more."""
    dry_run: bool = False
    adopt: bool = False
    """Jobs of the caller's that were made by hand and have a name of the file become the file's."""
    take: dict[str, str] = {}  # noqa: RUF012 - msgspec copies it
    """Name → path of the file that had it so far, and is applied together with this one."""
    leave: list[str] = []  # noqa: RUF012 - the same
    """Names that go to another file which is applied together with this one."""


async def apply(call: Call) -> StreamResponse:
    """All jobs of the file or none. With `dry_run` field by field what would change."""
    call.query(NoQuery)
    draft = await call.body(ApplyDraft)
    if draft.path is None and draft.jobs is None:
        return answer(await _folder(call, dry_run=draft.dry_run, adopt=draft.adopt))
    path, jobs = _path(draft.path), draft.jobs or []
    _must_be_free(call, path, jobs)
    if len(jobs) > JOBS_MAX:
        raise InvalidInput(f"a file may have {JOBS_MAX:,} jobs", "make several files of it", field="jobs")
    given = given_jobs(jobs)
    lets_go, leave = partial(_lets_go, call, draft.take), set(draft.leave)
    found = await prepared(
        call.services.store, call.caller, path, given, circumstances(call),
        adopt=draft.adopt, lets_go=lets_go if draft.take else None, moves=leave.__contains__,
    )  # fmt: skip
    if found.wrong:
        raise _refusal(jobs, found)
    if draft.dry_run:
        items = await checked(_planned, found, call.caller.uid, call.now_ms, draft.prune, leave)
        return answer({"schema": wire.SCHEMA, "path": path, "items": items, "notes": _notes(found)})
    await call.services.rooms.for_jobs(call.caller, None, _new(found))
    declared = await declare(
        call.services.store, call.caller, path, found.wanted, call.now_ms,
        prune=draft.prune, of_others=False, adopt=found.adopted, lets_go=lets_go, spare=partial(_spared, leave),
        whole=True,
    )  # fmt: skip
    if declared.created or declared.changed or declared.removed:
        call.services.changed()
    left = [] if draft.prune else _left(found, leave)
    return answer(
        {"schema": wire.SCHEMA, "path": path, "items": [*_told(declared, found.adopted), *left], "notes": _notes(found)}
    )


def _must_be_free(call: Call, path: str, jobs: Sequence[object]) -> None:
    """Jobs under the path of a file that is followed would go with the next change of that file; none is no harm."""
    tables, files = call.services.tables, call.services.jobfiles
    if tables is not None and tables.owns(path):
        raise Conflict(f"{path} is a crontab and no file of jobs", "put the jobs into a file of their own")
    if jobs and files is not None and files.follows(path) and call.caller.uid != files.owner.uid:
        raise Forbidden(
            f"{path} is one of the files of jobs of {files.owner.name}", "put the jobs into a file of yours"
        )


def _lets_go(call: Call, take: Mapping[str, str], path: str, name: str) -> bool:
    """What is followed says itself which jobs it has."""
    tables, files = call.services.tables, call.services.jobfiles
    followed = (tables is not None and tables.owns(path)) or (files is not None and files.follows(path))
    return take.get(name) == path and not followed


def _spared(leave: Container[str], matching: Matching) -> set[int]:
    return {job.job_id for job in matching.gone if job.spec.name in leave}


def _path(path: str | None) -> str:
    """What the jobs are known by. It is a name: the daemon does not open it."""
    if path == STDIN:
        return STDIN
    if path is None or not path.startswith("/") or not path.isprintable() or len(path.encode()) > _PATH_BYTES_MAX:
        raise InvalidInput("the path of the file is not absolute", f"send its whole path, or {STDIN}", field="path")
    return path


def _refusal(jobs: Sequence[dict[str, Any]], found: Prepared) -> InvalidInput:
    """Everything that is wrong; the first of it in the words of the error itself."""
    number, first = found.wrong[0]
    name = str(jobs[number].get("name", ""))[:40]
    field = f"jobs[{number}].{first.field}".rstrip(".")
    error = InvalidInput(f"job {number + 1} ({name}): {first.reason}", first.hint, field=field)
    error.details["problems"] = [
        {"job": at, "field": one.field, "reason": one.reason, "hint": one.hint} for at, one in found.wrong
    ]
    return error


def _new(found: Prepared) -> int:
    known = {job.spec.name for job in found.existing}
    return sum(entry.definition.spec.name not in known for entry in found.wanted)


def _notes(found: Prepared) -> list[dict[str, str]]:
    return [{"job": job, "text": text} for job, text in found.notes]


def _told(declared: Declared, adopted: Sequence[str]) -> list[dict[str, Any]]:
    return [
        {"name": name, "action": _ADOPTED if name in adopted else action}
        for action in ("created", "changed", "removed", "unchanged")
        for name in getattr(declared, action)
    ]


def _left(found: Prepared, leave: Collection[str]) -> list[dict[str, Any]]:
    wanted = {*leave, *(entry.definition.spec.name for entry in found.wanted)}
    return [{"name": job.spec.name, "action": "left"} for job in found.existing if job.spec.name not in wanted]


# ── what would come of it ──────────────────────────────────────────────


def _planned(
    found: Prepared, owner_uid: int, now_ms: int, prune: bool, leave: Container[str] = ()
) -> list[dict[str, Any]]:
    """Each job, by name: what would become of it, what of it changes, and its fires before and after. Those that it is
    to `leave` to another file are told there."""
    matching = match(found.existing, found.wanted, owner_uid)
    names = {job.job_id: job.spec.name for job in found.existing}
    items = [_created(entry, now_ms) for entry in matching.new]
    items += [_compared(job, entry, names, now_ms) for job, entry in matching.pairs]
    items += [
        {"name": job.spec.name, "action": "removed" if prune else "left", "before": _fires_of(job, now_ms)}
        for job in matching.gone
        if job.spec.name not in leave
    ]
    for item in items:
        item["action"] = _ADOPTED if item["name"] in found.adopted else item["action"]
    return sorted(items, key=lambda item: str(item["name"]))


def _created(entry: Wanted, now_ms: int) -> dict[str, Any]:
    spec = entry.definition.spec
    return {"name": spec.name, "action": "created", "preview": _fires(spec.schedule, now_ms)}


def _compared(job: DeclaredJob, entry: Wanted, names: dict[int, str], now_ms: int) -> dict[str, Any]:
    old, new = job.spec, becomes(job, entry)
    if unchanged(old, new) and job.cursor.unreadable is None:
        return {"name": old.name, "action": "unchanged"}
    known = {**names, **({new.schedule.after_job: entry.after} if entry.after and new.schedule.after_job else {})}
    return {
        "name": new.name,
        "action": "changed",
        "changes": [
            {"field": field, "before": before, "after": after} for field, before, after in _changes(old, new, known)
        ],
        "before": _fires_of(job, now_ms),
        "preview": _fires(new.schedule, now_ms) if new.schedule != old.schedule else _fires_of(job, now_ms),
    }


def _changes(old: JobSpec, new: JobSpec, names: dict[int, str]) -> list[tuple[str, Any, Any]]:
    return [change for change in changes(old, new, names) if change[0] not in ("source", "declared")]


def _fires_of(job: DeclaredJob, now_ms: int) -> dict[str, Any] | None:
    return _fires(job.spec.schedule, begins(job.cursor, now_ms))


def _fires(spec: ScheduleSpec, from_ms: int) -> dict[str, Any] | None:
    schedule = expandable(spec)
    return None if schedule is None else foretold(schedule, from_ms, n=PREVIEWED, zone=spec.timezone)


# ── jobs.d ──────────────────────────────────────────────


async def _folder(call: Call, *, dry_run: bool, adopt: bool) -> dict[str, Any]:
    """Reads all files of jobs.d now, or says what would come of it."""
    files = call.services.jobfiles
    if files is None:
        raise Conflict("this daemon reads no files of jobs", "name one: jobctl apply FILE")
    if not call.caller.all_owners and call.caller.uid != files.owner.uid:
        raise Forbidden(
            f"the files in {files.folder} are {files.owner.name}'s", "name a file of yours: jobctl apply FILE"
        )
    found: list[dict[str, Any]] = []
    if dry_run:
        for foreseen in await files.foresee(adopt=adopt):
            plan = foreseen.prepared
            items = [] if plan is None else await checked(_planned, plan, files.owner.uid, call.now_ms, prune=True)
            notes = [] if plan is None else _notes(plan)
            found.append(_of_file(foreseen.path, items, foreseen.problems, notes))
    else:
        for loaded in await files.load_now(adopt=adopt):
            items = [] if loaded.declared is None else _told(loaded.declared, loaded.adopted)
            notes = [{"job": job, "text": text} for job, text in loaded.notes]
            found.append({**_of_file(loaded.path, items, loaded.problems, notes), "jobs": loaded.jobs})
    return {"schema": wire.SCHEMA, "folder": files.folder, "files": found}


def _of_file(
    path: str, items: list[dict[str, Any]], problems: Sequence[Problem], notes: list[dict[str, str]]
) -> dict[str, Any]:
    return {"path": path, "items": items, "problems": [shown_problem(one) for one in problems], "notes": notes}
