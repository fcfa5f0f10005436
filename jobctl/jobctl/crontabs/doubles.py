"""Live crontab lines that run what a job of ours runs too: both would start. Pure."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from .jobs import Origin
from .shell import command_of
from .table import Crontab, CrontabLine


@dataclass(frozen=True, slots=True)
class Double:
    """A job that is not paused, and the active line that does the same."""

    job: str
    job_id: Any
    path: str
    line: int


@dataclass(frozen=True, slots=True)
class KnownTable:
    """A crontab that cron reads, and whose it is."""

    origin: Origin
    crontab: Crontab


Identity = tuple[str, str, str]
"""Schedule, user and command. Not the input, which lists of jobs do not carry."""


def find_doubles(tables: Iterable[KnownTable], jobs: Iterable[Mapping[str, Any]], *, caller: str) -> list[Double]:
    """Every job at work that an active crontab line doubles, by table and line.

    `jobs` as a list of the API has them; `caller` is who runs those without a user or an owner. A job that a table
    declares is no double of its own line.
    """
    active = {}
    for job in jobs:
        identity = None if job.get("paused") or job.get("declared") else identity_of_job(job, caller)
        if identity is not None:
            active[identity] = job
    found = []
    for table in tables:
        for item in table.crontab.items:
            double = None if item.quirk else active.get(identity_of_line(item, table.origin))
            if double is not None:
                found.append(Double(str(double["name"]), double.get("id"), table.origin.path, item.line))
    return found


def active_lines(tables: Iterable[KnownTable]) -> dict[Identity, str]:
    """What cron runs on this host: identity → where."""
    return {
        identity_of_line(item, table.origin): f"{table.origin.path}, line {item.line}"
        for table in tables
        for item in table.crontab.items
    }


def identity_of_line(item: CrontabLine, origin: Origin) -> Identity:
    return (item.schedule, origin.user_of(item), item.command)


def identity_of_job(job: Mapping[str, Any], caller: str) -> Identity | None:
    """None for a job that no crontab line can be."""
    schedule = job.get("schedule") or {}
    text = "@reboot" if schedule.get("on_boot") else schedule.get("cron")
    command = command_of(job.get("target") or {}, None)
    if not text or command is None:
        return None
    user = job.get("user") or job.get("owner") or caller
    return (" ".join(str(text).split()), str(user), command)
