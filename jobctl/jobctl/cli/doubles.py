"""Jobs that some crontab would run as well: the same schedule and command in a line that is active."""

import os
import pwd
from collections.abc import Iterator
from typing import Any, Final

_SPOOL: Final = ("/var/spool/cron/crontabs", "/var/spool/cron")
_SYSTEM: Final = ("/etc/crontab", "/etc/cron.d")


def doubles(jobs: list[dict[str, Any]], uid: int, root: str = "/") -> Iterator[tuple[str, str]]:
    """(name of the job, file and line) of each double, in the crontabs that this user can read."""
    wanted: dict[tuple[str, str], list[str]] = {}
    for job in jobs:
        plan = job["schedule"] or {}
        when = "@reboot" if plan.get("on_boot") else plan.get("cron")
        line = job["target"].get("shell")
        if when and line and job["state"] != "paused":
            wanted.setdefault((_bare(when), line), []).append(str(job["name"]))
    if not wanted:
        return
    from jobctl.crontabs.read import read

    for path, system in _files(uid, root):
        try:
            with open(path, "rb") as file:
                table = read(file.read(), system=system)
        except OSError:
            continue
        for line in table.items:
            for name in wanted.get((_bare(line.schedule), line.command), ()):
                yield name, f"{path}, line {line.line}"


def _bare(schedule: str) -> str:
    return " ".join(schedule.split()).lower()


def _files(uid: int, root: str) -> Iterator[tuple[str, bool]]:
    for place in _SYSTEM:
        for path in _in(os.path.join(root, place.lstrip("/"))):
            yield path, True
    for place in _SPOOL:
        folder = os.path.join(root, place.lstrip("/"))
        if uid == 0:
            yield from ((path, False) for path in _in(folder) if os.path.isdir(folder))
        else:
            yield os.path.join(folder, _user(uid)), False


def _in(place: str) -> list[str]:
    if os.path.isfile(place):
        return [place]
    try:
        return sorted(entry.path for entry in os.scandir(place) if entry.is_file())
    except OSError:
        return []


def _user(uid: int) -> str:
    try:
        return pwd.getpwuid(uid).pw_name
    except KeyError:
        return str(uid)
