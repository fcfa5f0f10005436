"""From a crontab line to the body of POST /v1/jobs: what jobctl would do with each line, or why nothing.

The defaults are those of cron: every start at its time, also beside one that still runs; what was missed is missed
(60 s of grace); what failed is recorded and not tried again; PATH=/usr/bin:/bin; the directory is HOME. A draft says
all of them (`jobctl.defaults`), because those of `jobctl add` are others.
"""

import hashlib
import json
import re
from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from jobctl.addresses import may_get_mail, recipients
from jobctl.defaults import CRON_PATH, CRONTAB, MISFIRE_WITHIN_MS
from jobctl.errors import InvalidInput

from .naming import name_for, unique
from .shell import SH, target_of
from .table import Crontab, CrontabLine, is_utf8, shown

TAG = "crontab"
#: The daemon takes so many characters, none of them a control character.
_SOURCE_CHARS_MAX = 508
#: Variables of a job (`jobctl.drafts.work`; a test compares).
ENV_MAX = 1000
#: cron sets it to the user's name whatever the table says (entry.c).
_OVERRIDDEN = ("LOGNAME",)
#: What the daemon takes for the name of a variable; cron takes anything.
_VARIABLE = re.compile(r"[^\x00-\x20=\x7f]{1,255}")


@dataclass(frozen=True, slots=True)
class Origin:
    """Where a table comes from: its path, and whose it is. `caller` is who asks."""

    path: str
    caller: str
    owner: str | None = None
    """Whose table it is; None for one with a user column."""
    root: bool = True
    """Whether the caller may have commands run as somebody else."""

    def user_of(self, item: CrontabLine) -> str:
        return item.user or self.owner or self.caller


@dataclass(frozen=True, slots=True)
class Planned:
    """A line and its job, or the `problem` that leaves it with cron."""

    item: CrontabLine
    origin: Origin
    name: str
    draft: dict[str, Any] | None
    problem: str | None
    notes: tuple[str, ...]

    @property
    def digest(self) -> str:
        return digest(self.item, self.origin)


def plan(
    crontab: Crontab, origin: Origin, *, tz: str | None = None, prefix: str = "", taken: Iterable[str] = ()
) -> list[Planned]:
    """Each line with its job. `taken`: names that other jobs have; those given here are added to it by the caller."""
    names = set(taken)
    per_line = Counter(item.line for item in crontab.items)
    planned = []
    for item in crontab.items:
        name = unique(prefix + name_for(shown(item.command), f"line-{item.line}"), names)
        problem = _problem(item, tz) or _not_allowed(item, origin)
        if problem is None and per_line[item.line] > 1:
            problem = "a NUL byte cuts this line in several"
        draft = None
        if problem is None:
            names.add(name)
            draft = draft_of(item, origin, name, tz)
        planned.append(Planned(item, origin, name, draft, problem, tuple(_notes(item))))
    return planned


def digest(item: CrontabLine, origin: Origin) -> str:
    """The same for the same line again: its schedule, user, command and input, not its place or its job's name."""
    parts = [item.schedule, origin.user_of(item), item.command, item.stdin]
    if item.identity is not None:
        parts = [item.identity, origin.user_of(item)]
    return hashlib.sha256(json.dumps(parts).encode()).hexdigest()[:16]


def source_of(item: CrontabLine, origin: Origin) -> str:
    """`crontab:DIGEST:LINE:PATH`: how a later import knows its own."""
    path = "".join(char if char.isprintable() else "?" for char in shown(origin.path))
    return f"crontab:{digest(item, origin)}:{item.line}:{path}"[:_SOURCE_CHARS_MAX]


def digest_of_source(source: str) -> str | None:
    """The digest in the `source` of a job that an import made; None for other jobs."""
    parts = source.split(":", 3)
    return parts[1] if len(parts) == 4 and parts[0] == "crontab" else None


def already(planned: Iterable[Planned], jobs: Iterable[Mapping[str, Any]]) -> dict[int, Mapping[str, Any]]:
    """Which lines have been imported: position in `planned` → the job. A line that is there twice needs two."""
    known: dict[str, list[Mapping[str, Any]]] = {}
    for job in jobs:
        found = digest_of_source(str(job.get("source", "")))
        if found:
            known.setdefault(found, []).append(job)
    mine = {}
    for at, one in enumerate(planned):
        if known.get(one.digest):
            mine[at] = known[one.digest].pop(0)
    return mine


