"""What holds in every database of jobctl at each commit (docs/invariants.md), asked of its tables alone.

`jobctl doctor --deep` asks a living database in short reads; tests ask theirs at once.
"""

import sqlite3
from collections.abc import Iterator
from enum import Enum
from typing import Final, NamedTuple

from jobctl_daemon.store.sqlite.statements import load

SQL = load("invariants")

#: Ids of one read.
WINDOW: Final = 20_000
_ALL: Final = (-(1 << 62), 1 << 62)


class Over(Enum):
    """Which ids a rule is asked of, piece by piece."""

    RUNS = "runs"
    JOBS = "jobs"
    NOTHING = "nothing"
    """It looks at few rows: at once."""


class Rule(NamedTuple):
    """`statement` finds what breaks the sentence; `of` is what its first column names."""

    statement: str
    sentence: str
    of: str = "run"
    over: Over = Over.RUNS
    lasting: bool = True
    """False: it does not hold while limits are lowered under what runs."""


RULES: Final = (
    Rule("active_and_finished", "a run is active or finished, never both (I1)"),
    Rule("one_run_each", "an occurrence has one run (I1)", over=Over.JOBS),
    Rule("fences_rise", "the fences of a run rise from attempt to attempt (I2)"),
    Rule("fence_of_newest", "a run's fence is that of its newest attempt, or a later one (I2)"),
    Rule("attempts_of_active", "an attempt that has ended has its row, and the one that runs has none"),
    Rule("attempts_of_finished", "a finished run has all its attempts"),
    Rule("own_gate", "a gate is that of the run's own job"),
    Rule("gate_held", "what is ready or running holds its job's gate"),
    Rule("waits_for_nobody", "nobody waits for a gate that nobody holds"),
    Rule("turn_of_nobody", "nobody waits for a turn in a replay in which it is nobody's"),
    Rule("one_turn", "a replay in turn has one turn", over=Over.NOTHING),
    Rule("held_for_nothing", "only what was not asked for by hand is held, while something holds its job"),
    Rule("starts_though_held", "nothing starts of a job that is held but what was asked for by hand (I11)"),
    Rule("suspended_by_nobody", "a job is held while a pause holds it, or until it is aimed again", "job", Over.JOBS),
    Rule("resuming_though_held", "a job that a pause holds does not wait to be aimed", "job", Over.JOBS),
    Rule("waits_though_held", "a job that is held, done or deleted waits for no instant", "job", Over.JOBS),
    Rule("waits_for_left_out", "a job that nothing holds waits for nothing that is left out", "job", Over.JOBS),
    Rule("quarantined_unpaused", "only a job that is paused is quarantined", "job", Over.JOBS),
    Rule("too_many_letters", "a job has at most a hundred dead letters", "job", Over.JOBS),
    Rule("follows_nobody", "a live job comes after a live one", "job", Over.JOBS),
    Rule("version_of_job", "a run's version is one of its job"),
    Rule("queue_over_limit", "a queue runs no more than its limit (I6)", "queue", Over.NOTHING, lasting=False),
    Rule("job_over_limit", "no more runs of a job are active than may be (I6)", "job", Over.JOBS, lasting=False),
    Rule("row_of_run", "every run is the one of its occurrence (I8)"),
    Rule("run_of_row", "the run of an occurrence is there until it has ended and is pruned (I8)", over=Over.JOBS),
    Rule("row_without_reason", "an occurrence without a run says why (I8)", "job", Over.JOBS),
    Rule("skipped_without_reason", "a run that never began says why in the ledger, or was cancelled by hand"),
    Rule("last_event", "the last event of a run says what it is (I14)"),
    Rule("ends_once", "a run ends once (I14)", over=Over.NOTHING),
)  # fmt: skip


def broken(connection: sqlite3.Connection, *, limits: bool = True) -> Iterator[tuple[Rule, list[tuple[object, ...]]]]:
    """Every rule that does not hold, with what breaks it. `limits`: none was lowered under what runs."""
    for rule in RULES:
        if rule.lasting or limits:
            rows = ask(connection, rule, *_ALL)
            if rows:
                yield rule, rows


def ask(connection: sqlite3.Connection, rule: Rule, low: int, high: int) -> list[tuple[object, ...]]:
    """What breaks a rule among the ids in (low, high]; one read."""
    pruned = connection.execute(SQL.pruned).fetchone()[0]
    found: list[tuple[object, ...]] = connection.execute(
        SQL.texts[rule.statement], {"low": low, "high": high, "pruned": pruned}
    ).fetchall()
    return found


def windows(connection: sqlite3.Connection, rule: Rule) -> Iterator[tuple[int, int]]:
    """The pieces in which a rule is asked of a large database."""
    if rule.over is Over.NOTHING:
        yield _ALL
        return
    runs, jobs = connection.execute(SQL.highest).fetchone()
    low = 0 if rule.over is Over.JOBS else connection.execute(SQL.lowest).fetchone()[0]
    step = WINDOW // 20 if rule.over is Over.JOBS else WINDOW
    for start in range(low, max(low, jobs if rule.over is Over.JOBS else runs), step):
        yield start, start + step
