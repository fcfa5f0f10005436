"""From the jobs that a file asks for to what can be declared: free names, jobs to come after, checked definitions."""

import asyncio
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from typing import Any, Final

import msgspec

from jobctl.drafts import Checked, Circumstances
from jobctl.drafts.checks import Wrong, examined
from jobctl.errors import Conflict, NotFound
from jobctl.jobfiles import FileJob
from jobctl.jobfiles.read import circles, for_ever
from jobctl.model import Job
from jobctl_daemon.decide.declared import Wanted
from jobctl_daemon.decide.said import LetsGo, holds_all
from jobctl_daemon.rows import Caller, DeclaredJob
from jobctl_daemon.services.declaring import adoptable, declared_jobs
from jobctl_daemon.store import Store

#: Others may apply the same file just then.
_TRIES: Final = 8
#: Stands for the id of a job that is made in the same transaction.
_TO_BE_MADE: Final = -1
_SOURCE_CHARS_MAX: Final = 500
#: Nobody mends more at once, and looking for them takes time.
_WRONG_MAX: Final = 200


@dataclass(frozen=True, slots=True)
class Prepared:
    """What a file means here and now: either all of it can be declared, or `wrong` says why not."""

    wanted: tuple[Wanted, ...] = ()
    wrong: tuple[tuple[int, Wrong], ...] = ()
    """By the number of the job, from 0."""
    notes: tuple[tuple[str, str], ...] = ()
    """(job, what its author should know)."""
    existing: tuple[DeclaredJob, ...] = ()
    """Of the file, and those that were adopted."""
    adopted: tuple[str, ...] = ()
    """Made by hand, or another file's, so far."""


@dataclass(frozen=True, slots=True)
class _Upstream:
    """The job that another comes after: its id, or the name of one that is made with it."""

    id: int
    name: str
    made_here: bool = False


async def prepared(
    store: Store,
    owner: Caller,
    path: str,
    jobs: Sequence[FileJob],
    here: Circumstances,
    *,
    adopt: bool = False,
    lets_go: LetsGo | None = None,
    promised: Collection[str] = (),
    moves: Callable[[str], bool] = lambda _: False,
) -> Prepared:
    """The definitions of the jobs of a file whose owner is `owner`. Everything that is wrong is said at once.

    `adopt`: jobs that were made by hand and have a name of the file are the file's. So are those of other files that
    `lets_go` says to leave them. `promised`: names of jobs that will have been made by then; what
    `moves` goes along to another file.
    """
    for _ in range(_TRIES):
        existing = await declared_jobs(store, path, owner)
        held = await _holders(store, owner, jobs, {job.spec.name for job in existing})
        adopted = await _adopted(store, owner, held, adopt, lets_go or holds_all)
        existing += adopted
        ids = {job.spec.name: job.job_id for job in existing}
        own = msgspec.structs.replace(owner, all_owners=False)
        others = _Others(store, own, ids, {job.name for job in jobs}, promised, moves)
        taken = [(number, _taken(held.get(job.name))) for number, job in enumerate(jobs) if job.name not in ids]
        if not any(taken_by for _, taken_by in taken) or ids.keys() >= await _names(store, path, owner):
            break  # else somebody has applied the same file in this moment
    before = {number: await others.upstream(job.after) for number, job in enumerate(jobs) if job.after is not None}
    upstream = {number: found for number, found in before.items() if isinstance(found, _Upstream)}
    wrong = [*_misnamed(jobs), *_in_circles(jobs)]
    wrong += [(number, found) for number, found in (*taken, *before.items()) if isinstance(found, Wrong)]
    checked, more = await asyncio.to_thread(_checked, jobs, upstream, here)
    wrong += more
    if wrong:
        return Prepared(wrong=tuple(sorted(wrong, key=lambda one: one[0])), existing=tuple(existing))
    found = _declarable(path, checked, upstream, ids, here.now_ms, existing)
    return replace(found, adopted=tuple(job.spec.name for job in adopted))


async def _names(store: Store, path: str, owner: Caller) -> set[str]:
    """Of the jobs of the file."""
    return {job.spec.name for job in await declared_jobs(store, path, owner)}


async def _holders(store: Store, owner: Caller, jobs: Sequence[FileJob], known: Collection[str]) -> dict[str, Job]:
    """Of the owner's jobs those that have a name of the file and are not known as its own."""
    own = msgspec.structs.replace(owner, all_owners=False)
    found: dict[str, Job] = {}
    for name in dict.fromkeys(job.name for job in jobs if job.name not in known):
        with suppress(NotFound, Conflict):
            holder = await store.job(own, name)
            if holder.name == name:
                found[name] = holder
    return found


async def _adopted(
    store: Store, owner: Caller, held: Mapping[str, Job], by_hand: bool, lets_go: LetsGo
) -> list[DeclaredJob]:
    """Of these those that were made by hand, or that another file lets go."""
    found = []
    for name, holder in held.items():
        if lets_go(holder.declared, name) if holder.declared is not None else by_hand:
            with suppress(NotFound, Conflict):
                found.append(await adoptable(store, owner, name, lets_go))
    return found


