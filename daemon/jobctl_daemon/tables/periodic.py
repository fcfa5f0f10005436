"""/etc/anacrontab and the folders of scripts: a look at what there is, and the jobs that come of it. It blocks."""

import os
import stat
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import Final

from jobctl.crontabs import Crontab, CrontabLine, read
from jobctl.crontabs.anacron import planned_anacrontab, read_anacrontab
from jobctl.crontabs.jobs import Origin
from jobctl.crontabs.parts import FOLDERS, Entry, planned_parts
from jobctl.crontabs.parts_folder import anacron_of, entries_of
from jobctl.crontabs.periodic import ANACRONTAB, Anacron, Periodic, who_runs
from jobctl.drafts import Circumstances
from jobctl_daemon.decide.tables import FileFacts, Kind, refusal
from jobctl_daemon.files import Problem
from jobctl_daemon.opening import unlinked
from jobctl_daemon.tables.drafting import Content, add_planned
from jobctl_daemon.tables.places import TablePlaces, place
from jobctl_daemon.tables.reading import BYTES_MAX, read_table

_ROOT: Final = "root"
#: Who runs what is read from their commands: whether their users exist does not matter here.
_ANYBODY: Final = None


@dataclass(frozen=True, slots=True)
class Seen:
    """What there is. A folder that cannot be looked at is not among `folders`, and why is in `unreadable`, by its path
    on the host."""

    crontabs: tuple[tuple[str, Crontab], ...] = ()
    anacrontab: bytes | None = None
    folders: dict[str, tuple[Entry, ...]] = field(default_factory=dict)
    unreadable: dict[str, str] = field(default_factory=dict)
    anacron: Anacron = field(default_factory=Anacron)
    data: dict[str, bytes] = field(default_factory=dict)
    """Of the crontabs, by path."""
    absent: frozenset[str] = frozenset()
    """What is not there, by path on the host."""
    written_ms: int = 0
    """When something of it was written last, by the wall clock."""


def look(places: TablePlaces) -> Seen:
    """Everything that tells who runs what."""
    root, unreadable = places.root, {}
    anacrontab: bytes | None = None
    folders: dict[str, tuple[Entry, ...]] = {}
    try:
        anacrontab = _anacrontab(place(root, ANACRONTAB))
    except OSError as error:
        unreadable[ANACRONTAB] = error.strerror or str(error)
    for folder in FOLDERS:
        try:
            folders[folder] = _entries(place(root, folder))
        except OSError as error:
            unreadable[folder] = error.strerror or str(error)
    data = dict(_crontabs(places))
    crontabs = tuple((path, read(text, system=True, users=_ANYBODY)) for path, text in data.items())
    absent = frozenset(path for path in (ANACRONTAB, *FOLDERS) if not os.path.exists(place(root, path)))
    written_ms = _written_ms(root, folders)
    return Seen(crontabs, anacrontab, folders, unreadable, anacron_of(root), data, absent, written_ms)


def _entries(folder: str) -> tuple[Entry, ...]:
    """Raises `OSError` for a folder into which others than root may put what root would run."""
    if os.path.isdir(folder):
        there = os.stat(folder)
        if there.st_uid != 0 or there.st_mode & (stat.S_IWGRP | stat.S_IWOTH):
            raise OSError(0, "others than root may put scripts there: chown root, chmod go-w")
    return entries_of(folder)


def _crontabs(places: TablePlaces) -> Iterator[tuple[str, bytes]]:
    """The tables with a user column that are run."""
    names = sorted(os.listdir(places.cron_d)) if places.cron_d and os.path.isdir(places.cron_d) else []
    for path in (*places.files, *(os.path.join(str(places.cron_d), name) for name in names)):
        table = places.table(path)
        data = read_table(table).data if table is not None else None
        if data is not None:
            yield path, data


def _anacrontab(path: str) -> bytes | None:
    """Its bytes; None without one. Raises `OSError` for one that root should not run."""
    try:
        with open(path, "rb", opener=unlinked) as file:
            there = os.fstat(file.fileno())
            why = refusal(Kind.SYSTEM, FileFacts(there.st_mode, there.st_uid, there.st_nlink, there.st_size), 0)
            if why is not None:
                raise OSError(0, why)
            return file.read(BYTES_MAX)
    except FileNotFoundError:
        return None


def _written_ms(root: str, folders: dict[str, tuple[Entry, ...]]) -> int:
    paths = [place(root, ANACRONTAB), *(place(root, folder) for folder in FOLDERS)]
    paths += [os.path.join(place(root, folder), entry.name) for folder, found in folders.items() for entry in found]
    newest = 0
    for path in paths:
        try:
            there = os.stat(path)
        except OSError:
            continue
        newest = max(newest, there.st_mtime_ns if stat.S_ISREG(there.st_mode) else there.st_ctime_ns)
    return newest // 1_000_000


def contents(
    seen: Seen, root: str, here: Circumstances, standing: Sequence[tuple[str, CrontabLine]] = ()
) -> tuple[dict[str, Content], Periodic]:
    """By path on the host: the jobs of each, and what was refused. What cannot be read is not among them, nor what
    may be run by something that cannot be read.

    `standing`: lines of tables that are not in the files (any more) while their jobs go on as they were.
    """
    more = [(path, Crontab((line,), (), (), (), system=True)) for path, line in standing]
    who = who_runs((*seen.crontabs, *more), seen.anacrontab, seen.anacron)
    found: dict[str, Content] = {}
    if ANACRONTAB not in seen.unreadable:
        found[ANACRONTAB] = _of_anacrontab(seen, who, place(root, ANACRONTAB), here)
    for folder, entries in seen.folders.items():
        if ANACRONTAB in seen.unreadable and who.folders.get(folder) is None:
            continue
        content = found[folder] = Content()
        if who.folders.get(folder) is None:
            for planned in planned_parts(entries, Origin(place(root, folder), _ROOT), folder=folder):
                add_planned(content, planned, planned.item.command, here)
    return found, who


def _of_anacrontab(seen: Seen, who: Periodic, path: str, here: Circumstances) -> Content:
    content = Content()
    if who.warning is not None:
        content.problems.append(Problem(line=None, text="", reason=who.warning))
    if who.anacrontab is not None or seen.anacrontab is None:
        return content
    content.problems += [
        Problem(line=one.line, text=one.text, reason=one.reason) for one in read_anacrontab(seen.anacrontab).refused
    ]
    elsewhere = dict(who.run_by_lines)
    for planned in planned_anacrontab(seen.anacrontab, Origin(path, _ROOT), run_elsewhere=elsewhere):
        if planned.draft is None and (planned.problem or "").endswith("already"):
            continue  # nothing is wrong: a line of a crontab does it
        add_planned(content, planned, f"{planned.item.schedule} {planned.item.command}", here)
    return content
