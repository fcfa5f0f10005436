"""Which files cron would run, when their content is to be believed, and what a line that is refused leaves in place.

The rules for names, owners, modes and links are those of `load_database` and `process_crontab` of Debian's database.c
(3.0pl1-162). How long a change is waited for is ours: a file may be read in the middle of being written.
"""

import re
import stat
from collections.abc import Sequence
from dataclasses import dataclass
from enum import StrEnum
from functools import partial
from typing import Final

from jobctl.crontabs import is_utf8
from jobctl.crontabs.shell import command_of
from jobctl.crontabs.table import LINES_MAX
from jobctl_daemon.decide.declared import Matching
from jobctl_daemon.rows import DeclaredJob

#: cron(8): the names in cron.d are those of run-parts (`valid_name`).
_CRON_D: Final = re.compile(r"[A-Za-z0-9_-]+")
#: What editors and package tools leave beside a file, and nobody takes for one that is run.
_LEFTOVER: Final = re.compile(
    r"\..*|.*~|#.*#|.*\.(?:dpkg-(?:old|dist|new|tmp|bak|backup|remove)|ucf-(?:old|new|dist)|rpm(?:save|new|orig)"
    r"|bak|old|orig|sw[a-p]|tmp|save|disabled)|README.*"
)
#: A file that has not been written to for so long is whole.
OLD_MS: Final = 1_000
#: What was just written is taken over when it has been as it is for so long, and where more seems to come for so long.
QUIET_MS: Final = 300
HALF_MS: Final = 1_000
#: With more broken lines nobody tries to tell whose they are.
_BROKEN_MAX: Final = 100
#: A file that is gone for so long is gone: some editors remove it and write it anew.
GONE_MS: Final = 1_200


class Kind(StrEnum):
    """What a table is to cron."""

    SYSTEM = "system"
    """Root's, with a user column: /etc/crontab, and the files in /etc/cron.d."""
    USER = "user"
    """A user's own, named after the user."""


@dataclass(frozen=True, slots=True)
class FileFacts:
    """What stat(2) says of a file that was opened, and of the link that led to it."""

    mode: int
    uid: int
    links: int
    size: int
    link_uid: int | None = None
    """Owner of the symbolic link; None: the name is the file itself."""


def is_table(kind: Kind, name: str) -> bool:
    """Whether cron takes a name in cron.d (SYSTEM) or in the spool (USER) for a table."""
    if kind is Kind.SYSTEM:
        return _CRON_D.fullmatch(name) is not None
    return not name.startswith((".", "tmp.")) and is_utf8(name)


def passed_over(name: str) -> str | None:
    """Why cron does not read a file in cron.d, where somebody may think that it does."""
    if is_table(Kind.SYSTEM, name) or _LEFTOVER.fullmatch(name):
        return None
    return "cron reads no file of this name: letters, digits, _ and - only, without a dot"


def refusal(kind: Kind, facts: FileFacts, owner_uid: int) -> str | None:
    """Why cron does not run a table that is there; None: it does. `owner_uid`: whose it is, root's for SYSTEM."""
    if facts.link_uid is not None and kind is Kind.USER:
        return "it is a symbolic link, and in the spool cron follows none"
    if facts.link_uid not in (None, 0):
        return f"it is a symbolic link that belongs to uid {facts.link_uid}, not to root"
    if not stat.S_ISREG(facts.mode):
        return "it is no regular file"
    if facts.uid not in (owner_uid, 0):
        wanted = "root" if kind is Kind.SYSTEM else f"its user (uid {owner_uid})"
        return f"it belongs to uid {facts.uid}, not to {wanted}: chown it"
    mode = stat.S_IMODE(facts.mode)
    if kind is Kind.USER and mode != 0o600:
        return f"its mode is {mode:04o}, and cron wants 0600: chmod 600"
    if mode & (stat.S_IWGRP | stat.S_IWOTH):
        return f"its mode is {mode:04o}: others than its owner may write it: chmod go-w"
    if facts.links != 1:
        return f"it has {facts.links} hard links, and cron wants one"
    return None


