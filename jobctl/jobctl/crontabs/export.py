"""Jobs back to a crontab. What cron cannot do is written as a comment with the reason, never left out in silence."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any

from jobctl.addresses import may_get_mail, recipients
from jobctl.defaults import CRON_PATH
from jobctl.errors import InvalidInput

from .assignment import format_assignment
from .line import split_entry
from .percent import join_command, split_command
from .shell import SH, command_of
from .table import shown

Job = Mapping[str, Any]

#: Fields of a job that cron has no word for, with what they are when they say nothing.
_BEYOND_CRON: Mapping[str, tuple[object, ...]] = {
    "timeout": (None,),
    "payload_ref": (None,),
    "env_file": (None,),
    "umask": ("022", "0022", "0o022", None),
    "nice": (0, None),
}
_SCHEDULE_BEYOND_CRON: Mapping[str, tuple[object, ...]] = {
    "jitter": (None, 0),
    "dst_gap": ("auto",),
    "dst_overlap": ("auto",),
}
#: Fields in the words of `jobctl add`.
_WORDS: Mapping[str, str] = {
    "payload_ref": "--payload",
    "env_file": "--env-file",
    "dst_gap": "--dst-gap",
    "dst_overlap": "--dst-overlap",
}
_DURATIONS = ("timeout", "jitter")
_POSIX_SHELLS = frozenset({"sh", "bash", "dash", "ash", "ksh", "mksh", "zsh"})


@dataclass
class Exported:
    """The text, and which jobs are only comments in it, with the reason."""

    data: bytes
    lines: int
    comments: list[tuple[str, str]] = field(default_factory=list)


@dataclass(frozen=True, slots=True)
class _Wish:
    """What one job needs: its line without a user, and the environment on it."""

    job: Job
    schedule: str
    user: str | None
    command: str
    stdin: str | None
    env: dict[str, str]


class _Inexpressible(Exception):
    """Cron cannot do what this job does."""


def export(jobs: Iterable[Job], *, caller: str, host_zone: str, system: bool = False) -> Exported:
    """A crontab of these jobs; with `system` one with a user column.

    Jobs of one table keep their order, so that an imported table comes back as it was. Reading the result gives
    the same jobs, except for what only jobctl knows: overlap, misfires, failures, queues, notes.
    """
    writer = _Writer(caller, host_zone, system)
    for job in sorted(jobs, key=_place):
        writer.add(job)
    writer.write_all()
    lines = [*_head(system), *writer.lines]
    return Exported(("\n".join(lines) + "\n").encode("utf-8", "surrogateescape"), writer.count, writer.comments)


def _head(system: bool) -> list[str]:
    fields = "# m h dom mon dow user command" if system else "# m h dom mon dow command"
    return [
        "# Written by `jobctl export crontab`.",
        "# Cron has no overlap, misfires, retries, dead letters, queues and notes: those are not kept.",
        "# It mails whatever is printed, to MAILTO or the user of the line.",
        fields,
    ]


def _place(job: Job) -> tuple[str, int, str]:
    """By the table and line it was imported from, else by name after those."""
    parts = str(job.get("source", "")).split(":", 3)
    if len(parts) == 4 and parts[0] == "crontab" and parts[2].isdigit():
        return parts[3], int(parts[2]), str(job["name"])
    return "\U0010ffff", 0, str(job["name"])


class _Writer:
    """Lines in an order that needs no variable to be unset, because no crontab line can do that."""

    def __init__(self, caller: str, host_zone: str, system: bool) -> None:
        self._caller = caller
        self._system = system
        self._resets = {"PATH": CRON_PATH, "SHELL": SH, "CRON_TZ": host_zone}
        self._host_zone = host_zone
        self._wishes: list[_Wish] = []
        self._in_force: dict[str, str] = {}
        self._set_for: dict[str, str | None] = {}
        """Whose line the variables in force were set for."""
        self.lines: list[str] = []
        self.comments: list[tuple[str, str]] = []
        self.count = 0

    def add(self, job: Job) -> None:
        try:
            self._wishes.append(self._wish(job))
        except _Inexpressible as reason:
            self._comment(job, str(reason))

    def write_all(self) -> None:
        while self._wishes:
            fitting = (wish for wish in self._wishes if not self._surplus(wish))
            wish = next(fitting, self._wishes[0])
            self._wishes.remove(wish)
            try:
                self._write(wish)
            except _Inexpressible as reason:
                self._comment(wish.job, str(reason))

    def _wish(self, job: Job) -> _Wish:
        env = {str(name): str(value) for name, value in (job.get("env") or {}).items()}
        command = command_of(job["target"], env)
        if command is None:
            raise _Inexpressible("it is no command")
        _check_beyond(job)
        schedule = _schedule_text(job)
        zone = (job.get("schedule") or {}).get("timezone")
        if zone and zone != self._host_zone and schedule != "@reboot":
            env["CRON_TZ"] = zone
        if env.get("PATH") == CRON_PATH:  # cron's own, and written again where a line above sets another
            del env["PATH"]
        _set_mailto(job, env, str(job.get("user") or job.get("owner") or self._caller))
        command = _with_directory(job, env, command)
        return _Wish(job, schedule, self._user(job), command, job.get("stdin"), env)

    def _user(self, job: Job) -> str | None:
        """Whom a user column names. A line without one runs as whoever installs it, so what is another's has none."""
        user = str(job.get("user") or job.get("owner") or self._caller)
        if self._system:
            return user
        if user != self._caller:
            raise _Inexpressible(f"it runs as {shown(user)}: use --system")
        return None

    def _surplus(self, wish: _Wish) -> list[str]:
        """Variables of lines above that this job must not have."""
        return [name for name in self._in_force if name not in wish.env and name not in self._resets]

    def _write(self, wish: _Wish) -> None:
        command = self._without(wish, self._surplus(wish))
        line = self._line(wish, command)
        wanted = {name: value for name, value in self._resets.items() if name in self._in_force} | wish.env
        assignments = []
        for name, value in wanted.items():
            if self._in_force.get(name) != value:
                assignment = format_assignment(name, value)
                if assignment is None:
                    raise _Inexpressible(f"no crontab line can set {shown(name)} to its value")
                assignments.append(assignment)
        self._in_force.update(wanted)
        self._set_for.update(dict.fromkeys(wish.env, wish.user))
        self.lines += [*assignments, line]
        self.count += 1

    def _without(self, wish: _Wish, surplus: list[str]) -> str:
        """The command without the variables of lines above: its shell takes them out.

        That shell has begun with them, so they must have been its user's own: some make it load what another user
        wrote, and some are secrets.
        """
        if not surplus:
            return wish.command
        foreign = sorted({str(self._set_for[name]) for name in surplus if self._set_for[name] != wish.user})
        if foreign:
            raise _Inexpressible(
                f"{', '.join(map(shown, surplus))} is set above for {', '.join(map(shown, foreign))}: export it alone"
            )
        shell = wish.env.get("SHELL", SH).rpartition("/")[2]
        if (
            "HOME" in surplus
            or shell not in _POSIX_SHELLS
            or not all(name.isidentifier() and name.isascii() for name in surplus)
        ):
            raise _Inexpressible(f"{', '.join(map(shown, surplus))} is set above, and a crontab cannot unset it")
        return f"unset {' '.join(surplus)}; {wish.command}"

    def _line(self, wish: _Wish, command: str) -> str:
        """Written, and read again: only a line that means the job goes out."""
        try:
            text = join_command(command, wish.stdin)
            user = f"{wish.user} " if wish.user else ""
            line = f"{wish.schedule} {user}{text}"
            entry = split_entry(line, system=self._system, users=None)
        except InvalidInput as error:
            raise _Inexpressible(error.message) from error
        read = split_command(entry.text)[0]
        if (entry.schedule, entry.user) != (wish.schedule, wish.user) or read.lstrip(" \t") != command.lstrip(" \t"):
            raise _Inexpressible("no crontab line can say its command")
        return f"# paused: {line}" if wish.job.get("paused") else line

    def _comment(self, job: Job, reason: str) -> None:
        name = shown(str(job["name"]))
        self.comments.append((name, reason))
        self.lines.append(f"# not for cron: {_plain(name)}: {_plain(reason)}")


