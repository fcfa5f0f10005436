"""From the bytes of a table to the jobs that it declares, and what of it was refused. It may take a second for a large
one, so never on the loop; and it rests in between, because the loop needs the interpreter as well.
"""

import time
from collections import Counter
from collections.abc import Callable, Container
from dataclasses import dataclass, field, replace
from typing import Any, Final

import msgspec

from jobctl.crontabs import Crontab, CrontabLine, read, shown
from jobctl.crontabs.jobs import Origin, Planned, plan
from jobctl.crontabs.table import LINES_MAX
from jobctl.drafts import Checked, Circumstances, checked_job
from jobctl.errors import InvalidInput
from jobctl.model import JobDraft
from jobctl_daemon.decide.declared import Wanted
from jobctl_daemon.decide.tables import Broken, Kind
from jobctl_daemon.files import Problem
from jobctl_daemon.tables.places import Table

_TEXT_CHARS_MAX: Final = 200
#: So many lines, then a rest for the others.
_LINES_AT_ONCE: Final = 50
_REST_S: Final = 0.002
_ROOT: Final = "root"


@dataclass(slots=True)
class Content:
    """What a table says."""

    crontab: Crontab | None = None
    wanted: list[Wanted] = field(default_factory=list)
    problems: list[Problem] = field(default_factory=list)
    raw: list[str] = field(default_factory=list)
    """Its lines as they stand there."""

    @property
    def broken(self) -> list[Broken]:
        """The lines that make no job."""
        return [Broken(one.line, self.raw[one.line - 1]) for one in self.problems if one.line]


class Known(Container[str]):
    """Who exists, each asked once for a table."""

    def __init__(self, exists: Callable[[str], bool]) -> None:
        self._exists = exists
        self._known: dict[str, bool] = {}

    def __contains__(self, name: object) -> bool:
        if not isinstance(name, str):
            return False
        if name not in self._known:
            self._known[name] = self._exists(name)
        return self._known[name]


def content_of(table: Table, data: bytes, here: Circumstances) -> Content:
    """The jobs and the refused lines of a table. `Unavailable` when nobody says which users exist, `InvalidInput` for
    a file that cron would ignore as a whole."""
    users = Known(here.user_exists)
    here = replace(here, user_exists=users.__contains__)
    crontab = read(data, system=table.kind is Kind.SYSTEM, users=users)
    if crontab.lines > LINES_MAX:
        raise InvalidInput(f"it has more than {LINES_MAX:,} lines: cron ignores the whole file")
    origin = Origin(table.path, table.user or _ROOT, table.user)
    raw = [line.decode("utf-8", "surrogateescape") for line in data.split(b"\n")]
    content = Content(crontab, raw=raw)
    content.problems += [Problem(line=one.line, text=_short(one.text), reason=one.reason) for one in crontab.refused]
    cut = {line for line, number in Counter(item.line for item in crontab.items).items() if number > 1}
    for number, item in enumerate(crontab.items):
        if number % _LINES_AT_ONCE == _LINES_AT_ONCE - 1:
            time.sleep(_REST_S)
        _add(content, item, origin, here, raw, cut)
    content.problems.sort(key=lambda one: one.line or 0)
    return content


def add_planned(content: Content, planned: Planned, text: str, here: Circumstances) -> None:
    """One line with its job, or the problem that it has instead."""
    problem = planned.problem
    if planned.draft is not None:
        try:
            content.wanted.append(Wanted(planned.digest, _checked(planned, here)))
        except InvalidInput as error:
            problem = f"{error.message}: {error.hint}" if error.hint else error.message
    if problem is not None:
        content.problems.append(Problem(line=planned.item.line, text=_short(text), reason=problem))


def _add(
    content: Content, item: CrontabLine, origin: Origin, here: Circumstances, raw: list[str], cut: set[int]
) -> None:
    if item.starts_jobd:  # it is for cron, when that is there
        return
    text = raw[item.line - 1]
    if item.line in cut:
        reason = "a NUL byte cuts this line in several"
        if all(one.line != item.line for one in content.problems):
            content.problems.append(Problem(line=item.line, text=_short(text), reason=reason))
        return
    (planned,) = plan(Crontab((item,), (), (), (), system=origin.owner is None), origin)
    add_planned(content, planned, text, here)


def _checked(planned: Planned, here: Circumstances) -> Checked:
    """The definition; its name was made up, so the store may put a number behind it."""
    draft: dict[str, Any] = {**(planned.draft or {}), "name": planned.name}
    checked = checked_job(msgspec.convert(draft, JobDraft), here)
    return Checked(checked.spec, checked.next_ms, checked.warnings, named=False)


def _short(text: str) -> str:
    text = shown(text)
    return text if len(text) <= _TEXT_CHARS_MAX else text[:_TEXT_CHARS_MAX] + "…"
