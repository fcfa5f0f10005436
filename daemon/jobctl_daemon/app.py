"""The composition: builds the parts, opens the task group, and holds the one written stopping sequence.

This file alone knows which backend there is.
"""

import asyncio
import os
import signal
import socket
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

import structlog

from jobctl import __version__, schedule
from jobctl.clock import Clock
from jobctl.errors import DaemonError, Damaged, InvalidInput
from jobctl.model import Event
from jobctl.paths import Places
from jobctl_daemon import first, loop, settings, trusted, watchdog
from jobctl_daemon.api.context import HostFacts, Services
from jobctl_daemon.api.context import Settings as ApiSettings
from jobctl_daemon.api.server import Server
from jobctl_daemon.auditlog import AuditLog
from jobctl_daemon.build import build_id
from jobctl_daemon.decide.letters import Here
from jobctl_daemon.disk import Room
from jobctl_daemon.execution.again import StartAgain
from jobctl_daemon.execution.identity import User, boot_id, boot_key, user_by_uid
from jobctl_daemon.execution.lines import SHAPES
from jobctl_daemon.execution.log_folders import logs_of
from jobctl_daemon.execution.login_env import LoginEnv
from jobctl_daemon.execution.logs import LogFiles
from jobctl_daemon.execution.losses import Losses
from jobctl_daemon.execution.mail_program import mail_program
from jobctl_daemon.execution.outgoing import Outgoing
from jobctl_daemon.execution.outlet import Outlet
from jobctl_daemon.execution.pool import RunnerPool
from jobctl_daemon.execution.request import Host
from jobctl_daemon.execution.starting import Runners
from jobctl_daemon.facts import ExecutionDesk, HealthDesk
from jobctl_daemon.following import Following
from jobctl_daemon.health import Health, Lag
from jobctl_daemon.hearing import Hearing
from jobctl_daemon.journal import recent, set_level
from jobctl_daemon.kept import Kept
from jobctl_daemon.limits import connections_possible, process_limits
from jobctl_daemon.notify import Supervisor
from jobctl_daemon.rows import Keep
from jobctl_daemon.services import echo, once
from jobctl_daemon.services.clock import Timekeeper
from jobctl_daemon.services.collect import Collect
from jobctl_daemon.services.dispatch import Dispatch, Node
from jobctl_daemon.services.echo import Echo
from jobctl_daemon.services.ending import Ending
from jobctl_daemon.services.mail import Mailer
from jobctl_daemon.services.materialise import Materialise
from jobctl_daemon.services.rescue import Rescue
from jobctl_daemon.services.retain import Retain
from jobctl_daemon.services.tell import Tell
from jobctl_daemon.services.upkeep import Upkeep
from jobctl_daemon.services.zones import Zones
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
    loop_lag: Lag | None = None
    """Of the loop it runs in, where that is measured."""


