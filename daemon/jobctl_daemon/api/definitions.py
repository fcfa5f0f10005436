"""What verbs that take a definition have in common: checking it off the loop, and finding a name that is free."""

import asyncio
import pwd
from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import partial
from typing import Final, ParamSpec, TypeVar

from jobctl.errors import NotFound, Unavailable
from jobctl.filters import parse, quoted
from jobctl.model import Job, ScheduleDraft, ScheduleSpec
from jobctl_daemon.api.call import Call
from jobctl_daemon.api.limits import PAGE_MAX
from jobctl_daemon.api.rights import ROOT, owner_alone
from jobctl_daemon.drafts import Circumstances, after_of, numbered
from jobctl_daemon.patience import within
from jobctl_daemon.rows import Caller, JobFilter

#: So long a user directory may take.
_DIRECTORY_S: Final = 5.0
#: For what is asked to decide, and not to be shown.
EVERYBODY: Final = Caller(uid=ROOT, name="root", all_owners=True)

P = ParamSpec("P")
T = TypeVar("T")


def circumstances(call: Call, owner: Caller | None = None) -> Circumstances:
    """What is true for this request; `owner`: whose job it is about, if it is not to be the caller's."""
    host = call.services.host
    return Circumstances(
        now_ms=call.now_ms,
        host_tz=host.timezone,
        host_tz_known=not host.timezone_from.startswith("default"),
        daemon_user=host.user,
        caller_uid=call.caller.uid,
        owner=(owner or call.caller).name,
        system=host.uid == 0,
        path=host.login_path,
        others_path=host.others_path,
        user_exists=user_exists,
    )


async def with_upstream(
    call: Call, schedule: ScheduleDraft | None, here: Circumstances, owner: Caller | None = None
) -> Circumstances:
    """The circumstances with the job that a schedule comes after; `NotFound` names it.

    It is one of the same owner: when another's job ends is not his to know. Root alone may join two owners' jobs.
    """
    after = after_of(schedule)
    if after is None:
        return here
    owner = owner_alone(owner or call.caller)
    try:
        upstream = await _upstream(call, owner, after[0])
    except NotFound as error:
        raise NotFound(error.message, error.hint, details={**error.details, "field": "schedule.after"}) from error
    return replace(here, upstream=(upstream.id, upstream.name))


async def with_its_upstream(call: Call, schedule: ScheduleSpec, here: Circumstances) -> Circumstances:
    """The circumstances with the job that a stored schedule comes after, whosever it is: it stays as it is."""
    if schedule.after_job is None:
        return here
    try:
        upstream = await call.services.store.job(EVERYBODY, str(schedule.after_job))
    except NotFound:  # it was removed, which is in the way of no other change
        return here
    return replace(here, upstream=(upstream.id, upstream.name))


async def _upstream(call: Call, owner: Caller, selector: str) -> Job:
    try:
        return await call.services.store.job(owner, selector)
    except NotFound:
        if call.caller.uid != ROOT or not call.caller.all_owners:
            raise
        return await call.services.store.job(call.caller, selector)


def after_shown(schedule: ScheduleSpec, here: Circumstances) -> str | None:
    """The upstream job of a checked schedule as JOB:END."""
    return f"{here.upstream[1]}:{schedule.after_on}" if here.upstream and schedule.after_job is not None else None


def user_exists(name: str) -> bool:
    """May ask the network, so never on the loop. `Unavailable` when nobody answers."""
    try:
        within(_DIRECTORY_S, partial(pwd.getpwnam, name), f"whether there is a user {name!r}")
    except KeyError:
        return False
    return True


async def checked(check: Callable[P, T], *args: P.args, **kwargs: P.kwargs) -> T:
    """Runs a check in a thread: hostile schedule texts and slow user directories hold up nobody else."""
    try:
        return await asyncio.to_thread(check, *args, **kwargs)
    except RuntimeError as error:
        if "new thread" not in str(error):
            raise
        raise Unavailable("the daemon is at its limit of threads", "try again in a moment") from error


async def checked_in_turn(call: Call, check: Callable[P, T], *args: P.args, **kwargs: P.kwargs) -> T:
    """The same of what may be much: somebody who sends ten tables at once takes one thread, and others come between."""
    async with call.services.bulk.turn(call.caller):
        return await checked(check, *args, **kwargs)


async def free_names(call: Call, made: Sequence[str], taken: Sequence[str]) -> list[str]:
    """For each made-up name one that no job of the caller's own has: itself, or with the next free number behind it."""
    used = set(taken)
    for base in set(made):
        used.update(await _names_with(call, owner_alone(call.caller), base))
    names = []
    for base in made:
        name, number = base, 1
        while name in used:
            number += 1
            name = numbered(base, number)
        used.add(name)
        names.append(name)
    return names


async def _names_with(call: Call, owner: Caller, part: str, *, done: bool = True) -> dict[str, int]:
    """Names of the owner's jobs that have a text in them, each with a job of that name."""
    names: dict[str, int] = {}
    cursor: str | None = None
    while True:
        wanted = JobFilter(q=parse(quoted(part)), done=done, limit=PAGE_MAX, cursor=cursor)
        jobs, cursor = await call.services.store.jobs(owner, wanted)
        names.update((job.name, job.id) for job in jobs)
        if cursor is None:
            return names


async def holder_of(call: Call, name: str, owner: Caller | None = None) -> int | None:
    """The id of the owner's job that is called exactly so; one that is done has left its name to others."""
    return (await _names_with(call, owner_alone(owner or call.caller), name, done=False)).get(name)
