"""One line of a crontab that is a job, as `load_entry` of Debian's entry.c reads it (3.0pl1-162)."""

import re
from collections.abc import Container
from dataclasses import dataclass

from jobctl.errors import InvalidInput
from jobctl.schedule import debian_reading, parse_cron

from .percent import split_command
from .table import CrontabLine, shown

#: MAX_COMMAND is 1000 with its closing NUL, and a command that fills it is taken for a cut one.
COMMAND_BYTES_MAX = 998

JOBD_MARKER = "# jobctl: starts the daemon"

_FIELDS = ("minute", "hour", "day of month", "month", "day of week")
_WORD = re.compile(r"[^ \t]+")
_USER = re.compile(r"([^ \t\0]*)([ \t\0])")
_FIVE_WORDS = re.compile(r"[^ \t]+(?:[ \t]+[^ \t]+){4}")
# entry.c returns characters as a signed char: this byte looks like the end of the file to it.
_BYTE_FF = "\udcff"


@dataclass(frozen=True, slots=True)
class Entry:
    """A job line taken apart. `rest` is what follows a NUL byte: Debian reads it as the next line."""

    schedule: str
    quirk: str | None
    user: str | None
    text: str
    rest: str

    def as_line(self, number: int, env: dict[str, str], zone: str | None) -> CrontabLine:
        command, stdin = split_command(self.text)
        ours = self.schedule == "@reboot" and self.text.rstrip().endswith(JOBD_MARKER)
        return CrontabLine(number, self.schedule, self.user, command, stdin, env, zone, self.quirk, ours)


def parse_line(line: str, *, system: bool = False, users: Container[str] | None = None) -> CrontabLine:
    """A crontab line of a user, or with `system` of a system table, which has a user column.

    Raises `InvalidInput` with the reason, also for a schedule that Debian accepts only by accident.
    """
    entry = split_entry(line.rstrip("\n"), system=system, users=users)
    if entry.quirk:
        raise InvalidInput(f"{shown(entry.schedule)} is not a clear schedule", entry.quirk, field="line")
    return entry.as_line(1, {}, None)


def split_entry(text: str, *, system: bool, users: Container[str] | None) -> Entry:
    """The parts of a job line. Raises `InvalidInput` where Debian refuses it."""
    text = text.lstrip(" \t")
    schedule, after = _alias(text) if text.startswith("@") else _five_fields(text)
    quirk = _quirk(schedule)
    user = None
    if system:
        user, after = _user(after, users)
    elif after.startswith("*"):
        raise _refused(
            "bad command: it begins with *",
            "Cron has five fields, no seconds and no years; the sixth word is the command.",
        )
    command, _, rest = after.partition("\0")
    if len(command.encode("utf-8", "surrogateescape")) > COMMAND_BYTES_MAX:
        raise _refused(
            f"the command is longer than {COMMAND_BYTES_MAX} bytes, which Debian's cron refuses",
            "Put it in a script.",
        )
    return Entry(schedule, quirk, user, command.lstrip(" \t") if system else command, rest)


def _alias(text: str) -> tuple[str, str]:
    end = next((at for at, char in enumerate(text) if char in " \t\0"), len(text))
    parse_cron(text[:end])
    return text[:end], text[end:].lstrip(" \t")


def _five_fields(text: str) -> tuple[str, str]:
    match = _FIVE_WORDS.match(text)
    if match is None:
        raise _too_few(_WORD.findall(text))
    words = _WORD.findall(match.group())
    after = text[match.end() :].lstrip(" \t")
    if after.startswith(_BYTE_FF) or any(_ends_at_ff(at, word) for at, word in enumerate(words)):
        raise _refused("the byte \\xff looks like the end of the file to Debian's cron", "Remove it.")
    return " ".join(words), after


def _ends_at_ff(at: int, word: str) -> bool:
    """Whether the byte stands right behind complete elements; further on it is text that Debian drops."""
    before, found, _ = word.partition(_BYTE_FF)
    return bool(found) and _quirk_or_refusal(_only_field(at, before)) is None


def _only_field(at: int, word: str) -> str:
    fields = ["*"] * 5
    fields[at] = word
    return " ".join(fields)


def _too_few(words: list[str]) -> InvalidInput:
    """Names the first field that is wrong: with too few words it is often the first one already."""
    for at, word in enumerate(words):
        if _quirk_or_refusal(_only_field(at, word)) is not None:
            return _refused(f"bad {_FIELDS[at]} {shown(word)!r}", "This is no job line and no NAME=value line.")
    missing = ", ".join(_FIELDS[len(words) :])
    return _refused(f"a job line has five fields and a command; {missing} missing", "Put `*` where any value will do.")


def _quirk(schedule: str) -> str | None:
    """Raises where Debian refuses the schedule; a sentence where it accepts it by accident."""
    verdict = _quirk_or_refusal(schedule)
    if isinstance(verdict, InvalidInput):
        raise verdict
    return verdict


def _quirk_or_refusal(schedule: str) -> InvalidInput | str | None:
    try:
        parse_cron(schedule)
    except InvalidInput as error:
        return debian_reading(schedule) or error
    return None


def _user(after: str, users: Container[str] | None) -> tuple[str, str]:
    match = _USER.match(after)
    if match is None or not match.group(1):
        raise _refused(
            "a line of a system table has a user before its command, and a blank after it",
            "Debian's cron refuses it. Write the user after the schedule.",
        )
    name = match.group(1)
    if users is not None and name not in users:
        raise _refused(*_unknown_user(name))
    return name, after[match.end() :]


def _unknown_user(name: str) -> tuple[str, str]:
    if name[0] in "\"'":
        return f"there is no user {shown(name)}", "The user column takes no quotes."
    if ("/" in name and not name.startswith("/")) or ":" in name:
        return f"there is no user {shown(name)}", "`user:group` and `user/class` belong to FreeBSD's cron."
    if name[0] in "/.~$[*" or "=" in name:
        return (
            f"there is no user {shown(name)}",
            "Is the user column missing? Debian takes the sixth word for the user.",
        )
    return f"there is no user {shown(name)} on this host", "Debian's cron refuses the line."


def _refused(message: str, hint: str) -> InvalidInput:
    return InvalidInput(message, hint, field="line")