def _plain(words: str) -> str:
    """On one line, and nothing in it that a terminal obeys: a file may be looked at with anything."""
    return "".join(char if char.isprintable() else "?" for char in " ".join(words.split()))


def _set_mailto(job: Job, env: dict[str, str], user: str) -> None:
    """Who gets its output, where cron would not find that out by itself."""
    mail = job.get("mail")
    if not mail:
        return
    given = env.get("MAILTO", user)
    if not may_get_mail(given) or recipients(given) != mail["to"]:
        env["MAILTO"] = mail["to"].replace(" ", "")


def _schedule_text(job: Job) -> str:
    schedule = job.get("schedule") or {}
    if schedule.get("on_boot"):
        return "@reboot"
    if schedule.get("cron"):
        return " ".join(str(schedule["cron"]).split())
    if not schedule:
        raise _Inexpressible("it has no schedule")
    raise _Inexpressible(f"its schedule is no cron text: {schedule.get('words') or 'not of five fields'}")


def _check_beyond(job: Job) -> None:
    for name, silent in _BEYOND_CRON.items():
        if job.get(name) not in silent:
            raise _Inexpressible(f"cron has no {_WORDS.get(name, name)} ({_value(name, job[name])})")
    schedule = job.get("schedule") or {}
    for name, silent in _SCHEDULE_BEYOND_CRON.items():
        if schedule.get(name, silent[0]) not in silent and not (name == "jitter" and _is_random_delay(job)):
            raise _Inexpressible(f"cron has no {_WORDS.get(name, name)} ({_value(name, schedule[name])})")


def _is_random_delay(job: Job) -> bool:
    """Whether its jitter is what the RANDOM_DELAY among its variables means to cronie."""
    minutes = str((job.get("env") or {}).get("RANDOM_DELAY", ""))
    return minutes.isascii() and minutes.isdecimal() and int(minutes) * 60 == job["schedule"]["jitter"]


def _value(name: str, value: object) -> str:
    """As the option of that name takes it."""
    if name in _DURATIONS and isinstance(value, int | float):
        from jobctl.schedule import format_duration

        return format_duration(round(value * 1000))
    return shown(str(value))


def _with_directory(job: Job, env: Mapping[str, str], command: str) -> str:
    """cron starts in HOME; another directory is gone to."""
    cwd = job.get("cwd")
    if not cwd or cwd == env.get("HOME"):
        return command
    import shlex

    return f"cd {shlex.quote(str(cwd))} || exit; {command}"
