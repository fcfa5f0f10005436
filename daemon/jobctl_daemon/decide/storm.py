"""Catch-up runs of one backlog do not all start at once (faults F055): after the first few they are paced.

They are due one after another, fifty a second, and where slots are short they go after what else is due in their
priority: a job that is on its time starts although the backlog is not done.
"""

from collections.abc import Iterable
from typing import Final

import msgspec

from jobctl.states import Trigger
from jobctl_daemon.rows import NewRun

#: So many are no storm.
AT_ONCE: Final = 16
APART_MS: Final = 20


def paced(runs: Iterable[NewRun], before: int, now_ms: int) -> tuple[NewRun, ...]:
    """The runs of a backlog, with `before` catch-up runs of it made already. What is on time stays as it is."""
    made: list[NewRun] = []
    number = before
    for run in runs:
        if run.trigger is not Trigger.CATCH_UP:
            made.append(run)
            continue
        made.append(_later(run, now_ms, (number - AT_ONCE + 1) * APART_MS))
        number += 1
    return tuple(made)


def catch_ups(runs: Iterable[NewRun]) -> int:
    """How many of them are catch-up runs."""
    return sum(run.trigger is Trigger.CATCH_UP for run in runs)


def _later(run: NewRun, now_ms: int, wait_ms: int) -> NewRun:
    """Its window to start is longer by what it is made to wait."""
    if wait_ms <= 0 or run.due_ms >= now_ms + wait_ms:
        return run
    start_by_ms = run.start_by_ms if run.start_by_ms is None else run.start_by_ms + wait_ms
    return msgspec.structs.replace(run, due_ms=now_ms + wait_ms, start_by_ms=start_by_ms, gives_way=True)