def believed(data: bytes | None, before: bytes | None, age_ms: int, quiet_ms: int) -> int:
    """0: the content is taken over; else in how many ms to look again. None stands for what is refused.

    `age_ms`: how long ago it was written to, by the wall clock; `quiet_ms`: how long it has been seen to be as it is.
    """
    if age_ms >= OLD_MS:
        return 0
    wanted_ms = HALF_MS if data is not None and half_written(data, before) else QUIET_MS
    return max(0, wanted_ms - quiet_ms)


def half_written(data: bytes, before: bytes | None) -> bool:
    """Whether more may be to come: a line without an end, or the beginning of what was there."""
    if data and not data.endswith(b"\n"):
        return True
    return before is not None and len(data) < len(before) and before.startswith(data)


@dataclass(frozen=True, slots=True)
class Broken:
    """A line that makes no job."""

    line: int
    text: str


def spared(found: Matching, broken: Sequence[Broken]) -> dict[int, Broken]:
    """Jobs that would go while lines are broken that may be theirs: they go on as they were. By id, with the line.

    A broken line is a job's when it ends with its command, stands where it stood and names its program, or stands
    alone where the job stood alone between two lines that did not change. A file in which nothing but broken lines is
    left, or very many are, says nothing of its jobs.
    """
    left = list(found.gone)
    if broken and not found.pairs and not found.new:
        return {job.job_id: broken[0] for job in left}
    if len(broken) > _BROKEN_MAX:
        return {job.job_id: broken[0] for job in left}
    lines = list(broken)
    kept: dict[int, Broken] = {}
    for find in (_ends_with, _stood_and_named, partial(_between_the_same, found, lines)):
        for line in list(lines):
            mine = find(left, line)
            if mine is not None:
                kept[mine.job_id] = line
                left.remove(mine)
                lines.remove(line)
    return kept


def _ends_with(left: Sequence[DeclaredJob], line: Broken) -> DeclaredJob | None:
    text = line.text.rstrip()
    return next((job for job in left if text.endswith(command_as_written(job) or "\n")), None)


def _stood_and_named(left: Sequence[DeclaredJob], line: Broken) -> DeclaredJob | None:
    there, words = (job for job in left if _stood_at(job) == line.line), line.text.split()
    return next(
        (
            job
            for job in there
            if command_as_written(job).split(None, 1)[:1] and command_as_written(job).split()[0] in words
        ),
        None,
    )


def _between_the_same(
    found: Matching, lines: Sequence[Broken], left: Sequence[DeclaredJob], line: Broken
) -> DeclaredJob | None:
    """The one job that is gone from between two lines (or behind the last) where now one broken line is."""
    stand = [(_stood_at(job) or 0, line_of(entry.definition.spec.source) or 0) for job, entry in found.pairs]
    above = max((pair for pair in stand if pair[1] < line.line), key=lambda pair: pair[1], default=None)
    below = min((pair for pair in stand if pair[1] > line.line), key=lambda pair: pair[1], default=None)
    if above is None and below is None:
        return None
    was = (above[0] if above else 0, below[0] if below else LINES_MAX + 1)
    now = (above[1] if above else 0, below[1] if below else LINES_MAX + 1)
    jobs = [one for one in left if was[0] < (_stood_at(one) or 0) < was[1]]
    broken = [one for one in lines if now[0] < one.line < now[1]]
    return jobs[0] if len(jobs) == len(broken) == 1 else None


def command_as_written(job: DeclaredJob) -> str:
    """As it stands in the line, up to a per cent sign."""
    work = job.spec.execution
    target = {"shell": work.shell} if work.shell is not None else {"command": work.command}
    return (command_of(target, work.env) or "").rstrip().replace("%", "\\%")


def _stood_at(job: DeclaredJob) -> int | None:
    return line_of(job.spec.source)


def line_of(source: str) -> int | None:
    """The number of the line that a job of a table was made from."""
    parts = source.split(":", 3)
    return int(parts[2]) if len(parts) == 4 and parts[2].isdecimal() else None
