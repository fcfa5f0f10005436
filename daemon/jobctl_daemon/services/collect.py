"""Bringing in what the runners report: starts, results, and starts that must be tried again."""

from collections.abc import Callable

import structlog

from jobctl.clock import Clock
from jobctl_daemon.decide.adoption import attempt_id
from jobctl_daemon.decide.outcome import Result, finish
from jobctl_daemon.execution.pool import RunnerPool
from jobctl_daemon.execution.reports import Ended, Refused, Report, Started
from jobctl_daemon.health import Health
from jobctl_daemon.loop import Pass
from jobctl_daemon.rows import StartedAttempt
from jobctl_daemon.store import Store
from jobctl_daemon.wake import Wake

#: A start that could not be carried out is tried again after so long, doubled each time up to the most.
_AGAIN_MS_MIN = 1_000
_AGAIN_MS_MAX = 30_000


class Collect:
    """Woken by reports. A result is acknowledged to its runner only after it is committed."""

    name = "collect"
    pace_ms = 10

    def __init__(
        self, store: Store, clock: Clock, pool: RunnerPool, health: Health, on_free: Callable[[], None]
    ) -> None:
        self.wake = Wake()
        self._store = store
        self._clock = clock
        self._pool = pool
        self._health = health
        self._on_free = on_free
        self._unsettled: dict[str, Result] = {}
        self._again_ms = _AGAIN_MS_MIN

    async def run_once(self) -> Pass:
        reports = self._pool.take()
        for report in reports:
            if isinstance(report, Ended):
                self._unsettled[attempt_id(report.result.run_id, report.result.fence)] = report.result
        await self._record_started(reports)
        finished = await self._finish()
        await self._give_back([report for report in reports if isinstance(report, Refused)])
        return Pass(did=len(reports) + finished)

    async def _record_started(self, reports: list[Report]) -> None:
        rows = []
        for report in reports:
            if not isinstance(report, Started):
                continue
            attempt = attempt_id(report.run_id, report.fence)
            flight = self._pool.flights.get(attempt)
            self._measure(attempt, report.started_ms)
            if flight is not None and attempt not in self._unsettled:
                rows.append(_started_row(report, flight.link.hello.instance))
        if rows:
            self._again_ms = _AGAIN_MS_MIN
            self._health.warnings.pop("starts", None)
            await self._store.started(rows)

    def _measure(self, attempt: str, started_ms: int) -> None:
        flight = self._pool.flights.get(attempt)
        if flight is not None and flight.due_ms is not None:
            self._health.start_lag.add(started_ms - flight.due_ms)
            flight.due_ms = None

    async def _finish(self) -> int:
        """Failed writes stay unsettled and are tried again by the next pass."""
        results = list(self._unsettled.values())
        if not results:
            return 0
        verdicts = await self._store.finish([finish(result) for result in results], self._clock.now_ms())
        for verdict in verdicts:
            if verdict.answer != "ok":
                structlog.get_logger().warning("run.result_refused", run_id=verdict.run_id, answer=verdict.answer)
        settled = [attempt_id(result.run_id, result.fence) for result in results]
        for attempt in settled:
            self._unsettled.pop(attempt)
        self._pool.settle(settled)
        self._on_free()
        return len(settled)

    async def _give_back(self, refused: list[Refused]) -> None:
        if not refused:
            return
        now_ms = self._clock.now_ms()
        why = refused[-1].why
        structlog.get_logger().warning("runs.start_refused", count=len(refused), why=why, again_ms=self._again_ms)
        self._health.warnings["starts"] = f"commands cannot be started now: {why}"
        claims = [(report.run_id, report.fence) for report in refused]
        await self._store.unclaim(claims, now_ms + self._again_ms, now_ms, why)
        self._again_ms = min(self._again_ms * 2, _AGAIN_MS_MAX)
        self._pool.settle(attempt_id(*claim) for claim in claims)


def _started_row(report: Started, runner: str) -> StartedAttempt:
    return StartedAttempt(
        run_id=report.run_id,
        fence=report.fence,
        pid=report.pid,
        pid_start=report.pid_start,
        runner=runner,
        started_ms=report.started_ms,
    )
