"""What the application hands to the API: everything a verb may use, and nothing it has to look for."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal, Protocol

import msgspec

from jobctl.clock import Clock
from jobctl.model import Fact
from jobctl.paths import Places
from jobctl_daemon.api.overviews import Overviews
from jobctl_daemon.api.room import Rooms
from jobctl_daemon.auditlog import AuditLog
from jobctl_daemon.execution.logs import LogFiles
from jobctl_daemon.fair_queue import FairQueue
from jobctl_daemon.files import FileState
from jobctl_daemon.journal import Said
from jobctl_daemon.services.jobfiles import JobFiles
from jobctl_daemon.store import Store

StopMode = Literal["cancel", "kill"]


class Execution(Protocol):
    """The part of execution that the API asks."""

    async def stop(self, run_id: int, fence: int, mode: StopMode, grace_ms: int) -> str | None:
        """Asks the runner that holds the attempt to stop it: TERM and after the grace KILL, or KILL now.

        A text says why that has to wait: the runner does not answer.

        Returns when the request is on its way, not when the command is gone; an attempt nobody holds is no error.
        """
        ...

    async def look(self) -> None:
        """Asks the runners for a sign of life; returns soon, also when one gives none."""
        ...

    def held(self) -> set[str]:
        """The names of the attempts that runners hold, ended and not yet recorded ones as well."""
        ...

    def runners(self) -> list[dict[str, Any]]:
        """One object each: instance, pid, version, protocol, running, kill_by, draining, silent_s."""
        ...


class ServiceBeat(Fact, frozen=True):
    """How a background service is doing."""

    beats: int
    last_s: float
    """Seconds since its last pass ended."""
    error: str | None
    stalled: str | None = None
    """What it has not done for too long."""


class Lag(Fact, frozen=True):
    """How late things were since the daemon began, in ms."""

    count: int
    p50_ms: float | None
    p99_ms: float | None
    max_ms: float | None


class ClockStep(Fact, frozen=True):
    """The wall clock was set, at a moment of the new time; all in ms."""

    at_ms: int
    from_ms: int
    to_ms: int


class Downtime(Fact, frozen=True):
    """No daemon ran before this one; all in ms."""

    from_ms: int
    to_ms: int
    clean: bool
    """The daemon before was stopped at `from_ms`; else that was its last sign of life."""


class ClockReport(Fact, frozen=True):
    """How the host's wall clock is."""

    synchronised: bool | None = None
    """None: the host does not say."""
    generation: int = 0
    """How often it was set back."""
    last_step: ClockStep | None = None
    last_down: Downtime | None = None


class HealthReport(Fact, frozen=True):
    """The daemon's own view of itself, for status and the health routes."""

    stopping: bool
    unready: str | None
    """Why it cannot take work now; None: it can."""
    services: dict[str, ServiceBeat]
    start_lag: Lag
    """Start minus due of the runs."""
    loop_lag: Lag
    """Turns of the loop: how long what came to it had to wait, at most."""
    warnings: list[str]
    returns_after_reboot: bool
    returns_after_reboot_why: str
    clock: ClockReport = ClockReport()
    tables: tuple[FileState, ...] = ()
    """The files that declare jobs, by path."""
    polling: Mapping[str, str] = msgspec.field(default_factory=dict)
    """What is followed by looking only, and why the kernel does not tell of its changes: crontabs, jobs."""


class Health(Protocol):
    """The part of the application that knows how its services are."""

    def snapshot(self) -> HealthReport: ...

    async def standbys(self) -> list[int]:
        """The processes that wait for this daemon's end to take over."""
        ...

    async def tried(self) -> str | None:
        """Writes and reads for once, in at most two seconds: why that does not work, or None."""
        ...

    def beat(self, name: str, error: str | None) -> None:
        """A part of the API has done something, or could not."""
        ...


class Tables(Protocol):
    """The crontabs that this daemon runs as they stand: services/tables."""

    @property
    def live(self) -> bool:
        """Whether it runs them now; a user's daemon does unless jobd.toml says no."""
        ...

    @property
    def spool(self) -> str:
        """The folder of the users' own tables: a file for each, with the user's name."""
        ...

    @property
    def root(self) -> str:
        """The folder in which the host's etc and var are."""
        ...

    @property
    def wanted(self) -> str:
        """What jobd.toml says: auto, on or off."""
        ...

    def owns(self, path: str) -> bool:
        """Whether a path is that of a table, there or not."""
        ...

    async def set_live(self, on: bool, since_ms: int | None) -> None:
        """Takes all tables over, new jobs counting from an instant, or lets all go; their history stays."""
        ...

    async def load_now(self, path: str) -> None:
        """Reads this table now; its jobs are as it says when this returns. Raises `JobctlError` when that cannot be."""
        ...


@dataclass(slots=True)
class HostFacts:
    """What was found out about the host and the user at the start."""

    timezone: str
    timezone_from: str
    tzdata: str
    """The release of the zone data by which times are calculated; a later one when the host gets it."""
    hostname: str
    user: str
    """The name of the user whom the daemon runs as; the uid where it has none."""
    uid: int
    login_path: str
    """PATH for commands, unless the job says otherwise."""
    others_path: str | None = None
    """That of commands that run as another user than the daemon's own; None: the same."""


@dataclass(slots=True)
class Settings:
    """The settings that the API shows or obeys."""

    slots: int
    """Changes with a reload."""
    connections: int = 256
    of_one_user: int = 64
    """Connections of one uid that is neither root nor the daemon's own."""
    admin_group: str = "jobctl"
    """Its members operate the daemon; changes with a reload."""
    host_root: str = "/"
    """Where the lists of cron are looked for."""
    owner_jobs: int = 1_000_000
    owner_runs: int = 100_000
    """Jobs of one owner, and runs of one that have not started; both change with a reload."""


@dataclass(frozen=True, slots=True)
class Services:
    """What the verbs work with."""

    store: Store
    clock: Clock
    places: Places
    settings: Settings
    host: HostFacts
    execution: Execution
    logs: LogFiles
    health: Health
    stop: Callable[[], None]
    """Begins the stopping sequence; returns at once."""
    changed: Callable[[], None]
    """Called after a write that may move what is due."""
    epoch: int
    pid: int
    started_ms: int
    """Wall time at which the daemon became ready, and below the same on the clock that never steps."""
    started_boot_ms: int
    audit: AuditLog
    """Cron's lines in the system's log."""
    tables: Tables | None = None
    """None: this daemon runs no crontabs."""
    jobfiles: JobFiles | None = None
    """None: this daemon reads no files of jobs."""
    journal: Callable[[], Sequence[Said]] = tuple
    """The last lines of the daemon's log, oldest first."""
    rooms: Rooms = field(init=False)
    overviews: Overviews = field(init=False)
    bulk: FairQueue = field(default_factory=FairQueue)
    """Whole files are checked one at a time, and accounts take turns."""

    def __post_init__(self) -> None:
        object.__setattr__(self, "rooms", Rooms(self.store, self.clock, self.settings))
        object.__setattr__(self, "overviews", Overviews(self.store, self.clock))
