"""Bringing in what the runners report: starts, results, and starts that must be tried again."""

import logging
from collections.abc import Callable, Iterable
from typing import Final

import structlog

from jobctl.clock import Clock
from jobctl_daemon.auditlog import AuditLog
from jobctl_daemon.decide.adoption import attempt_id
from jobctl_daemon.decide.outcome import Result
from jobctl_daemon.execution.again import StartAgain
from jobctl_daemon.execution.outgoing import Outgoing
from jobctl_daemon.execution.pool import RunnerPool
from jobctl_daemon.execution.reports import NO_ROOM_FOR_LOG, Ended, Refused, Started, may_be_the_shutdown
from jobctl_daemon.health import Health
from jobctl_daemon.loop import Pass
from jobctl_daemon.rows import StartedAttempt
from jobctl_daemon.services.ending import Ending
from jobctl_daemon.store import Store
from jobctl_daemon.wake import Wake

_PACE_MS: Final = 10
_BUSY_MS: Final = 50


class Collect:
    """Woken by reports. What they ask for is kept until it is committed, and only then is the runner told to forget."""

    name = "collect"

    def __init__(
        self,
        store: Store,
        clock: Clock,
        pool: RunnerPool,
        health: Health,
        again: StartAgain,
        ending: Ending,
        on_free: Callable[[], None],
        audit: AuditLog | None = None,
        outgoing: Outgoing | None = None,
    ) -> None:
        self.wake = Wake()
        self._store = store
        self._clock = clock
        self._pool = pool
        self._health = health
        self._on_free = on_free
        self._audit = audit
        self._outgoing = outgoing
        self._again = again
        self._ending = ending
        self._unsettled: dict[str, Result] = {}
        self._refused: dict[str, Refused] = {}
        self.parting = False
        """The daemon is being stopped. If that is because the machine goes down, only the next boot can tell."""

    @property
    def pace_ms(self) -> int:
        """While starts wait for the processors, ends are recorded in larger lots: fewer commits."""
        return _BUSY_MS if self._pool.busy else _PACE_MS

    async def run_once(self) -> Pass:
        reports = self._pool.take()
        for report in reports:
            if isinstance(report, Ended):
                if self.parting and may_be_the_shutdown(report.result):
                    continue  # its runner keeps it: the next daemon judges it, by the boot in which it is
                self._unsettled[attempt_id(report.result.run_id, report.result.fence)] = report.result
                self._announce_failure(report.result)
            elif isinstance(report, Refused):
                self._refused[attempt_id(report.run_id, report.fence)] = report
        started = [report for report in reports if isinstance(report, Started)]
        if started:  # first: who hears of an end sees no old warning, and what has ended is not measured any more
            self._again.started()
            self._measure(started)
            self._announce(started)
        finished = await self._finish()
        await self._give_back()
        await self._record_started(started)
        return Pass(did=len(reports) + finished)

    async def _record_started(self, started: list[Started]) -> None:
        rows = []
        for report in started:
            flight = self._pool.flights.get(attempt_id(report.run_id, report.fence))
            if flight is not None and flight.link is not None and not flight.ended:
                rows.append(_started_row(report, flight.link.hello.instance))
        if rows:
            await self._store.started(rows)

    def _measure(self, started: list[Started]) -> None:
        for report in started:
            flight = self._pool.flights.get(attempt_id(report.run_id, report.fence))
            if flight is not None and flight.due_ms is not None:
                self._health.start_lag.add(report.started_ms - flight.due_ms)
                flight.due_ms = None

    def _announce(self, started: list[Started]) -> None:
        """Each start once, whatever becomes of the rows."""
        for report in started:
            flight = self._pool.flights.get(attempt_id(report.run_id, report.fence))
            if self._audit is not None and flight is not None and flight.says is not None:
                self._audit.command(report.pid, *flight.says)
                flight.says = None
        self._read_by(attempt_id(report.run_id, report.fence) for report in started)

    def _announce_failure(self, result: Result) -> None:
        """Of a start that came to nothing; what ran has had its line."""
        flight = self._pool.flights.get(attempt_id(result.run_id, result.fence))
        if self._audit is None or flight is None or flight.says is None or result.cause != "spawn_error":
            return
        user, _ = flight.says
        flight.says = None
        self._audit.failed(user, result.detail or "it could not be started")

    def _read_by(self, attempts: Iterable[str]) -> None:
        """What these were to read is open, or will not be read."""
        if self._outgoing is not None:
            self._outgoing.taken(attempts)

    async def _finish(self) -> int:
        """Failed writes stay unsettled and are tried again by the next pass."""
        results = list(self._unsettled.values())
        if not results:
            return 0
        verdicts = await self._ending.record(results, self._clock.now_ms())
        for verdict in verdicts:
            if verdict.answer != "ok":  # stale: a daemon died between its commit and its word to the runner
                level = logging.INFO if verdict.answer == "stale" else logging.WARNING
                structlog.get_logger().log(level, "run.result_refused", run_id=verdict.run_id, answer=verdict.answer)
        self._note_room(results)
        settled = [attempt_id(result.run_id, result.fence) for result in results]
        for attempt in settled:
            self._unsettled.pop(attempt)
        self._pool.settle(settled)
        self._read_by(settled)
        self._on_free()
        return len(settled)

    def _note_room(self, results: list[Result]) -> None:
        """Logs may lie on a filesystem of their own, which nobody else looks after."""
        if any(NO_ROOM_FOR_LOG in (result.detail or "") for result in results):
            self._health.warnings["logs"] = "there is no room for the output of commands: what they print is not kept"
        elif results:
            self._health.warnings.pop("logs", None)

    async def _give_back(self) -> None:
        refused = dict(self._refused)
        if not refused:
            return
        now_ms = self._clock.now_ms()
        why = next(reversed(refused.values())).why
        claims = [(report.run_id, report.fence) for report in refused.values()]
        await self._store.unclaim(claims, self._again.refused(len(claims), why), now_ms, why)
        for attempt in refused:
            self._refused.pop(attempt)
        self._read_by(refused)
        self._pool.settle(refused)


def _started_row(report: Started, runner: str) -> StartedAttempt:
    return StartedAttempt(
        run_id=report.run_id,
        fence=report.fence,
        pid=report.pid,
        pid_start=report.pid_start,
        runner=runner,
        started_ms=report.started_ms,
    )