def _taken(holder: Job | None) -> Wrong | None:
    """Whether another job has the name; one that is done has left it to others."""
    if holder is None or holder.state == "done":
        return None
    by = f"{holder.declared} declares it" if holder.declared else "it was made by hand"
    instead = (
        "or take it out there first" if holder.declared else "remove it, or let the file have it: jobctl apply --adopt"
    )
    return Wrong("name", f"there is a job {holder.name} already: {by}", f"choose another name, {instead}")


def _misnamed(jobs: Sequence[FileJob]) -> Iterator[tuple[int, Wrong]]:
    names: set[str] = set()
    for number, job in enumerate(jobs):
        if not job.name or job.name in names:
            what = f"there are two jobs {job.name}" if job.name else "a job of a file has a name"
            yield number, Wrong("name", what, "give each a name of its own")
        names.add(job.name)


def _in_circles(jobs: Sequence[FileJob]) -> Iterator[tuple[int, Wrong]]:
    numbers = {job.name: number for number, job in enumerate(jobs)}
    for circle in circles({job.name: job.after for job in jobs}):
        yield numbers[circle[0]], Wrong("schedule.after", *for_ever(circle))


def _checked(
    jobs: Sequence[FileJob], upstream: Mapping[int, _Upstream], here: Circumstances
) -> tuple[list[Checked], list[tuple[int, Wrong]]]:
    """By the rules of every definition. A job that comes after nobody known is checked as if there were one."""
    found: list[Checked] = []
    wrong: list[tuple[int, Wrong]] = []
    for number, job in enumerate(jobs):
        after = upstream.get(number, _Upstream(_TO_BE_MADE, job.after)) if job.after is not None else None
        checked, wrongs = examined(job.draft, replace(here, upstream=(after.id, after.name)) if after else here)
        wrong += [(number, one) for one in wrongs]
        if checked is not None:
            found.append(checked)
        if len(wrong) > _WRONG_MAX:
            break
    return found, wrong


def _declarable(
    path: str,
    checked: Sequence[Checked],
    upstream: Mapping[int, _Upstream],
    ids: Mapping[str, int],
    now_ms: int,
    existing: Sequence[DeclaredJob],
) -> Prepared:
    """What is declared. A moment that has passed makes no job, and so does what would come after that."""
    notes: list[tuple[str, str]] = []
    dropped: set[str] = set()
    wanted: list[Wanted] = []
    for number, definition in enumerate(checked):
        spec = msgspec.structs.replace(definition.spec, source=source_of(path, definition.spec.name), declared=path)
        after = upstream.get(number)
        if spec.schedule.at_ms is not None and spec.schedule.at_ms <= now_ms and spec.name not in ids:
            dropped.add(spec.name)
            notes.append((spec.name, "its time has passed: it is not made"))
            continue
        name = after.name if after is not None and after.made_here else None
        wanted.append(Wanted(spec.name, replace(definition, spec=spec), name))
        notes += [(spec.name, warning) for warning in definition.warnings]
    while lost := [entry for entry in wanted if entry.after in dropped]:
        for entry in lost:
            wanted.remove(entry)
            dropped.add(entry.key)
            notes.append((entry.key, f"{entry.after}, after which it would come, is not made: nor is it"))
    return Prepared(tuple(wanted), (), tuple(notes), tuple(existing))


def source_of(path: str, name: str) -> str:
    """`file:NAME:PATH`, without the path where that is too long or cannot be printed."""
    whole = f"file:{name}:{path}"
    return whole if len(whole) <= _SOURCE_CHARS_MAX and whole.isprintable() else f"file:{name}"


@dataclass(frozen=True, slots=True)
class _Others:
    """Jobs beside those of the file: whom one may come after. Of the owner alone."""

    store: Store
    own: Caller
    ids: Mapping[str, int]
    """Of the jobs that the file has made before."""
    names: set[str]
    """Of the jobs that it wants."""
    promised: Collection[str] = ()
    """Of jobs that will have been made by then."""
    moves: Callable[[str], bool] = lambda _: False
    """Whether a job of the file goes along to another one."""

    async def upstream(self, after: str) -> _Upstream | Wrong:
        """The job that another comes after: of the same file, or any."""
        if after in self.names:
            made = after not in self.ids
            return _Upstream(_TO_BE_MADE if made else self.ids[after], after, made_here=made)
        try:
            job = await self.store.job(self.own, after)
        except (NotFound, Conflict) as error:
            if after in self.promised:
                return _Upstream(_TO_BE_MADE, after, made_here=True)
            return Wrong("schedule.after", f"there is no job {after!a} to come after", error.hint)
        if job.name in self.ids and not self.moves(job.name):  # it goes with this change
            return Wrong("schedule.after", f"the job {after!a} is no longer in this file", "come after another one")
        return _Upstream(job.id, job.name)


def given_jobs(drafts: Sequence[dict[str, Any]]) -> list[FileJob]:
    """Drafts that were sent, as the jobs of a file."""
    return [FileJob(str(draft.get("name", "")), draft, ("job", str(draft.get("name", "")))) for draft in drafts]
