"""The folders cron.hourly, cron.daily, cron.weekly and cron.monthly: which scripts run-parts(8) runs, and their jobs.

A script is a job of its own, so that each has its history, its log and its exit code. All jobs of a folder are due at
the folder's time and in a queue of its name; where that queue has the limit 1 they run one at a time and in their
order, as run-parts does it. The source of the rules is run-parts(8) of Debian's debianutils 5.7; the times are those of
Debian's /etc/crontab.
"""

import re
from collections.abc import Iterable
from dataclasses import dataclass, replace
from typing import Any, Final, Literal, NamedTuple

from .jobs import Origin, Planned, draft_of, source_of
from .naming import unique
from .table import CrontabLine

#: SHELL and PATH of Debian's /etc/crontab, whose lines run the folders.
SYSTEM_PATH: Final = "/usr/local/sbin:/usr/local/bin:/sbin:/bin:/usr/sbin:/usr/bin"
_DAY_S: Final = 86_400


class When(NamedTuple):
    """When a folder is due. `within_s`: how late it is still made up, 0 for not at all."""

    schedule: str
    within_s: int


FOLDERS: Final = {
    "/etc/cron.hourly": When("17 * * * *", 0),
    "/etc/cron.daily": When("25 6 * * *", _DAY_S),
    "/etc/cron.weekly": When("47 6 * * 7", 7 * _DAY_S),
    "/etc/cron.monthly": When("52 6 1 * *", 31 * _DAY_S),
}

_NAME: Final = re.compile(r"[A-Za-z0-9_-]+")
#: `--lsbsysinit`: the LANANA-assigned, the hierarchical and reserved, and Debian's own namespace, as the program takes
#: it (its manual has more names in the last one).
_LSB_NAMES: Final = (
    re.compile(r"[a-z0-9]+"),
    re.compile(r"_?(?:[a-z0-9_.]+-)+[a-z0-9]+"),
    re.compile(r"[a-z0-9][a-z0-9-]*"),
)
_LSB_NEVER: Final = re.compile(r".*\.dpkg-(?:old|dist|new|tmp)")
_RUN_PARTS: Final = re.compile(r"\brun-parts\b[^;&|\n]*?(/etc/cron\.(?:hourly|daily|weekly|monthly))/?(?![\w./-])")

Kind = Literal["file", "folder", "other", "nothing"]


@dataclass(frozen=True, slots=True)
class Entry:
    """A name in a folder and what it leads to, links followed; `nothing` is a link to what is not there."""

    name: str
    kind: Kind
    executable: bool = False
    safe: bool = True
    """Nobody but root may write it."""


@dataclass(frozen=True, slots=True)
class Skipped:
    """A name that run-parts passes over, and why."""

    name: str
    why: str


def scripts(entries: Iterable[Entry], *, lsb: bool = False) -> tuple[list[str], list[Skipped]]:
    """The names that are run, in their order (that of the C locale), and what is passed over. `lsb`: --lsbsysinit."""
    run: list[str] = []
    skipped: list[Skipped] = []
    for entry in sorted(entries, key=lambda entry: entry.name.encode("utf-8", "surrogateescape")):
        why = _passed_over(entry, lsb)
        if why is None:
            run.append(entry.name)
        else:
            skipped.append(Skipped(entry.name, why))
    return run, skipped


def _passed_over(entry: Entry, lsb: bool) -> str | None:
    if not _is_name(entry.name, lsb):
        return "run-parts takes names of letters, digits, _ and - only"
    if entry.kind != "file":
        return {"folder": "it is a folder", "nothing": "its link leads nowhere"}.get(entry.kind, "it is no plain file")
    if not entry.executable:
        return "it is not executable: chmod +x"
    return None if entry.safe else "others than root may write it, and it would run as root: chown root, chmod go-w"


def _is_name(name: str, lsb: bool) -> bool:
    if not lsb:
        return _NAME.fullmatch(name) is not None
    return not _LSB_NEVER.fullmatch(name) and any(pattern.fullmatch(name) for pattern in _LSB_NAMES)


def folders_run_by(command: str) -> frozenset[str]:
    """The folders that a command runs through run-parts, as the lines of /etc/crontab do it."""
    return frozenset(_RUN_PARTS.findall(command))


def planned_parts(
    entries: Iterable[Entry],
    origin: Origin,
    *,
    folder: str | None = None,
    tz: str | None = None,
    taken: Iterable[str] = (),
) -> list[Planned]:
    """Each script of a folder with its job, in the order in which they run.

    `origin.path` is the folder; `folder` which of `FOLDERS` it is, where the host's files lie under another root.
    """
    kind = folder or origin.path
    when = FOLDERS[kind]
    names = set(taken)
    planned = []
    for script in scripts(entries)[0]:
        path = f"{origin.path}/{script}"
        name = unique(script if not script.isdecimal() else f"script-{script}", names)
        names.add(name)
        item = CrontabLine(0, when.schedule, None, path, None, {"PATH": SYSTEM_PATH}, identity=f"script:{path}")
        planned.append(Planned(item, origin, name, _draft(item, origin, name, kind, tz), None, ()))
    return planned


def queue_of(folder: str) -> str:
    """The queue of a folder's jobs: `cron.daily`."""
    return folder.rpartition("/")[2]


def _draft(item: CrontabLine, origin: Origin, name: str, folder: str, tz: str | None) -> dict[str, Any]:
    """Started from /, not twice at once; what is due once a day or less often is made up after an outage."""
    when = FOLDERS[folder]
    draft = draft_of(item, origin, name, tz)
    late = {"misfire": "once", "misfire_within": when.within_s} if when.within_s else {}
    started = {"target": {"command": [item.command]}, "cwd": "/", "overlap": "skip"}
    source = source_of(item, replace(origin, path=item.command))
    return {**draft, **started, **late, "queue": queue_of(folder), "source": source}
