"""The composition: builds the parts, opens the task group, and holds the one written stopping sequence.

This file alone knows which backend there is.
"""

import asyncio
import os
import signal
import socket
from collections.abc import Callable, Sequence
from dataclasses import dataclass

import structlog

from jobctl import __version__, schedule
from jobctl.clock import Clock
from jobctl.errors import InvalidInput
from jobctl.model import Event
from jobctl.paths import Places
from jobctl_daemon import loop, settings
from jobctl_daemon.api.context import HostFacts, Services
from jobctl_daemon.api.context import Settings as ApiSettings
from jobctl_daemon.api.server import Server
from jobctl_daemon.build import build_id
from jobctl_daemon.decide.letters import Here
from jobctl_daemon.execution.again import StartAgain
from jobctl_daemon.execution.identity import boot_id, boot_key, user_by_uid
from jobctl_daemon.execution.logs import LogFiles
from jobctl_daemon.execution.pool import RunnerPool
from jobctl_daemon.execution.request import Host
from jobctl_daemon.execution.starting import Runners
from jobctl_daemon.facts import ExecutionDesk, HealthDesk
from jobctl_daemon.health import Health
from jobctl_daemon.journal import set_level
from jobctl_daemon.limits import connections_possible, process_limits
from jobctl_daemon.notify import Supervisor
from jobctl_daemon.rows import Keep
from jobctl_daemon.services import once
from jobctl_daemon.services.clock import Timekeeper
from jobctl_daemon.services.collect import Collect
from jobctl_daemon.services.dispatch import Dispatch, Node
from jobctl_daemon.services.ending import Ending
from jobctl_daemon.services.materialise import Materialise
from jobctl_daemon.services.rescue import Rescue
from jobctl_daemon.services.retain import Retain
from jobctl_daemon.services.tell import Tell
from jobctl_daemon.services.zones import follow_zone_data
from jobctl_daemon.store.sqlite import SqliteStore


@dataclass(frozen=True, slots=True)
class Setup:
    """What a daemon is started with."""

    places: Places
    config_file: str
    settings: settings.Settings
    clock: Clock
    uid: int
    on_ready: Callable[[], None]


