"""A whole crontab from its bytes, each line judged alone, as Debian's cron 3.0pl1-162 judges it.

The source of every rule is Debian's code: `skip_comments` and `get_string` (misc.c), `load_env` (env.c),
`load_entry` (entry.c), `load_user` (user.c). The checked answers are in tests/data/crontabs.
"""

import re
from collections.abc import Container
from dataclasses import dataclass, field, replace
from typing import Literal

from jobctl.errors import InvalidInput

from .assignment import looks_like_assignment, parse_assignment
from .line import split_entry
from .table import LINES_MAX, RANDOM_DELAY_MINUTES_MAX, Crontab, CrontabLine, EnvLine, RefusedLine, shown

Dialect = Literal["cronie", "debian"]
"""What CRON_TZ and RANDOM_DELAY are: `debian` plain variables, `cronie` zone and delay of the schedules below them."""

UNENDED = "the last line has no newline at its end: Debian ignores the whole file"


def read(
    data: bytes, *, system: bool = False, users: Container[str] | None = None, dialect: Dialect = "cronie"
) -> Crontab:
    """What a crontab says. Does not raise: what cannot be read is a refused line.

    `system`: the table has a user column. `users`: who exists; None takes any name.
    """
    reading = _Reading(system, users, dialect)
    lines = data.split(b"\n")
    for number, raw in enumerate(lines, start=1):
        reading.physical_line(number, raw.decode("utf-8", "surrogateescape"), ended=number < len(lines))
    return Crontab(
        tuple(reading.items),
        tuple(reading.env),
        tuple(reading.refused),
        tuple(_drops(reading, lines)),
        system,
        len(lines) - 1,
    )


def _drops(reading: "_Reading", lines: list[bytes]) -> list[str]:
    """Why Debian ignores the whole file: user.c stops at the first thing it does not understand."""
    reasons = []
    if reading.refused:
        numbers = [str(line) for line in dict.fromkeys(refused.line for refused in reading.refused)]
        few = ", ".join(numbers[:5]) + (", …" if len(numbers) > 5 else "")
        reasons.append(f"it refuses line{'s' if len(numbers) > 1 else ''} {few}")
    if reading.unended:
        reasons.append("the last line has no newline at its end")
    if len(lines) - 1 > LINES_MAX:
        reasons.append(f"it has more than {LINES_MAX:,} lines")
    return reasons


@dataclass(slots=True)
class _Reading:
    """The state while lines go by: the environment in force, and what was found."""

    system: bool
    users: Container[str] | None
    dialect: Dialect
    in_force: dict[str, str] = field(default_factory=dict)
    items: list[CrontabLine] = field(default_factory=list)
    env: list[EnvLine] = field(default_factory=list)
    refused: list[RefusedLine] = field(default_factory=list)
    copied: dict[str, str] | None = None
    """A copy of what is in force, as lines have it."""
    unended: bool = False
    continued: bool = False
    """The line above ends with a backslash, which people take for a continuation."""

    def physical_line(self, number: int, text: str, *, ended: bool) -> None:
        """A line up to its newline. A NUL byte ends it earlier, and what follows is read as a further line."""
        rest = text
        while rest.lstrip(" \t") and not rest.lstrip(" \t").startswith("#"):
            if not ended and "\0" not in rest:
                self.unended = True
                self.refuse(number, text, UNENDED)
                break
            try:
                rest = self.logical_line(number, rest)
            except InvalidInput as error:
                self.refuse(number, text, self.reason(text, error))
                break
        self.continued = text.endswith("\\")

    def logical_line(self, number: int, text: str) -> str:
        """Notes an assignment or a job; returns what is left to read after a NUL byte."""
        line, _, rest = text.partition("\0")
        assignment = parse_assignment(line)
        if assignment is None:
            entry = split_entry(text, system=self.system, users=self.users)
            item = entry.as_line(number, self.shared(), self.zone())
            self.items.append(replace(item, random_delay=self.random_delay()))
            return entry.rest
        self.env.append(EnvLine(number, *assignment))
        self.in_force[assignment[0]] = assignment[1]
        self.copied = None
        return rest

    def shared(self) -> dict[str, str]:
        """What is in force, one value for all lines up to the next assignment: thousands may follow thousands."""
        if self.copied is None:
            self.copied = dict(self.in_force)
        return self.copied

    def zone(self) -> str | None:
        return self.in_force.get("CRON_TZ") or None if self.dialect == "cronie" else None

    def random_delay(self) -> int:
        """In minutes. cronie takes a whole number that is not negative, and leaves the variable alone otherwise."""
        text = self.in_force.get("RANDOM_DELAY", "")
        known = self.dialect == "cronie" and re.fullmatch(r"[0-9]{1,5}", text)
        return min(int(text), RANDOM_DELAY_MINUTES_MAX) if known else 0

    def refuse(self, number: int, text: str, reason: str) -> None:
        self.refused.append(RefusedLine(number, shown(text), reason))

    def reason(self, text: str, error: InvalidInput) -> str:
        """The parser's words, and before them what a person most likely got wrong."""
        guess = self.guess(text)
        words = f"{error.message}. {error.hint}" if error.hint else error.message
        return f"{guess}: {words}" if guess else words

    def guess(self, text: str) -> str:
        bare = text.lstrip(" \t")
        if text.startswith("\ufeff"):
            return "the file begins with a byte order mark, which cron takes for part of the first field"
        if not bare.strip("\r"):
            return "an empty line with a carriage return (the file has Windows line ends)"
        if self.continued:
            return "the line above ends with a backslash, but crontabs have no continuation lines"
        if looks_like_assignment(bare):
            return _assignment_guess(bare)
        if bare.startswith("-"):
            return "a leading - (SUSE's and cronie's word for: do not log) is not known to Debian's cron"
        return ""


def _assignment_guess(bare: str) -> str:
    if not bare.partition("=")[2].strip():
        return 'an empty value needs quotes (NAME="")'
    return "not an assignment, because its quotes do not close or something follows them"
