"""Retention: expired rows and logs go, in steps so small that nothing else waits for them.

It rides on what happens: finished runs, many events, changed settings, commands that write. An idle daemon does
nothing. A look goes through the duties one after another, a bounded step in each pass; after a step retention rests
for as long as the step took, so that it has half of the writer's time at the most, and the size of the steps follows
how long they take.
"""

import asyncio
from collections.abc import Callable, Collection, Sequence
from typing import Final

from jobctl.clock import Clock
from jobctl_daemon.execution.logs import LogFiles
from jobctl_daemon.loop import Pass
from jobctl_daemon.rows import Keep
from jobctl_daemon.services.duty import Aside, Duty, Step
from jobctl_daemon.services.log_budget import LogBudget
from jobctl_daemon.services.log_orphans import LogOrphans
from jobctl_daemon.services.old_adhoc import OldAdhoc
from jobctl_daemon.services.old_rows import OldRows
from jobctl_daemon.services.old_runs import OldRuns
from jobctl_daemon.store import Store
from jobctl_daemon.wake import Wake

#: Finished runs after which it is time to look, and how long at most between looks while runs finish.
_EVERY_RUNS: Final = 1_000
_EVERY_MS: Final = 600_000
#: Events after which it is, also when no run finishes.
_EVERY_EVENTS: Final = 20_000
#: A daemon that is restarted again and again looks as well.
_FIRST_MS: Final = 60_000
#: How often what running commands write is held against the budget.
_WRITING_MS: Final = 15_000
#: Rows of each kind in one step: at the least, at the start, at the most.
_LEAST, _FIRST, _MOST = 20, 100, 300
#: A step that takes longer is halved the next time; one that takes less than a third may grow.
_STEP_MS: Final = 60
_REST_MS_MAX: Final = 2_000


def _nothing_runs() -> Collection[tuple[int, int]]:
    return ()


class Retain:
    """Woken by `heard` and by new settings. `age_ms` is the wall time by which things are old: a clock that leaps makes
    nothing so. `writing` are the (run id, fence) of attempts that run."""

    name = "retain"
    pace_ms = 0

    def __init__(
        self,
        store: Store,
        clock: Clock,
        logs: LogFiles,
        keep: Keep,
        age_ms: Callable[[], int] | None = None,
        writing: Callable[[], Collection[tuple[int, int]]] = _nothing_runs,
        aside: Aside = asyncio.to_thread,
    ) -> None:
        self.wake = Wake()
        self._keep = keep
        self._clock = clock
        self._writing = writing
        now_ms = age_ms or clock.now_ms
        self._runs = OldRuns(store, logs, self._kept, now_ms, aside)
        self._adhoc = OldAdhoc(store, logs, self._kept, aside)
        self._rows = OldRows(store, self._kept, now_ms)
        self._budget = LogBudget(store, clock, logs, self._kept, writing, aside)
        self._orphans = LogOrphans(store, clock, logs, now_ms, aside)
        self._duties: list[Duty] = []
        self._limit = _FIRST
        self._finished = 0
        self._events = 0
        self._asked = False
        self._stirred = self._armed = False
        self._looked_ms = clock.boot_ms() - _EVERY_MS + _FIRST_MS
        self._measured_ms = clock.boot_ms()

    def _kept(self) -> Keep:
        return self._keep

    @property
    def keep(self) -> Keep:
        """How much is kept. What is changed takes effect at once."""
        return self._keep

    @keep.setter
    def keep(self, keep: Keep) -> None:
        if keep != self._keep:
            self._keep = keep
            self._runs.all_jobs()
            self._adhoc.look()
            self.look()

    def look(self) -> None:
        """Somebody wants it done now: a reload."""
        self._asked = True
        self.wake.set()

    def heard(self, events: int, finished: Sequence[int]) -> None:
        """So many events were committed; runs of these jobs have finished."""
        self._events += events
        self._finished += len(finished)
        self._runs.finished(finished)
        self._rows.finished(finished)
        self._adhoc.finished(len(finished))
        self._stirred = self._stirred or events > 0
        if self._due() or self._to_measure() or (self._stirred and not self._armed):
            self.wake.set()

    async def run_once(self) -> Pass:
        if not self._duties:
            self._begin()
        if not self._duties:
            return self._idle(0)
        began_ms = self._clock.boot_ms()
        step = await self._duties[0].step(self._limit)
        took_ms = self._clock.boot_ms() - began_ms
        if not step.more:
            self._duties.pop(0)
        if not self._duties and not self._due():
            return self._idle(step.did)
        return self._on(step, took_ms)

    def _on(self, step: Step, took_ms: int) -> Pass:
        """The next step, after a rest."""
        if took_ms > _STEP_MS:
            self._limit = max(_LEAST, self._limit // 2)
        elif took_ms * 3 < _STEP_MS:
            self._limit = min(_MOST, self._limit * 2)
        if not took_ms:
            return Pass(did=step.did, again=True)
        return Pass(did=step.did, next_ms=self._clock.now_ms() + min(took_ms, _REST_MS_MAX))

    def _begin(self) -> None:
        now_ms = self._clock.boot_ms()
        if self._due():
            self._finished = self._events = 0
            self._asked = False
            self._looked_ms = self._measured_ms = now_ms
            self._duties = [self._runs, self._adhoc, self._rows, self._budget, self._orphans]
        elif self._to_measure():
            self._measured_ms = now_ms
            self._duties = [self._budget]
        for duty in self._duties:
            duty.begin()

    def _due(self) -> bool:
        waited = self._clock.boot_ms() - self._looked_ms > _EVERY_MS
        many = self._finished >= _EVERY_RUNS or self._events >= _EVERY_EVENTS
        return self._asked or many or (self._finished > 0 and waited)

    def _to_measure(self) -> bool:
        """Whether what commands write is to be measured again."""
        over = self._clock.boot_ms() - self._measured_ms >= _WRITING_MS
        return over and (self._finished > 0 or bool(self._writing()))

    def _idle(self, did: int) -> Pass:
        """While commands run they write, and what has just happened may be a start; else the next event wakes."""
        self._armed = self._stirred or bool(self._writing())
        self._stirred = False
        return Pass(did=did, next_ms=self._clock.now_ms() + _WRITING_MS if self._armed else None)