def _problem(item: CrontabLine, tz: str | None) -> str | None:
    if item.starts_jobd:
        return "it starts the daemon of jobctl and stays with cron"
    if item.quirk:
        return f"jobctl does not take over a schedule like this one. {item.quirk} Write what you mean."
    home = item.env.get("HOME")
    if home is not None and not home.startswith("/"):
        return f"HOME={shown(home)} is no absolute path"
    if len(item.env) >= ENV_MAX:  # PATH comes to them
        return f"{len(item.env):,} variables are in force on it, and a command gets {ENV_MAX:,} at most"
    if not item.env.get("SHELL", SH):
        return "SHELL is empty, cron could not start the command either"
    return _not_text(item) or _bad_zone(item.zone or tz)


def _not_allowed(item: CrontabLine, origin: Origin) -> str | None:
    user = origin.user_of(item)
    if origin.root or user == origin.caller:
        return None
    return f"it runs as {shown(user)}: only root can import it"


def _not_text(item: CrontabLine) -> str | None:
    for name, value in item.env.items():
        if not is_utf8(name + value):
            return f"the variable {shown(name)} has bytes that are not UTF-8"
    if item.stdin is not None and not is_utf8(item.stdin):
        return "its input has bytes that are not UTF-8"
    return None


def _bad_zone(zone: str | None) -> str | None:
    if zone is None:
        return None
    from jobctl.schedule import find_zone

    try:
        find_zone(zone)
    except InvalidInput as error:
        return f"{error.message}: {error.hint}"
    return None


def _notes(item: CrontabLine) -> Iterable[str]:
    if item.stdin is not None:
        yield "a bare % ends the command, the rest is its input; write \\% where a percent sign is meant"
    if item.command.endswith("\r"):
        yield "the command ends with a carriage return: the file has Windows line ends"
    if item.command.endswith("\\"):
        yield "the command ends with a backslash: crontabs have no continuation lines"
    if not item.command.strip():
        yield "the command is empty"
    for name in item.env:
        if not _VARIABLE.fullmatch(name):
            yield f"a variable cannot be called {shown(name)!r}: it is left out"
    yield from _never(item)


def _never(item: CrontabLine) -> Iterable[str]:
    if item.quirk or item.schedule == "@reboot":
        return
    from jobctl.schedule import Cron, warnings_of

    yield from warnings_of(Cron(item.schedule, "UTC"))


def draft_of(item: CrontabLine, origin: Origin, name: str, tz: str | None) -> dict[str, Any]:
    """The body of POST /v1/jobs for a line that has no problem."""
    env = {"PATH": CRON_PATH, **{key: value for key, value in item.env.items() if _kept(key)}}
    schedule: dict[str, Any] = {"on_boot": True} if item.schedule == "@reboot" else {"cron": item.schedule}
    if zone := item.zone or tz:
        schedule["timezone"] = zone
    if item.random_delay and item.schedule != "@reboot":
        schedule["jitter"] = item.random_delay * 60
    draft: dict[str, Any] = {
        "name": name,
        "schedule": schedule,
        "target": target_of(item.command, item.env.get("SHELL", SH)),
        "env": env,
        "login_env": True,
        "overlap": CRONTAB.overlap,
        "misfire": CRONTAB.misfire,
        "misfire_within": MISFIRE_WITHIN_MS[CRONTAB.misfire] // 1000,
        "retry": {"max": CRONTAB.retries, "lost": CRONTAB.lost_retries},
        "on_failure": CRONTAB.on_failure,
        "tags": [TAG],
        "source": source_of(item, origin),
    }
    optional = {
        "mail": _mail(item, origin),
        "stdin": item.input,
        "cwd": item.env.get("HOME"),
        "user": _other_user(item, origin),
    }
    return draft | {key: value for key, value in optional.items() if value is not None}


def _mail(item: CrontabLine, origin: Origin) -> dict[str, Any] | None:
    """Who gets its output: MAILTO, and without one whose line it is. What cannot be an address gets none, as with
    cron."""
    wanted = item.env.get("MAILTO", origin.user_of(item))
    return {"to": recipients(wanted)} if wanted and may_get_mail(wanted) else None


def _kept(variable: str) -> bool:
    return variable not in _OVERRIDDEN and _VARIABLE.fullmatch(variable) is not None


def _other_user(item: CrontabLine, origin: Origin) -> str | None:
    user = origin.user_of(item)
    return None if user == origin.caller else user