class Daemon:
    """One daemon, from start to stop."""

    def __init__(self, setup: Setup) -> None:
        self._setup = setup
        self._clock = setup.clock
        self._stop = asyncio.Event()
        self._health = Health(setup.clock)
        self._store = SqliteStore(setup.places.database)
        self._logs = LogFiles(setup.places.runs_dir)
        self._pool = RunnerPool(setup.clock, self._reported, self._runner_lost)
        self._runners = Runners(self._pool, setup.places.state_dir, build_id(), setup.settings.runners)
        self._supervisor = Supervisor.of(os.environ, os.getpid())
        self._api_settings = ApiSettings(setup.settings.slots, connections=connections_possible())
        self._desk = HealthDesk(setup.clock, self._health, self._pool, setup.places.state_dir)

    async def run(self) -> None:
        """Until TERM, INT or an asked-for stop. Commands go on."""
        await self._store.open()
        try:
            await self._compose()
            await self._begin()
            await self._serve()
        finally:
            self._pool.close()
            await self._store.close()

    # ── start ────────────────────────────────────────────────────
    async def _compose(self) -> None:
        setup, clock, store = self._setup, self._clock, self._store
        self._epoch = await store.take_epoch(socket.gethostname(), clock.now_ms())
        user = user_by_uid(setup.uid)
        host = Host(user, settings.login_path(root=setup.uid == 0))
        node = Node(socket.gethostname(), boot_id(), build_id())
        again = StartAgain(self._health, clock)
        self._time = self._desk.time = Timekeeper(store, clock, self._epoch)
        ending = Ending(store, self._logs)
        self._dispatch = Dispatch(store, clock, self._pool, self._logs, host, node, again, ending)
        self._materialise = Materialise(store, self._time, self._epoch, self._dispatch.due)
        self._collect = Collect(store, clock, self._pool, self._health, again, ending, self._dispatch.wake.set)
        self._rescue = Rescue(store, clock, self._pool, self._runners, node.boot_id, ending, self._dispatch.due)
        self._retain = Retain(store, clock, self._logs, keep_of(setup.settings), self._time.age_ms)
        self._tell = Tell(store, clock, self._health, Here(socket.gethostname(), schedule.host_zone()[0]))
        self._apply(setup.settings)
        store.listen(self._heard)
        self._server = Server(self._api(host))

    def _api(self, host: Host) -> Services:
        zone, zone_from = schedule.host_zone()
        facts = HostFacts(
            timezone=zone,
            timezone_from=zone_from,
            tzdata=schedule.tzdata_version(),
            hostname=socket.gethostname(),
            user=host.user.name,
            uid=host.user.uid,
            login_path=host.path,
        )
        return Services(
            store=self._store,
            clock=self._clock,
            places=self._setup.places,
            settings=self._api_settings,
            host=facts,
            execution=ExecutionDesk(self._pool),
            logs=self._logs,
            health=self._desk,
            stop=self._stop.set,
            changed=self._materialise.wake.set,
            epoch=self._epoch,
            pid=os.getpid(),
            started_ms=self._clock.now_ms(),
            started_boot_ms=self._clock.boot_ms(),
        )

    async def _begin(self) -> None:
        """The clock first, then adoption: what lives is known before anything new is claimed."""
        await self._time.begin()
        try:
            await self._rescue.run_once()
        except Exception as error:  # noqa: BLE001 - the service tries again; the API must answer meanwhile
            structlog.get_logger().exception("runners.failed", error=str(error))
            self._rescue.wake.set()
        await self._store.wake_waiting()
        now_ms, version = self._clock.now_ms(), schedule.tzdata_version()
        await follow_zone_data(self._store, now_ms, self._epoch, version)
        await once.expand_boot(self._store, self._clock, boot_key(), self._epoch)
        await once.expand_start(self._store, self._clock, self._epoch)
        await self._server.start()

    # ── the running daemon ───────────────────────────────────────
    async def _serve(self) -> None:
        running = asyncio.get_running_loop()
        for number in (signal.SIGTERM, signal.SIGINT):
            running.add_signal_handler(number, self._stop.set)
        running.add_signal_handler(signal.SIGHUP, self._reload)
        # A pass that failed may have dropped a claim on its way; adoption finds and settles what nobody holds.
        look = self._rescue.wake.set
        services: list[tuple[loop.Service, Callable[[], None]]] = [
            (self._materialise, _nothing),
            (self._dispatch, look),
            (self._collect, look),
            (self._rescue, _nothing),
            (self._retain, _nothing),
            (self._tell, _nothing),
        ]
        async with asyncio.TaskGroup() as group:
            tasks = [
                group.create_task(loop.drive(service, self._clock, self._health, on_failure), name=service.name)
                for service, on_failure in services
            ]
            tasks.append(group.create_task(self._watchdog(), name="watchdog"))
            self._supervisor.ready(f"{__version__}, pid {os.getpid()}")
            structlog.get_logger().info("daemon.ready", version=__version__, pid=os.getpid(), epoch=self._epoch)
            self._setup.on_ready()
            await self._stop.wait()
            await self._wind_down(tasks)

    async def _wind_down(self, tasks: Sequence[asyncio.Task[None]]) -> None:
        """No new requests, no new claims, then what the runners have reported is recorded."""
        self._desk.stopping = True
        self._supervisor.stopping()
        structlog.get_logger().info("daemon.stopping", running=len(self._pool.flights))
        await self._server.stop()
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)
        await self._collect.run_once()
        await self._time.end()
        structlog.get_logger().info("daemon.stopped", running=len(self._pool.flights))

    async def _watchdog(self) -> None:
        """Says that the daemon is alive while no service is stalled; under no supervisor there is nothing to do."""
        every_s = self._supervisor.alive_every_s
        while every_s is not None:
            if not self._health.stalled():
                self._supervisor.alive()
            await asyncio.sleep(every_s)  # noqa: TID251 - the supervisor's own rhythm

    # ── what happens ─────────────────────────────────────────────
    def _reported(self) -> None:
        self._collect.wake.set()

    def _runner_lost(self) -> None:
        if not self._stop.is_set():
            self._rescue.wake.set()

    def _heard(self, events: Sequence[Event]) -> None:
        """Every committed change: it may move what is due, or be the end of a run."""
        finished = 0
        for event in events:
            given_back = event.kind == "run.ready" and "reason" in event.data
            if event.kind in _MOVES_WHAT_IS_DUE or given_back:
                self._materialise.wake.set()
            elif event.kind in _ENDS:
                finished += 1
        self._tell.heard(events)
        if finished:
            self._retain.finished(finished)

    def _reload(self) -> None:
        """Reads jobd.toml again; a broken one changes nothing but its own error."""
        self._supervisor.reloading()
        try:
            self._apply(settings.read(self._setup.config_file))
            self._health.warnings.pop("settings", None)
            structlog.get_logger().info("daemon.reloaded", file=self._setup.config_file)
        except InvalidInput as error:
            self._health.warnings["settings"] = f"{error.message}; the settings from before hold"
            structlog.get_logger().error("daemon.reload_failed", error=error.message)
        self._supervisor.ready()
        self._materialise.wake.set()

    def _apply(self, wanted: settings.Settings) -> None:
        set_level(wanted.log_level)
        descriptors, processes = process_limits()
        self._dispatch.slots = settings.slots_possible(wanted, descriptors, processes)
        self._api_settings.slots = self._dispatch.slots
        self._dispatch.wake.set()
        self._retain.keep = keep_of(wanted)
        if self._runners.count != wanted.runners:
            self._runners.count = wanted.runners
            self._rescue.wake.set()


def _nothing() -> None:
    return None


#: After these something may be due earlier than the materialiser's alarm.
_MOVES_WHAT_IS_DUE = frozenset(
    {
        "job.created",
        "job.edited",
        "job.resumed",
        "job.paused",
        "job.deleted",
        "run.scheduled",
        "run.replayed",
        "run.retrying",
        "queue.set",
        "queue.paused",
        "queue.resumed",
        "daemon.paused",
        "daemon.resumed",
    }
)
_ENDS = frozenset(
    {"run.succeeded", "run.failed", "run.cancelled", "run.skipped", "run.superseded", "run.discarded", "run.dead"}
)


def keep_of(wanted: settings.Settings) -> Keep:
    """Retention, in the store's words."""
    return Keep(days=wanted.retention_days, runs=wanted.retention_runs, log_bytes=wanted.retention_log_bytes)
