"""From a claim to the message that starts it: argument vector, environment, user, folder, limits."""

import os
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import UTC, datetime, tzinfo
from typing import Any
from zoneinfo import ZoneInfo

from jobctl_daemon.decide.adoption import attempt_id
from jobctl_daemon.decide.retry import ASK
from jobctl_daemon.execution.identity import User
from jobctl_daemon.rows import Claim

_SHELL = "/bin/sh"


@dataclass(frozen=True, slots=True)
class Host:
    """What starts on this host have in common."""

    user: User
    path: str


def start_message(claim: Claim, host: Host, user: User, log: str) -> dict[str, Any]:
    """The runner's `start` (docs/runner-protocol.md). `user` is the one the command runs as."""
    work = claim.execution
    return {
        "op": "start",
        "id": attempt_id(claim.run_id, claim.fence),
        "run_id": claim.run_id,
        "fence": claim.fence,
        "attempt": claim.attempt,
        "returned": claim.returns,
        "key": run_key(claim),
        "argv": _argv(claim),
        "env": environment(claim, host, user),
        "env_file": work.env_file,
        "cwd": work.cwd or _home(user),
        "umask": work.umask,
        "nice": work.nice,
        "user": _switch(user, host),
        "stdin": None if claim.probe else _stdin(claim),
        "log": log,
        "log_max": claim.policies.log_max,
        "timeout_ms": claim.policies.timeout_ms,
        "grace_ms": claim.policies.grace_ms,
    }


def _argv(claim: Claim) -> list[str | None]:
    """The command; or, where an earlier attempt was lost, the one that tells what became of it."""
    if claim.probe:
        return [_SHELL, "-c", claim.policies.on_lost.removeprefix(ASK)]
    work = claim.execution
    return [*work.command] if work.command is not None else [_SHELL, "-c", work.shell]


def run_key(claim: Claim) -> str:
    """`JOBCTL_RUN_KEY`: job uid and occurrence key, the same for every attempt of a run."""
    return f"{claim.job_uid}/{claim.key}"


def environment(claim: Claim, host: Host, user: User) -> Mapping[str, str]:
    """Nothing of the daemon's own: the user's basics, the job's variables, and what names this attempt.

    Output of Python programs is unbuffered by default, so that a log shows lines when they are written.
    """
    basics = {
        "PATH": claim.execution.path or host.path,
        "HOME": user.home,
        "SHELL": _SHELL,
        "LOGNAME": user.name,
        "USER": user.name,
        "LANG": "C.UTF-8",
        "PYTHONUNBUFFERED": "1",
    }
    names = {
        "JOBCTL_RUN_KEY": run_key(claim),
        "JOBCTL_RUN_ID": str(claim.run_id),
        "JOBCTL_JOB": claim.job_name,
        "JOBCTL_ATTEMPT": str(claim.attempt),
        "JOBCTL_FENCE": str(claim.fence),
        "JOBCTL_SCHEDULED_AT": _logical_time(claim),
        "JOBCTL_TRIGGER": claim.trigger.value,
    }
    return basics | claim.execution.env | names


def _logical_time(claim: Claim) -> str:
    moment = datetime.fromtimestamp(claim.slot_ms / 1000, _zone(claim.timezone))
    return moment.isoformat(timespec="milliseconds" if claim.slot_ms % 1000 else "seconds")


def _zone(name: str) -> tzinfo:
    """UTC for a zone that this host does not know any more: what names it may still be run by hand."""
    try:
        return ZoneInfo(name)
    except (KeyError, ValueError, OSError):
        return UTC


def _home(user: User) -> str:
    return user.home if os.path.isdir(user.home) else "/"


def _switch(user: User, host: Host) -> dict[str, Any] | None:
    if user.uid == host.user.uid:
        return None
    return {"name": user.name, "uid": user.uid, "gid": user.gid, "groups": list(user.groups)}


def _stdin(claim: Claim) -> dict[str, str] | None:
    if claim.execution.stdin is not None:
        return {"text": claim.execution.stdin}
    if claim.execution.payload_ref is not None:
        return {"file": claim.execution.payload_ref}
    return None
