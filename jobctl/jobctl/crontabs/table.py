"""What a crontab says: its jobs, its environment lines and the lines that are none of both. Frozen values.

Texts are decoded as UTF-8 with surrogateescape, so that every byte of a file survives; `shown` makes one printable.
"""

from dataclasses import dataclass, field

#: `MAX_TAB_LINES` of Debian's cron.h.
LINES_MAX = 10_000
#: A start is put off by less than a day.
RANDOM_DELAY_MINUTES_MAX = 24 * 60


@dataclass(frozen=True, slots=True)
class CrontabLine:
    """A line that Debian's cron runs, judged alone, with the environment in force on it."""

    line: int
    schedule: str
    """Five fields with single blanks, or an alias such as `@daily`."""
    user: str | None
    """The user column of a system table; None in a user's own table."""
    command: str
    """What the shell gets: after the `%` rule."""
    stdin: str | None
    """The text after the first bare `%`, each further `%` a newline; None without one."""
    env: dict[str, str] = field(default_factory=dict)
    zone: str | None = None
    """The CRON_TZ in force, where the dialect gives it a meaning."""
    quirk: str | None = None
    """What Debian makes of a schedule it accepts by accident; jobctl does not take such a line over."""
    starts_jobd: bool = False
    """The line that our own installer wrote."""
    random_delay: int = 0
    """The RANDOM_DELAY in force, in minutes, where the dialect gives it a meaning: each start is put off by up to so
    much."""
    identity: str | None = None
    """What it is known by again, where that is not its schedule, user, command and input: an identifier of
    anacrontab(5), a script of a folder."""

    @property
    def input(self) -> str | None:
        """What the command reads: cron ends the last line with a newline (do_command.c, `need_newline`)."""
        if not self.stdin:
            return None
        return self.stdin if self.stdin.endswith("\n") else self.stdin + "\n"


@dataclass(frozen=True, slots=True)
class EnvLine:
    """`NAME=value`, as stored: it holds for the lines below it."""

    line: int
    name: str
    value: str


@dataclass(frozen=True, slots=True)
class RefusedLine:
    """A line that Debian's cron refuses, and why in words that help."""

    line: int
    text: str
    reason: str


@dataclass(frozen=True, slots=True)
class Crontab:
    """A whole file, each line judged alone. `drops` says why Debian ignores all of it; empty when it loads."""

    items: tuple[CrontabLine, ...]
    env: tuple[EnvLine, ...]
    refused: tuple[RefusedLine, ...]
    drops: tuple[str, ...]
    system: bool
    lines: int = 0
    """Newlines in the file."""

    @property
    def debian(self) -> str:
        return "drops the file" if self.drops else "loads"


def shown(text: str) -> str:
    """`text` with each byte that is not UTF-8 as `\\xNN`."""
    return text.encode("utf-8", "surrogateescape").decode("utf-8", "backslashreplace")


def is_utf8(text: str) -> bool:
    """Whether `text` can travel as JSON: no byte of it had to be escaped."""
    return not any("\ud800" <= char <= "\udfff" for char in text)
