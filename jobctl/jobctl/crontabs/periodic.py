"""Who runs /etc/anacrontab and the folders cron.hourly to cron.monthly: nothing of it may run twice, or not at all.

| there is | /etc/anacrontab | a folder |
|---|---|---|
| a line of a crontab with `run-parts` of the folder (Debian's /etc/crontab) | – | that line runs it |
| anacron (/usr/sbin/anacron) | it belongs to anacron | anacron runs it where its file says so |
| no anacron, and a line of /etc/anacrontab for the folder | its lines are jobs | that job runs it |
| none of these | – | its scripts are jobs |

A line for a folder that a crontab runs as well is left out of the anacrontab: Debian's own file is still there after
`apt remove anacron`, and /etc/crontab then runs the folders again.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field

from .anacron import read_anacrontab
from .parts import FOLDERS, folders_run_by
from .table import Crontab

ANACRONTAB = "/etc/anacrontab"


@dataclass(frozen=True, slots=True)
class Anacron:
    """What there is of anacron on the host."""

    installed: bool = False
    timer: bool = False
    """Its systemd timer is enabled, and systemd runs."""


@dataclass(frozen=True, slots=True)
class Periodic:
    """Who runs what."""

    anacrontab: str | None = None
    """Why its lines become no jobs; None: they do."""
    run_by_lines: Mapping[str, str] = field(default_factory=dict)
    """Folders that lines of crontabs run, and which: for `planned_anacrontab`."""
    folders: Mapping[str, str | None] = field(default_factory=dict)
    """Every folder, and who runs it; None: its scripts become jobs."""
    warning: str | None = None


def who_runs(crontabs: Iterable[tuple[str, Crontab]], anacrontab: bytes | None, anacron: Anacron) -> Periodic:
    """`crontabs`: the tables with a user column and their paths; `anacrontab`: its bytes, None without one."""
    tables = list(crontabs)
    by_lines = {
        folder: f"line {item.line} of {path}"
        for path, crontab in reversed(tables)
        for item in reversed(crontab.items)
        for folder in folders_run_by(item.command)
    }
    by_anacron = _folders_of(anacrontab)
    mine = None
    if anacrontab is None:
        mine = "there is none"
    elif anacron.installed:
        mine = "anacron is installed and runs it"
    who = dict(by_lines)
    for folder, line in by_anacron.items():
        who.setdefault(folder, "anacron" if anacron.installed else f"line {line} of {ANACRONTAB}")
    unstarted = anacron.installed and anacrontab is not None and not anacron.timer and not _starts_anacron(tables)
    return Periodic(
        mine,
        by_lines,
        {folder: who.get(folder) for folder in FOLDERS},
        f"anacron is installed, and nothing starts it: {ANACRONTAB} is not run" if unstarted else None,
    )


def _folders_of(anacrontab: bytes | None) -> dict[str, int]:
    """The folders that its lines run, and in which line."""
    items = read_anacrontab(anacrontab).items if anacrontab is not None else ()
    return {folder: item.line for item in reversed(items) for folder in folders_run_by(item.command)}


def _starts_anacron(tables: Iterable[tuple[str, Crontab]]) -> bool:
    """Whether a line would start it: more than the lines that only ask whether it is there."""
    return any(
        "anacron start" in item.command or item.command.lstrip().startswith(("anacron", "/usr/sbin/anacron"))
        for _, crontab in tables
        for item in crontab.items
    )