class Daemon:
    """One daemon, from start to stop."""

    def __init__(self, setup: Setup) -> None:
        self._setup = setup
        self._clock = setup.clock
        self._stop = asyncio.Event()
        self._health = Health(setup.clock)
        self._kept = Kept(setup.clock, self._health)
        self._room = Room(setup.places.state_dir, setup.places.database, setup.settings.low_disk_bytes)
        self._store = SqliteStore(setup.places.database, room=self._room)
        self._broken: Damaged | None = None
        self._logs = LogFiles(setup.places.runs_dir)
        self._pool = RunnerPool(setup.clock, self._reported, self._runner_lost)
        self._audit = AuditLog(setup.clock, path=None)
        self._outgoing = Outgoing(os.path.join(setup.places.state_dir, "mail"), self._logs)
        self._losses = Losses(setup.clock, lambda: self._rescue.wake.set())
        self._runners = Runners(self._pool, setup.places.state_dir, build_id(), setup.settings.runners)
        self._supervisor = Supervisor.of(os.environ, os.getpid())
        self._api_settings = ApiSettings(
            setup.settings.slots, connections=connections_possible(), host_root=setup.settings.host_root
        )
        self._desk = HealthDesk(setup.clock, self._health, self._pool, setup.places.state_dir, setup.loop_lag)

    async def run(self) -> None:
        """Until TERM, INT or an asked-for stop. Commands go on."""
        self._loop = asyncio.get_running_loop()
        self._store.watch(self._look_after, self._damage_found)
        await self._store.open()
        try:
            await self._compose()
            await self._begin()
            await self._serve()
            if self._broken is not None:
                raise self._broken
        finally:
            self._pool.close()
            self._audit.close()
            await self._store.close()

    # ── start ────────────────────────────────────────────────────
    async def _compose(self) -> None:
        setup, clock, store = self._setup, self._clock, self._store
        self._epoch = await store.take_epoch(socket.gethostname(), clock.now_ms())
        user = user_by_uid(setup.uid)
        await store.follow(user.uid, user.name)
        passed = self._passed(setup.settings)
        host = self._host(user, passed)
        node = Node(socket.gethostname(), boot_id(), build_id())
        again = StartAgain(self._health, clock)
        self._time = self._desk.time = Timekeeper(store, clock, self._epoch)
        self._desk.store = store
        ending = Ending(store, self._logs)
        self._dispatch = Dispatch(store, clock, self._pool, self._logs, host, node, again, ending, self._outgoing)
        self._dispatch.login_env = LoginEnv(setup.settings.host_root)
        self._facts = self._host_facts(host)
        self._zones = Zones(store, clock, self._epoch, partial(setattr, self._facts, "tzdata"))
        self._materialise = Materialise(store, self._time, self._epoch, self._dispatch.due, self._zones)
        jobs_changed = self._materialise.wake.set
        self._following = Following(store, clock, self._health, setup.places, self._facts, setup.settings, jobs_changed)
        self._following.tables.on_reload(lambda table: self._audit.reload(table.user, table.path))
        free = self._dispatch.wake.set
        self._collect = Collect(
            store, clock, self._pool, self._health, again, ending, free, self._audit, self._outgoing
        )
        self._rescue = Rescue(store, clock, self._pool, self._runners, node.boot_id, ending, self._dispatch.due)
        keep = keep_of(setup.settings)
        self._retain = Retain(store, clock, self._logs, keep, self._time.age_ms, self._writing)
        here = Here(socket.gethostname(), schedule.host_zone()[0])
        self._tell = Tell(store, clock, self._health, here)
        self._mail = Mailer(store, clock, self._health, here, user.name, self._mail_program, self._audit)
        self._echo = self._echo_of(setup.settings.echo)
        self._upkeep = Upkeep(clock, self._health, self._room, store.tend, self._wake_everybody)
        self._room.changed = self._room_changed
        self._desk.room = self._room
        for service in (self._materialise, self._dispatch, self._tell, self._mail):
            service.held = self._room.held
        if store.log_was_missing:
            self._health.warnings["missing"] = _LOG_MISSING
        self._apply(setup.settings)
        ends = self._retain.heard
        store.listen(Hearing(self._materialise.wake.set, self._heard, ends, self._wake_everybody))
        self._server = Server(self._api())

    def _mail_program(self) -> str | None:
        return mail_program(self._sendmail)

    def _echo_of(self, shape: str) -> Echo | None:
        if shape == "off" or shape not in SHAPES:
            return None
        return Echo(self._store, self._clock, self._health, self._logs, Outlet(_STANDARD_OUTPUT), SHAPES[shape])

    def _heard(self, events: Sequence[Event]) -> None:
        self._tell.heard(events)
        self._mail.heard(events)
        if self._echo is not None:
            self._echo.heard()

    def _host(self, user: User, passed: dict[str, str]) -> Host:
        """In root's daemon others have their own login PATH; one that is passed on holds for everybody."""
        path = passed.pop("PATH", "")
        others = settings.login_path(root=False) if user.uid == 0 else None
        strict, most = self._setup.settings.strict_files, _log_most(self._setup.settings, user.uid)
        return Host(user, path or settings.login_path(root=user.uid == 0), passed, path or others, strict, most)

    def _host_facts(self, host: Host) -> HostFacts:
        zone, zone_from = schedule.host_zone()
        return HostFacts(
            timezone=zone,
            timezone_from=zone_from,
            tzdata=schedule.tzdata_version(),
            hostname=socket.gethostname(),
            user=host.user.name,
            uid=host.user.uid,
            login_path=host.path,
            others_path=host.others_path,
        )

    def _api(self) -> Services:
        return Services(
            store=self._store,
            clock=self._clock,
            places=self._setup.places,
            settings=self._api_settings,
            host=self._facts,
            execution=ExecutionDesk(self._pool),
            logs=self._logs,
            health=self._desk,
            stop=self._stop.set,
            changed=self._materialise.wake.set,
            epoch=self._epoch,
            pid=os.getpid(),
            started_ms=self._clock.now_ms(),
            started_boot_ms=self._clock.boot_ms(),
            audit=self._audit,
            tables=self._following.tables,
            jobfiles=self._following.jobfiles,
            journal=recent,
        )

    async def _begin(self) -> None:
        """The clock first, then adoption: what lives is known before anything new is claimed."""
        await self._time.begin()
        await (echo.forget(self._store) if self._echo is None else self._echo.begin())
        try:
            await self._rescue.run_once()
        except Exception as error:  # noqa: BLE001 - the service tries again; the API must answer meanwhile
            structlog.get_logger().exception("runners.failed", error=str(error))
            self._rescue.wake.set()
        if self._pool.adopted:
            await asyncio.to_thread(self._outgoing.sweep, list(self._pool.flights))
        await self._store.wake_waiting()
        await self._zones.look(self._clock.now_ms())
        await self._following.begin()
        await once.expand_boot(self._store, self._clock, boot_key(), self._epoch)
        await once.expand_start(self._store, self._clock, self._epoch)
        await self._server.start()

    # ── the running daemon ───────────────────────────────────────
    async def _serve(self) -> None:
        running = asyncio.get_running_loop()
        running.set_exception_handler(_tell_of)
        for number in (signal.SIGTERM, signal.SIGINT):
            running.add_signal_handler(number, self._stop.set)
        running.add_signal_handler(signal.SIGHUP, self._reload)
        try:
            for service in self._services():
                # What failed may have dropped a claim on its way; adoption finds and settles what nobody holds.
                look = self._rescue.wake.set if service in (self._dispatch, self._collect) else _nothing
                drive = partial(loop.drive, service, self._clock, self._health, look)
                self._kept.keep(service.name, drive, look)
            for name, watch in self._following.watches.items():
                self._kept.keep(name, watch, _nothing)
            if (every_s := self._supervisor.alive_every_s) is not None:
                watches = partial(watchdog.reassure, self._supervisor, every_s, self._desk.stalled)
                self._kept.keep("watchdog", watches, _nothing)
            self._supervisor.ready(f"{__version__}, pid {os.getpid()}")
            structlog.get_logger().info("daemon.ready", version=__version__, pid=os.getpid(), epoch=self._epoch)
            self._setup.on_ready()
            await self._stop.wait()
            await self._wind_down()
        finally:
            await self._kept.end()

    def _services(self) -> list[loop.Service]:
        always: list[loop.Service] = [self._materialise, self._dispatch, self._collect, self._rescue, self._retain]
        always += [self._tell, self._mail, self._upkeep, *self._following.services]
        return always if self._echo is None else [*always, self._echo]

    async def _wind_down(self) -> None:
        """No new requests, no new claims, then what the runners have reported is recorded."""
        self._desk.stopping = True
        self._collect.parting = True
        self._supervisor.stopping()
        structlog.get_logger().info("daemon.stopping", running=len(self._pool.flights))
        await self._server.stop()
        await self._kept.end()
        try:
            if first.stands_before():
                await self._pool.interrupt()
            await self._collect.run_once()
            if self._echo is not None:
                await self._echo.part()
            await self._time.end()
        except DaemonError as error:  # what could not be recorded stays with the runners, for the next daemon
            structlog.get_logger().warning("daemon.unrecorded", error=error.message)
        structlog.get_logger().info("daemon.stopped", running=len(self._pool.flights))

    # ── what happens ─────────────────────────────────────────────
    def _writing(self) -> list[tuple[int, int]]:
        """The logs of what runs, by (run id, fence)."""
        return logs_of(self._pool.flights)

    def _room_changed(self) -> None:
        """From any thread."""
        self._loop.call_soon_threadsafe(self._look_after)

    def _look_after(self) -> None:
        self._upkeep.wake.set()

    def _damage_found(self, error: Damaged) -> None:
        """From any thread."""
        self._loop.call_soon_threadsafe(self._give_up, error)

    def _give_up(self, error: Damaged) -> None:
        """Nothing more is done with a file that cannot be trusted."""
        structlog.get_logger().critical("database.damaged", error=error.message, hint=error.hint)
        self._broken = error
        self._stop.set()

    def _reported(self) -> None:
        self._collect.wake.set()

    def _runner_lost(self) -> None:
        if not self._stop.is_set():
            self._losses.one_more()

    def _wake_everybody(self) -> None:
        self._dispatch.due()
        for service in self._services():
            service.wake.set()

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
        finally:  # a manager that waits for the end of a reload is told of it in any case
            self._supervisor.ready()
        self._zones.ask()
        self._following.reload()
        self._materialise.wake.set()
        self._retain.look()

    def _warn_of_others(self) -> None:
        places = (self._setup.config_file, self._setup.places.state_dir)
        words = trusted.warning(places, (0,)) if self._setup.uid == 0 else None
        if words is None:
            self._health.warnings.pop("trusted", None)
        else:
            self._health.warnings["trusted"] = words

    def _passed(self, wanted: settings.Settings) -> dict[str, str]:
        return settings.passed_environment(wanted, os.environ, self._setup.config_file)

    def _apply(self, wanted: settings.Settings) -> None:
        passed = self._passed(wanted)
        passed.pop("PATH", None)  # every job has the one of the time it was made
        most = _log_most(wanted, self._dispatch.host.user.uid)
        self._dispatch.host = replace(self._dispatch.host, passed=passed, strict=wanted.strict_files, log_most=most)
        self._warn_of_others()
        set_level(wanted.log_level)
        descriptors, processes = process_limits()
        self._dispatch.slots = settings.slots_possible(wanted, descriptors, processes)
        self._api_settings.slots = self._dispatch.slots
        self._api_settings.admin_group = wanted.admin_group
        self._api_settings.owner_jobs, self._api_settings.owner_runs = wanted.owner_jobs, wanted.owner_runs
        self._dispatch.wake.set()
        self._following.apply(wanted)
        self._sendmail = wanted.sendmail
        self._tell.here = self._tell.here._replace(sendmail=wanted.sendmail)
        self._mail.crontab_mail = wanted.crontab_mail
        self._audit.path = wanted.syslog_socket if settings.tells_syslog(wanted, root=self._setup.uid == 0) else None
        self._retain.keep = keep_of(wanted)
        self._room.wanted_low = wanted.low_disk_bytes
        if self._runners.count != wanted.runners:
            self._runners.count = wanted.runners
            self._rescue.wake.set()


_STANDARD_OUTPUT = 1
_LOG_MISSING = (
    "the daemon before this one died, and what it had written ahead (jobctl.db-wal) is gone: if nobody opened the "
    "database with another program, what was recorded last is missing; see `jobctl doctor --deep`"
)


def _nothing() -> None:
    return None


def _tell_of(_: asyncio.AbstractEventLoop, context: dict[str, Any]) -> None:
    """What nobody caught: of a callback, or of something that was collected."""
    error = context.get("exception")
    what = context.get("message", "")
    text = what if error is None else f"{what}: {type(error).__name__}: {error}"
    structlog.get_logger().error("loop.error", error=text, exc_info=error)


def keep_of(wanted: settings.Settings) -> Keep:
    """Retention, in the store's words."""
    return Keep(
        days=wanted.retention_days,
        runs=wanted.retention_runs,
        log_bytes=wanted.retention_log_bytes,
        adhoc=wanted.retention_adhoc_runs,
    )


def _log_most(wanted: settings.Settings, uid: int) -> int | None:
    """What one log of somebody else's may take of the budget that all share; a user's own daemon has one owner."""
    return wanted.retention_log_bytes if uid == 0 else None
