"""Which occurrences of a backlog still run: the misfire policy (docs/failures.md, "Late, missed, down").

A backlog is what fell due since the cursor was last handled: one occurrence in the ordinary case, more after the
daemon was down, the machine slept or the clock stepped. *once* keeps the latest inside its window, *all* up to ten
inside its window, *skip* those that are younger than its grace. What is not kept becomes one row of the ledger.
"""

from collections.abc import Iterator
from dataclasses import dataclass

from jobctl.defaults import MISFIRE_ALL_MAX
from jobctl.model import Policies
from jobctl.schedule import Fire, Once, Schedule
from jobctl.states import Misfire

#: How many occurrences of one backlog may run, by policy. Reached by *skip* only with a long grace.
KEPT_MAX = {Misfire.ONCE: 1, Misfire.ALL: MISFIRE_ALL_MAX, Misfire.SKIP: 100}
#: An exact count of a longer backlog is not worth the time; the row then says "at least".
COUNTED_MAX = 100_000
#: A backlog of up to so many occurrences is walked through.
_FEW = 16


@dataclass(frozen=True, slots=True)
class Backlog:
    """The occurrences that run, oldest first, and the range of those that do not (missed 0: none)."""

    kept: tuple[Fire, ...]
    missed_from_ms: int = 0
    missed_to_ms: int = 0
    missed: int = 0
    exact: bool = True
    """False: `missed` is a lower bound."""


def choose(schedule: Schedule, policies: Policies, first_ms: int, now_ms: int) -> Backlog:
    """Splits the occurrences in [first_ms, now_ms] by the job's misfire policy. `first_ms` is an occurrence."""
    after_ms = first_ms - 1
    few = _few(schedule, after_ms, now_ms)
    if isinstance(schedule, Once):  # a one-shot that was missed runs late, without a window
        return Backlog(kept=tuple(few or ()))
    oldest_ms = max(after_ms, now_ms - policies.misfire_within_ms - 1)
    if few is None:
        return _of_many(schedule, policies, after_ms, oldest_ms, now_ms)
    inside = [fire for fire in few if fire.at_ms > oldest_ms]
    kept = inside[-KEPT_MAX[policies.misfire] :]
    return _with_missed(tuple(kept), few[: len(few) - len(kept)])


def _few(schedule: Schedule, after_ms: int, now_ms: int) -> list[Fire] | None:
    """All occurrences in (after_ms, now_ms] when they are few, which is nearly always; None: they are many."""
    few: list[Fire] = []
    fire = schedule.next_after(after_ms)
    while fire is not None and fire.at_ms <= now_ms:
        few.append(fire)
        if len(few) > _FEW:
            return None
        fire = schedule.next_after(fire.at_ms)
    return few


def _of_many(schedule: Schedule, policies: Policies, after_ms: int, oldest_ms: int, now_ms: int) -> Backlog:
    """A long backlog is not walked through: its newest are searched for, the others counted."""
    kept = tuple(reversed(list(_newest(schedule, oldest_ms, now_ms, KEPT_MAX[policies.misfire]))))
    last = schedule.latest_at_or_before(kept[0].at_ms - 1 if kept else now_ms, after_ms)
    first = schedule.next_after(after_ms)
    if last is None or first is None:
        return Backlog(kept=kept)
    count = schedule.count(after_ms, last.at_ms, COUNTED_MAX)
    return Backlog(kept, first.at_ms, last.at_ms, count.number, count.exact)


def _newest(schedule: Schedule, after_ms: int, until_ms: int, most: int) -> Iterator[Fire]:
    """Up to `most` occurrences in (after_ms, until_ms], newest first."""
    for _ in range(most):
        fire = schedule.latest_at_or_before(until_ms, after_ms)
        if fire is None:
            return
        yield fire
        until_ms = fire.at_ms - 1


def _with_missed(kept: tuple[Fire, ...], missed: list[Fire]) -> Backlog:
    return Backlog(kept, missed[0].at_ms, missed[-1].at_ms, len(missed)) if missed else Backlog(kept)


def start_by_ms(schedule: Schedule, policies: Policies, at_ms: int) -> int | None:
    """Until when a run of this occurrence may start; None for a one-shot, which never becomes too late."""
    return None if isinstance(schedule, Once) else at_ms + policies.misfire_within_ms
