"""From a claim to the message that starts it: argument vector, environment, user, folder, limits."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime, tzinfo
from types import MappingProxyType
from typing import Any
from zoneinfo import ZoneInfo

from jobctl_daemon.decide.adoption import attempt_id
from jobctl_daemon.decide.retry import ASK
from jobctl_daemon.execution.identity import User
from jobctl_daemon.rows import Claim

_SHELL = "/bin/sh"
NOTHING: Mapping[str, str] = MappingProxyType({})


@dataclass(frozen=True, slots=True)
class Host:
    """What starts on this host have in common."""

    user: User
    path: str
    passed: Mapping[str, str] = field(default_factory=dict)
    """Variables of the daemon's own environment that the operator passes on to every command (`pass_env`)."""
    others_path: str | None = None
    """PATH of a login of other users than the daemon's own; None: the same."""
    strict: bool = False
    """Nothing is run that others than root and its user can change (`strict_files`)."""
    log_most: int | None = None
    """Bytes that a log of others than root may keep, whatever its job says; None: what the job says."""

    def path_of(self, user: User) -> str:
        """The PATH that a login gives the user."""
        return self.path if user.uid == self.user.uid or self.others_path is None else self.others_path


def start_message(claim: Claim, host: Host, user: User, log: str, login: Mapping[str, str] = NOTHING) -> dict[str, Any]:
    """The runner's `start` (docs/runner-protocol.md). `user` is the one the command runs as, `login` what a login of
    the host has in its environment, for a job that is to have that."""
    work = claim.execution
    home = user.home if user.home.startswith("/") else "/"
    return {
        "op": "start",
        "id": attempt_id(claim.run_id, claim.fence),
        "run_id": claim.run_id,
        "fence": claim.fence,
        "attempt": claim.attempt,
        "returned": claim.returns,
        "key": run_key(claim),
        "argv": _argv(claim),
        "env": environment(claim, host, user, login),
        "env_file": work.env_file,
        "cwd": work.cwd or home,
        "cwd_else": "/" if work.cwd is None else None,
        "umask": work.umask,
        "nice": work.nice,
        "user": _switch(user, host),
        "trusted": _trusted(user) if host.strict else None,
        "stdin": None if claim.probe else _stdin(claim),
        "log": log,
        "log_max": _log_max(claim, host),
        "timeout_ms": claim.policies.timeout_ms,
        "grace_ms": claim.policies.grace_ms,
    }


def _argv(claim: Claim) -> list[str | None]:
    """The command; or, where an earlier attempt was lost, the one that tells what became of it."""
    if claim.probe:
        return [_SHELL, "-c", claim.policies.on_lost.removeprefix(ASK)]
    work = claim.execution
    return [*work.command] if work.command is not None else [_SHELL, "-c", work.shell]


def _log_max(claim: Claim, host: Host) -> int:
    """A log that runs is never removed, so one that may have all of the disk could take it from everybody."""
    wanted = claim.policies.log_max
    return wanted if host.log_most is None or claim.owner_uid == 0 else min(wanted, host.log_most)


def run_key(claim: Claim) -> str:
    """`JOBCTL_RUN_KEY`: job uid and occurrence key, the same for every attempt of a run."""
    return f"{claim.job_uid}/{claim.key}"


def environment(claim: Claim, host: Host, user: User, login: Mapping[str, str] = NOTHING) -> Mapping[str, str]:
    """Nothing of the daemon's own but what it is told to pass on: the user's basics, the job's variables, and what
    names this attempt. What comes later wins; of a login's variables those that cron sets itself do not (build_env in
    do_command.c of Debian's cron).

    Output of Python programs is unbuffered by default, so that a log shows lines when they are written.
    """
    defaults = {"LANG": "C.UTF-8", "PYTHONUNBUFFERED": "1"}
    basics = {
        "PATH": claim.execution.path or host.path_of(user),
        "HOME": user.home,
        "SHELL": _SHELL,
        "LOGNAME": user.name,
        "USER": user.name,
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
    return {**defaults, **host.passed, **login, **basics, **claim.execution.env, **names}


def _logical_time(claim: Claim) -> str:
    moment = datetime.fromtimestamp(claim.slot_ms / 1000, _zone(claim.timezone))
    return moment.isoformat(timespec="milliseconds" if claim.slot_ms % 1000 else "seconds")


def _zone(name: str) -> tzinfo:
    """UTC for a zone that this host does not know any more: what names it may still be run by hand."""
    try:
        return ZoneInfo(name)
    except (KeyError, ValueError, OSError):
        return UTC


def _trusted(user: User) -> dict[str, list[int]]:
    """Who may be able to change what runs: root, the user, and a group that is the user's alone."""
    return {"uids": sorted({0, user.uid}), "gids": sorted({0, user.gid} if user.own_group else {0})}


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
