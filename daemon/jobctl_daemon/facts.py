"""What status tells of this daemon: its host, its runners, its health. The API's protocols, filled in."""

import asyncio
import os
import sys
from typing import Any, Final

from jobctl.clock import Clock
from jobctl.errors import JobctlError
from jobctl_daemon import first, holder
from jobctl_daemon.api.context import ClockReport, ClockStep, Downtime, HealthReport, Lag, ServiceBeat, StopMode
from jobctl_daemon.decide.adoption import attempt_id
from jobctl_daemon.disk import Room
from jobctl_daemon.execution import told
from jobctl_daemon.execution.pool import RunnerPool
from jobctl_daemon.health import STALLED_MS, Health
from jobctl_daemon.health import Lag as Lags
from jobctl_daemon.kept import Errands
from jobctl_daemon.services.clock import Timekeeper
from jobctl_daemon.store import Store
from jobctl_daemon.synchronised import synchronised

#: So long a caller of `health/ready` waits; under two seconds with all that is around it.
_TRY_S: Final = 1.6
#: Where the Debian package has its programs. It brings units for users' daemons; otherwise the installer makes them.
_PACKAGE: Final = "/usr/lib/jobctl/"


class ExecutionDesk:
    """What the API may ask of execution."""

    def __init__(self, pool: RunnerPool) -> None:
        self._pool = pool

    async def stop(self, run_id: int, fence: int, mode: StopMode, grace_ms: int) -> str | None:
        attempt = attempt_id(run_id, fence)
        self._pool.stop(attempt, mode, grace_ms)
        return await told.waits_for(self._pool, attempt)

    async def look(self) -> None:
        await self._pool.look()

    def held(self) -> set[str]:
        return set(self._pool.flights)

    def runners(self) -> list[dict[str, Any]]:
        return told.rows(self._pool)


class HealthDesk:
    """What the API may know of the daemon's health."""

    def __init__(
        self, clock: Clock, health: Health, pool: RunnerPool, state_dir: str, loop_lag: Lags | None = None
    ) -> None:
        self._clock = clock
        self._health = health
        self._pool = pool
        self._lock_file = os.path.join(state_dir, "jobd.lock")
        self._loop_lag = loop_lag or Lags()
        self._errands = Errands()
        self._try: asyncio.Task[str | None] | None = None
        self._returns = returns_after_reboot(state_dir)
        self.stopping = False
        self.time: Timekeeper | None = None
        """None until the store is open."""
        self.store: Store | None = None
        """The same."""
        self.room: Room | None = None

    def stalled(self) -> dict[str, str]:
        """The services and the threads of the store → what they have not done for too long."""
        return self._health.stalled() | {
            name: f"has not answered for {waited_ms // 1000} s"
            for name, waited_ms in self._waits().items()
            if waited_ms > STALLED_MS
        }

    def beat(self, name: str, error: str | None) -> None:
        self._health.end(self._health.register(name), error)

    async def tried(self) -> str | None:
        """However many ask at once, it is one write; and while one hangs there is no second."""
        if self._try is None or self._try.done():
            self._try = self._errands.start("probe", self._probed())
        try:
            return await asyncio.wait_for(asyncio.shield(self._try), _TRY_S)
        except TimeoutError:
            waits = [f"the {name} has not answered for {ms / 1000:.0f} s" for name, ms in self._waits().items() if ms]
            return "; ".join(waits) or f"the store did not take a write within {_TRY_S:g} s"

    async def _probed(self) -> str | None:
        if self.store is None:
            return "the store is not open yet"
        try:
            await self.store.probe(self._clock.now_ms())
            await self.store.event_span()
        except JobctlError as error:
            return error.message
        except Exception as error:  # noqa: BLE001 - whatever it is, it is the answer
            return f"{type(error).__name__}: {error}"
        return None

    def _waits(self) -> dict[str, int]:
        """The threads of the store that have something to do → for how many ms nothing came of it."""
        watched = self.store.watched() if self.store is not None else {}
        boot_ms = self._clock.boot_ms()
        return {name: max(0, boot_ms - one.since_ms) for name, one in watched.items() if one.since_ms is not None}

    def snapshot(self) -> HealthReport:
        failing = [f"{name} fails: {beat.error}" for name, beat in self._health.services.items() if beat.error]
        stalled = [f"{name} {words}" for name, words in self.stalled().items()]
        trouble = self.room.look() if self.room is not None else None
        short = [] if trouble is None else [f"{trouble.message}: {trouble.hint}"]
        self._pool.ask()  # who asks for health wants to hear, the next time at least, of a runner that hangs
        silent = told.troubles(self._pool)
        unstartable = told.without_runner(self._pool)
        return HealthReport(
            stopping=self.stopping,
            unready=next(iter([*([trouble.message] if trouble else []), *failing, *stalled]), unstartable),
            services=self._services(),
            start_lag=_lag(self._health.start_lag),
            loop_lag=_lag(self._loop_lag),
            warnings=[*short, *self._health.warnings.values(), *_polled(self._health), *failing, *stalled, *silent],
            returns_after_reboot=self._returns[0],
            returns_after_reboot_why=self._returns[1],
            clock=self._clock_report(),
            polling=dict(self._health.polling),
            tables=tuple(state for _, state in sorted(self._health.tables.items())),
        )

    async def standbys(self) -> list[int]:
        """Off the loop: the kernel has all processors come to rest before it lists its locks, which takes 10 ms."""
        return await asyncio.to_thread(holder.waiting, self._lock_file)

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
        now_ms, stalled = self._clock.boot_ms(), self.stalled()
        beats = {
            name: ServiceBeat(
                beats=beat.beats,
                last_s=0.0 if beat.ended_ms is None else (now_ms - beat.ended_ms) / 1000,
                error=beat.error,
                stalled=stalled.get(name),
            )
            for name, beat in self._health.services.items()
        }
        for name, one in (self.store.watched() if self.store is not None else {}).items():
            last_s = max(0, now_ms - one.last_ms) / 1000
            beats[name] = ServiceBeat(beats=one.beats, last_s=last_s, error=None, stalled=stalled.get(name))
        return beats


def _polled(health: Health) -> list[str]:
    """Warnings about what is followed by looking only."""
    return [f"{what} are followed by polling: {why}" for what, why in health.polling.items()]


def _lag(lag: Lags) -> Lag:
    if not lag.count:
        return Lag(count=0, p50_ms=None, p99_ms=None, max_ms=None)
    return Lag(count=lag.count, p50_ms=lag.quantile_ms(0.5), p99_ms=lag.quantile_ms(0.99), max_ms=lag.max_ms)


def _way_to_return() -> str:
    if not sys.prefix.startswith(_PACKAGE):
        return "./install.sh does that"
    if os.getuid() == 0:
        return "dpkg-reconfigure jobctl does that"
    return "`systemctl --user enable --now jobd` and `loginctl enable-linger` do that"


def returns_after_reboot(state_dir: str) -> tuple[bool, str]:
    """Whether the daemon comes back by itself, and why (not): what the installer wrote down, "yes|no" TAB why."""
    if first.stands_before():
        return True, "with its container, whose first process it is"
    try:
        with open(os.path.join(state_dir, "returns-after-reboot"), encoding="utf-8") as file:
            answer, _, why = file.readline().strip().partition("\t")
    except (OSError, UnicodeDecodeError):
        if "JOBCTL_HOME" in os.environ:
            return False, "a trial in JOBCTL_HOME, started by hand; `jobctl daemon start` starts it again"
        return False, f"nothing was set up to start it again; {_way_to_return()}"
    return answer == "yes", why
