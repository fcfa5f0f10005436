"""Who may do what that is not only his own. The whole table is in docs/security.md, and held by a test."""

from typing import Final

import msgspec

from jobctl.errors import Forbidden
from jobctl.model import Execution, Policies
from jobctl_daemon.rows import Caller

ROOT: Final = 0
#: Policies that make something run, or send it somewhere, with the rights of the job's owner.
_ACTS: Final = ("notify", "mail", "on_lost")


def operates(caller: Caller, daemon_uid: int) -> bool:
    """Whether the caller sees and operates the daemon as a whole: root, its own user, a member of the admin group."""
    return caller.all_owners or caller.uid in (daemon_uid, ROOT)


def must_operate(caller: Caller, daemon_uid: int) -> None:
    """Queues, and all jobs together, are for who operates the daemon: `Forbidden` for all others."""
    if not operates(caller, daemon_uid):
        raise Forbidden(
            "only root and members of the admin group may change a queue or pause the daemon",
            "pause your own jobs: `jobctl pause JOB`",
        )


def must_look_after_it(caller: Caller, daemon_uid: int) -> None:
    """What the daemon says of itself names others' jobs: it is for who operates it."""
    if not operates(caller, daemon_uid):
        raise Forbidden("the daemon's log is for root and members of the admin group", "ask one of them")


def must_run_it(caller: Caller, daemon_uid: int) -> None:
    """The daemon's end, a copy of everything, and whose jobs are whose, are for who runs it."""
    if caller.uid not in (daemon_uid, ROOT):
        raise Forbidden("only root may do that to the system's daemon", "ask root")


def owner_alone(caller: Caller) -> Caller:
    """The caller as an owner: with what is his own, whatever else he sees."""
    return msgspec.structs.replace(caller, all_owners=False) if caller.all_owners else caller


def is_owner(caller: Caller, owner: Caller) -> bool:
    """Whether the job is the caller's own."""
    return (caller.uid, caller.name) == (owner.uid, owner.name)


def must_own_work(caller: Caller, owner: Caller, runs_as: str | None) -> None:
    """A right to operate a job is none to say what runs as somebody else: `Forbidden` for all but root and, where the
    job runs as its owner, that one."""
    if caller.uid == ROOT or (is_owner(caller, owner) and runs_as is None):
        return
    who = runs_as or owner.name
    raise Forbidden(
        f"this would change what runs as {who}, and only {'root' if runs_as else f'root and {who}'} may do that",
        "its schedule, limits and pauses can be changed; or make a job of your own",
    )


def acts(policies: Policies) -> tuple[object, ...]:
    """What of the policies makes something run or sends it somewhere."""
    return tuple(getattr(policies, name, None) for name in _ACTS)


def changes_work(old: Execution, new: Execution, before: Policies, after: Policies) -> bool:
    """Whether a change is one of what runs, with which rights, and who hears of it."""
    return old != new or acts(before) != acts(after)
