"""The TOML of a file of jobs, with the place of each key. Mistakes are collected, and what is right is still read."""

import json
import re
import tomllib
from typing import Any, Final

from jobctl.jobfiles import broken
from jobctl.jobfiles.keys import KEYS, TABLES
from jobctl.jobfiles.problem import Problem, Source
from jobctl.jobfiles.spots import Path, Spot, heading, pair
from jobctl.jobfiles.statements import Statement, statements

JOB: Final = "job"
DEFAULTS: Final = "defaults"
#: Stands in the name of a table that is wrong in itself: what is below it is checked, and becomes nothing.
ASIDE: Final = "\0"

_Names = tuple[str, ...]
_PLAIN: Final = re.compile(r"[A-Za-z0-9_-]+")


class Document:
    """`root` is what tomllib makes of a text without mistakes; `spots` are by path from the root."""

    def __init__(self, source: Source) -> None:
        self.source = source
        self.root: dict[str, Any] = {}
        self.spots: dict[Path, Spot] = {}
        self.problems: list[Problem] = []
        self.unsure: set[_Names] = set()
        """Tables of which a line could not be read: what they lack may stand there."""
        self._headings: dict[_Names, int] = {}
        self._within: _Names = ()
        for statement in statements(source.text):
            self._read(statement)
        if not self.problems:
            self._check_whole()

    def spot(self, path: Path) -> Spot:
        """Where a key is given, or what it is a part of."""
        while path:
            if path in self.spots:
                return self.spots[path]
            path = path[:-1]
        return Spot(0, 0)

    def tell(self, at: int, reason: str, hint: str = "") -> None:
        """One more mistake, at an offset."""
        self.problems.append(self.source.problem(at, reason, hint))

    def _read(self, statement: Statement) -> None:
        try:
            value = tomllib.loads(statement.text)
        except (ValueError, RecursionError) as error:
            self.unsure.add(self._within[:2])
            flaw = broken.flaw(statement, error, KEYS)
            self.tell(statement.at + flaw.at, flaw.reason, flaw.hint)
            if statement.heading:
                self._aside(statement.at)
            return
        if statement.heading:
            self._open(statement)
        else:
            self._pair(statement, value)

    # ── headings ──────────────────────────────────────────────

    def _open(self, statement: Statement) -> None:
        parts = heading(self.source.text, statement.at)
        names = tuple(name for name, _ in parts)
        meant = _meant(names)
        if statement.text.startswith("[["):
            self.tell(statement.at, "a heading has one pair of brackets", f"write {shown(_named(meant))}")
        elif meant != names:
            self.tell(
                parts[0][1], f"unknown table `{'.'.join(names)}`", f"did you mean {shown(meant)}?" if meant else _KNOWN
            )
        if meant and meant[0] == JOB and len(meant) > 2 and meant[2] not in TABLES:
            dotted = shown((JOB, ".".join(meant[1:])))
            self.tell(parts[-1][1], f"a job has no table `{meant[2]}`", f"a name with dots is in quotes: {dotted}")
            meant = None
        if meant is None or (statement.text.startswith("[[") and len(meant) == 1):
            self._aside(statement.at)
            return
        self._within = self._first_time(meant, statement.at)
        self.spots.setdefault(self._within, Spot(statement.at, parts[min(1, len(parts) - 1)][1]))
        if _table_at(self.root, self._within) is None:
            self._twice(self._within, statement.at, "put the two together")
            self._aside(statement.at)

    def _first_time(self, names: _Names, at: int) -> _Names:
        """The names; others, beside them, when this heading was there before."""
        before = self._headings.setdefault(names, at)
        if before == at:
            return self._beside(names)
        job = len(names) == 2 and names[0] == JOB
        hint = "choose another name" if job else "put the two together"
        self.tell(at, f"{shown(names)} is there twice, first in line {self.source.line_of(before)}", hint)
        return (JOB, f"{names[1] if job else ''}{ASIDE}{at}") if names[0] == JOB else (f"{ASIDE}{at}",)

    def _beside(self, names: _Names) -> _Names:
        """A table of the job that is read now, where that has a name beside its own."""
        inside = self._within[:2]
        if len(names) > 2 and len(inside) == 2 and inside[1].partition(ASIDE)[0] == names[1]:
            return (*inside, *names[2:])
        return names

    def _aside(self, at: int) -> None:
        self._within = (JOB, f"{ASIDE}{at}")
        self.spots[self._within] = Spot(at, at)
        _table_at(self.root, self._within)

    # ── keys ──────────────────────────────────────────────

    def _pair(self, statement: Statement, value: Any) -> None:
        names, spots = pair(self.source.text, statement.at)
        for name in names:
            value = value[name]
        path = (*self._within, *names)
        table = _table_at(self.root, path[:-1])
        if table is None or path[-1] in table:
            self._twice(path, statement.at, "keep one of them")
            return
        table[path[-1]] = value
        for key, spot in spots.items():
            self.spots.setdefault((*self._within, *key), spot)

    def _twice(self, path: _Names, at: int, hint: str) -> None:
        line = self.source.line_of(self.spot(path).key)
        self.tell(at, f"`{'.'.join(path[len(self._within) :]) or path[-1]}` is there twice, first in line {line}", hint)

    def _check_whole(self) -> None:
        """What no statement shows alone, such as a table in braces that is added to: what TOML refuses is not taken."""
        try:
            tomllib.loads(self.source.text)
        except (ValueError, RecursionError) as error:
            flaw, line, column = broken.of_whole(error)
            self.tell(self.source.offset(line, column), flaw.reason, flaw.hint)


_KNOWN: Final = "a job begins with [job.NAME], what all have in common with [defaults]"


def _meant(names: _Names) -> _Names | None:
    """The heading that somebody meant: the same where it is right, None where nobody can say."""
    first = names[0].lower()
    if first in (JOB, "jobs"):
        return (JOB, *names[1:])
    if first in (DEFAULTS, "default") and (len(names) == 1 or names[1] in TABLES):
        return (DEFAULTS, *names[1:])
    return (JOB, *names) if len(names) == 1 or names[1] in TABLES else None


def _named(meant: _Names | None) -> _Names:
    """With something where a name is missing."""
    return (JOB, "NAME") if meant is None or meant == (JOB,) else meant


def shown(names: _Names) -> str:
    """As a heading."""
    parts = [name if _PLAIN.fullmatch(name) else json.dumps(name, ensure_ascii=False) for name in names]
    return f"[{'.'.join(parts)}]"


def _table_at(table: dict[str, Any], path: _Names) -> dict[str, Any] | None:
    """The table at a path, made where it is missing; None where something else is in its way."""
    at: Any = table
    for name in path:
        at = at.setdefault(name, {})
        if not isinstance(at, dict):
            return None
    found: dict[str, Any] = at
    return found
