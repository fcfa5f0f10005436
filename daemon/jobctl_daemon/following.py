"""The files that jobs follow: what reads them, and what watches them. Composed here, driven by the application."""

import os
from collections.abc import Callable, Sequence
from contextlib import suppress
from functools import partial

from jobctl.clock import Clock
from jobctl.drafts import Circumstances
from jobctl.paths import Places
from jobctl_daemon.api.context import HostFacts
from jobctl_daemon.api.definitions import user_exists
from jobctl_daemon.health import Health
from jobctl_daemon.kept import Make
from jobctl_daemon.loop import Service
from jobctl_daemon.rows import Caller
from jobctl_daemon.services.jobfiles import JobFiles
from jobctl_daemon.services.periodic import PeriodicJobs
from jobctl_daemon.services.tables import Tables
from jobctl_daemon.settings import Settings
from jobctl_daemon.store import Store
from jobctl_daemon.tables.places import table_places
from jobctl_daemon.watching import Watch


class Following:
    """Everything of this daemon that follows files. `changed` is called when jobs have changed."""

    def __init__(
        self,
        store: Store,
        clock: Clock,
        health: Health,
        places: Places,
        host: HostFacts,
        settings: Settings,
        changed: Callable[[], None],
    ) -> None:
        self._health = health
        self._clock = clock
        self._host = host
        tables = table_places(places, settings.host_root, host.user, system=host.uid == 0)
        self.tables = Tables(store, clock, health, tables, self._here, changed)
        self._crontabs = Watch(self._tables_changed, partial(self._tell, "crontabs"))
        self.tables.aimed = self._aim
        self.periodic = PeriodicJobs(store, clock, health, tables, self._here, changed, self.tables)
        self.tables.followed = self.periodic.wake.set
        owner = Caller(uid=host.uid, name=host.user)
        self.jobfiles = JobFiles(store, clock, health, places.jobs_dir, owner, self._here, changed)
        self._jobs = Watch(self.jobfiles.wake.set, partial(self._tell, "jobs"))
        self._jobs.aim([places.jobs_dir])
        for name, watch in self._watches.items():
            watch.looked = partial(self._well, name)

    @property
    def services(self) -> list[Service]:
        return [self.tables, self.jobfiles, *([self.periodic] if self._host.uid == 0 else [])]

    @property
    def watches(self) -> dict[str, Make]:
        """What is to run as long as the daemon does, by name."""
        return {name: watch.run for name, watch in self._watches.items()}

    @property
    def _watches(self) -> dict[str, Watch]:
        return {"crontabs watch": self._crontabs, "jobs.d watch": self._jobs}

    def _well(self, name: str) -> None:
        """A watch that had died looks again."""
        beat = self._health.services.get(name)
        if beat is not None and beat.error is not None:
            self._health.end(beat)

    async def begin(self) -> None:
        """Before anything is due: jobs are what the files say."""
        if self._host.uid != 0 and self.tables.live:
            with suppress(OSError):  # without it what is around it would be watched, and there the database is written
                os.makedirs(self.tables.spool, mode=0o700, exist_ok=True)
        await self.tables.begin()
        await self.jobfiles.begin()

    def apply(self, settings: Settings) -> None:
        """Settings that change with a reload. `host_root` does not: it says which files are meant."""
        self.tables.wanted = settings.crontabs
        self.tables.taking.owner_jobs = settings.owner_jobs
        self.tables.wake.set()

    def reload(self) -> None:
        """All files are read again."""
        self.tables.reload()
        self.jobfiles.reload()
        self.periodic.reload()

    def _aim(self, folders: Sequence[str], files: Sequence[str]) -> None:
        """The tables are live from now on, or are not any more; so are the scripts beside them."""
        if folders and self._host.uid == 0:
            more = self.periodic.watched
            folders, files = tuple(dict.fromkeys((*folders, *more[0]))), tuple(dict.fromkeys((*files, *more[1])))
        self._crontabs.aim(folders, files)
        self.periodic.wake.set()

    def _tables_changed(self) -> None:
        self.tables.wake.set()
        self.periodic.wake.set()

    def _here(self) -> Circumstances:
        host = self._host
        return Circumstances(
            now_ms=self._clock.now_ms(),
            host_tz=host.timezone,
            host_tz_known=not host.timezone_from.startswith("default"),
            daemon_user=host.user,
            caller_uid=host.uid,
            system=host.uid == 0,
            path=host.login_path,
            user_exists=user_exists,
        )

    def _tell(self, what: str, why: str | None) -> None:
        """Why changes of files are found by looking only; None: the kernel tells of them."""
        if why is None:
            self._health.polling.pop(what, None)
        else:
            self._health.polling[what] = why
