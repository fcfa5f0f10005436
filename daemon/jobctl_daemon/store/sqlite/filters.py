"""From a filter to a condition: what stands behind WHERE, and its values."""

import sqlite3
import string
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Final, Literal, NamedTuple

from jobctl.errors import InvalidInput
from jobctl.filters import KEYS, Filter, Search, Term, glob
from jobctl.filters.keys import JOB_STATES, JOB_WORDS, RUN_STATES, RUN_WORDS, Kind
from jobctl_daemon.store.sqlite import streaks
from jobctl_daemon.store.sqlite.statements import load

SQL = load("filters")

Of = Literal["job", "active", "ended", "dead"]

_WILD: Final = frozenset("*?")
#: What stands for itself in JSON, and in a glob.
_PLAIN: Final = frozenset(string.ascii_letters + string.digits + "._-:@/+")
_RELATIONS: Final = {":": "=", "<": "<", ">": ">"}
#: Whose words for a key are taken before those that hold of all.
_AS: Final[dict[Of, tuple[str, ...]]] = {
    "job": ("job_", ""),
    "active": ("active_", ""),
    "ended": ("ended_", ""),
    "dead": ("dead_", "active_", ""),
}


#: Keys that ask about the job of a run, whatever the run is.
OF_JOB: Final = frozenset({"word", "pattern", "name", "tag", "queue", "owner", "source", "command"})


class Condition(NamedTuple):
    """An expression of SQL and the values of its parameters; beside these it needs :now_ms."""

    sql: str
    values: dict[str, str | int]

    @property
    def searches(self) -> bool:
        return "REGEXP" in self.sql


def condition(wanted: Filter, of: Of) -> Condition:
    """What a filter says of jobs, of runs that are active or dead, of those that have ended, of dead letters."""
    values: dict[str, str | int] = {}
    terms = [_term(term, of, values) for term in wanted.terms]
    return Condition(" AND ".join(terms) or "1", values)


def shown(wanted: Filter, of: Literal["job", "active", "ended"]) -> Condition:
    """The same of a row of the view that shows such: job_facts, active_facts or finished_facts."""
    asked = condition(wanted, of)
    return asked._replace(sql=SQL.texts[f"of_{of}"].format(condition=asked.sql)) if wanted else asked


def wants_done(wanted: Filter) -> bool:
    """One-shots that are done are no part of a list, unless the filter asks for them or for what has failed."""
    return any(not wanted.words(key).isdisjoint(("done", "failed")) for key in ("state", "word_or_state"))


@contextmanager
def searching(connection: sqlite3.Connection, *conditions: Condition, search: Search | None = None) -> Iterator[None]:
    """Within it the patterns of conditions are searched for; `InvalidInput` when that takes too long.

    Who looks several times for one question gives its `search`, so that all looks together are bounded.
    """
    if not any(each.searches for each in conditions):
        yield  # a new function would make every statement of the connection be prepared again
        return
    search = search or Search()
    connection.create_function("regexp", 2, search.found, deterministic=True)
    try:
        yield
    except sqlite3.OperationalError as error:
        if search.costly:
            raise InvalidInput(
                "the patterns take too long: there are too many of them, or they look at too many texts",
                "put a plain word for a pattern, begin it with ^, or leave fewer to look at (tag:, queue:, owner:)",
                field="q",
            ) from error
        raise


def _term(term: Term, of: Of, values: dict[str, str | int]) -> str:
    pairs = [(each, value) for each in _meant(term, of) for value in each.values]
    alternatives = " OR ".join(f"({_alternative(each, value, of, values)})" for each, value in pairs)
    return f"NOT coalesce({alternatives}, 0)" if term.negated else f"({alternatives})"


def _meant(term: Term, of: Of) -> list[Term]:
    """Terms of which one must hold. Dead letters are looked for by their text: their state is the same."""
    if term.key != "word_or_state":
        return [term]
    word = term._replace(key="word")
    states = (JOB_WORDS if of == "job" else RUN_WORDS).get(str(term.values[0]).lower(), ())
    return [word, term._replace(key="state", values=states)] if states and of != "dead" else [word]


def _alternative(term: Term, value: str | int, of: Of, values: dict[str, str | int]) -> str:
    name = f"f{len(values)}"
    values[name] = value
    text = _text(term, value, of)
    kind = KEYS[term.key].kind if term.key in KEYS else Kind.PART
    how = f"= :{name} COLLATE NOCASE"
    if kind is Kind.GLOB and _WILD & set(str(value)):
        values[name], how = glob(str(value)), f"REGEXP :{name}"
    return text.format(
        **{"v": f":{name}", "is": how, "op": _RELATIONS[term.relation]},
        late_after=SQL.late_after,
        skips=streaks.SKIPS_TOLD,
    )


def _text(term: Term, value: str | int, of: Of) -> str:
    states = JOB_STATES if of == "job" else RUN_STATES
    if term.key == "state" and value not in states:
        error = InvalidInput(
            f"the state of a {'job' if of == 'job' else 'run'} is never {value}",
            f"one of {', '.join(states)}",
            field="q",
        )
        error.details["at"] = term.at
        raise error
    names = [f"state_{value}", "state"] if term.key == "state" else [term.key]
    if term.key == "tag" and _PLAIN.issuperset(str(value)):
        names = ["plain_tag"]
    return next(SQL.texts[f"{whose}{name}"] for name in names for whose in _AS[of] if f"{whose}{name}" in SQL.texts)
