"""What status tells of this daemon: its host, its runners, its health. The API's protocols, filled in."""

import os
from typing import Any

from jobctl.clock import Clock
from jobctl_daemon.api.context import ClockReport, ClockStep, Downtime, HealthReport, ServiceBeat, StartLag, StopMode
from jobctl_daemon.decide.adoption import attempt_id
from jobctl_daemon.execution import told
from jobctl_daemon.execution.pool import RunnerPool
from jobctl_daemon.health import Health
from jobctl_daemon.services.clock import Timekeeper
from jobctl_daemon.synchronised import synchronised


class ExecutionDesk:
    """What the API may ask of execution."""

    def __init__(self, pool: RunnerPool) -> None:
        self._pool = pool

    async def stop(self, run_id: int, fence: int, mode: StopMode, grace_ms: int) -> None:
        self._pool.stop(attempt_id(run_id, fence), mode, grace_ms)

    async def look(self) -> None:
        await self._pool.look()

    def runners(self) -> list[dict[str, Any]]:
        return told.rows(self._pool)


class HealthDesk:
    """What the API may know of the daemon's health."""

    def __init__(self, clock: Clock, health: Health, pool: RunnerPool, state_dir: str) -> None:
        self._clock = clock
        self._health = health
        self._pool = pool
        self._returns = returns_after_reboot(state_dir)
        self.stopping = False
        self.time: Timekeeper | None = None
        """None until the store is open."""

    def snapshot(self) -> HealthReport:
        failing = [f"{name} fails: {beat.error}" for name, beat in self._health.services.items() if beat.error]
        stalled = [f"the service {name} is stalled" for name in self._health.stalled()]
        silent = told.troubles(self._pool)
        unstartable = told.without_runner(self._pool)
        return HealthReport(
            stopping=self.stopping,
            unready=next(iter([*failing, *stalled]), unstartable),
            services=self._services(),
            start_lag=self._start_lag(),
            warnings=[*self._health.warnings.values(), *failing, *stalled, *silent],
            returns_after_reboot=self._returns[0],
            returns_after_reboot_why=self._returns[1],
            clock=self._clock_report(),
        )

    def _clock_report(self) -> ClockReport:
        if self.time is None:
            return ClockReport(synchronised=synchronised())
        step, down = self.time.last_step, self.time.last_down
        return ClockReport(
            synchronised=synchronised(),
            generation=self.time.generation,
            last_step=None if step is None else ClockStep(at_ms=step.to_ms, from_ms=step.from_ms, to_ms=step.to_ms),
            last_down=None if down is None else Downtime(from_ms=down.from_ms, to_ms=down.to_ms, clean=down.clean),
        )

    def _services(self) -> dict[str, ServiceBeat]:
        now_ms = self._clock.boot_ms()
        return {
            name: ServiceBeat(
                beats=beat.beats,
                last_s=0.0 if beat.ended_ms is None else (now_ms - beat.ended_ms) / 1000,
                error=beat.error,
            )
            for name, beat in self._health.services.items()
        }

    def _start_lag(self) -> StartLag:
        lag = self._health.start_lag
        if not lag.count:
            return StartLag(count=0, p50_ms=None, p99_ms=None, max_ms=None)
        return StartLag(count=lag.count, p50_ms=lag.quantile_ms(0.5), p99_ms=lag.quantile_ms(0.99), max_ms=lag.max_ms)


def returns_after_reboot(state_dir: str) -> tuple[bool, str]:
    """Whether the daemon comes back by itself, and why (not): what the installer wrote down, "yes|no" TAB why."""
    try:
        with open(os.path.join(state_dir, "returns-after-reboot"), encoding="utf-8") as file:
            answer, _, why = file.readline().strip().partition("\t")
    except (OSError, UnicodeDecodeError):
        if "JOBCTL_HOME" in os.environ:
            return False, "a trial in JOBCTL_HOME, started by hand"
        return False, "nothing was set up to start it again; ./install.sh does that"
    return answer == "yes", why
