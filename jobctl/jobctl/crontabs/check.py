"""Whether a user's crontab may be installed, as crontab(1) decides it: one bad line, and nothing is installed.

What Debian's crontab accepts is accepted; lines of which no job can be made all the same are told as warnings.
"""

from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Final, Literal

from .jobs import Origin, plan
from .read import UNENDED, Dialect, read
from .table import LINES_MAX, Crontab, shown

#: What fits in a body of the API as base64. Debian's crontab has no such limit, but 10,000 lines.
CRONTAB_BYTES_MAX: Final = 750_000
#: The variables of all lines together: each line is a job that keeps its own.
ENV_BYTES_MAX: Final = 20_000_000
_TEXT_CHARS_MAX: Final = 200

Kind = Literal["line", "newline", "length", "variables"]


@dataclass(frozen=True, slots=True)
class Fault:
    """Something in a crontab. `line` counts from 1; 0 means the file as a whole."""

    line: int
    text: str
    reason: str
    kind: Kind = "line"


@dataclass(frozen=True, slots=True)
class Verdict:
    """`faults`: why it is not installed. `warnings`: what is installed and will not run, or not as it looks."""

    faults: tuple[Fault, ...]
    warnings: tuple[Fault, ...]
    jobs: int


def check(data: bytes, user: str, dialect: Dialect = "cronie") -> Verdict:
    """What crontab(1) and jobd think of a table of this user."""
    crontab = read(data, dialect=dialect)
    if faults := tuple(_faults(crontab)):
        return Verdict(faults, (), 0)
    planned = plan(crontab, Origin(f"crontab of {user}", user, user))
    warnings = []
    for one in planned:
        text = _short(f"{one.item.schedule} {one.item.command}")
        if one.problem is not None:
            warnings.append(Fault(one.item.line, text, f"it does not run: {one.problem}"))
        warnings += [Fault(one.item.line, text, note) for note in one.notes]
    return Verdict((), tuple(warnings), sum(one.draft is not None for one in planned))


def _faults(crontab: Crontab) -> Iterator[Fault]:
    for refused in crontab.refused:
        kind: Kind = "newline" if refused.reason == UNENDED else "line"
        yield Fault(refused.line, _short(refused.text), refused.reason, kind)
    if crontab.lines > LINES_MAX:
        yield Fault(0, "", f"crontab is too long; maximum number of lines is {LINES_MAX}.", "length")
    if _env_bytes(crontab) > ENV_BYTES_MAX:
        yield Fault(0, "", f"the variables of all lines together have over {ENV_BYTES_MAX:,} bytes.", "variables")


def _env_bytes(crontab: Crontab) -> int:
    """Lines share what is in force on them, so each is counted once and taken as often as it holds."""
    lines = Counter(id(item.env) for item in crontab.items)
    envs = {id(item.env): item.env for item in crontab.items}
    return sum(
        count * sum(len(name) + len(value) for name, value in envs[which].items()) for which, count in lines.items()
    )


def _short(text: str) -> str:
    text = shown(text)
    return text if len(text) <= _TEXT_CHARS_MAX else text[:_TEXT_CHARS_MAX] + "…"
