"""/etc/anacrontab and cron.hourly to cron.monthly, live: what nothing else of the host runs becomes jobs of root.

Where /etc/crontab has its lines for the folders, or anacron is installed, they stay what they are (jobctl.crontabs.
periodic); there is one look at all of it, because who runs a folder is written in several files.
"""

import asyncio
from collections.abc import Callable
from dataclasses import replace
from functools import partial
from typing import Final

import structlog

from jobctl.clock import Clock
from jobctl.crontabs import CrontabLine
from jobctl.crontabs.parts import FOLDERS, queue_of
from jobctl.crontabs.periodic import ANACRONTAB
from jobctl.drafts import Circumstances
from jobctl.errors import JobctlError, Unavailable
from jobctl_daemon.asides import Asides
from jobctl_daemon.decide.meant import GONE, Meant
from jobctl_daemon.decide.tables import GONE_MS, OLD_MS, command_as_written, line_of
from jobctl_daemon.files import FileState, Problem
from jobctl_daemon.health import Health
from jobctl_daemon.loop import Pass
from jobctl_daemon.rows import Caller
from jobctl_daemon.services.declaring import declare, declared_jobs
from jobctl_daemon.services.tables import LIVE, Tables
from jobctl_daemon.store import Store
from jobctl_daemon.tables.drafting import Content
from jobctl_daemon.tables.periodic import Seen, contents, look
from jobctl_daemon.tables.places import TablePlaces, place
from jobctl_daemon.wake import Wake

_ANSWER_S: Final = 5.0
_AGAIN_MS: Final = 5_000
#: What was written just now is looked at again when it is as old as this.
_QUIET_MS: Final = OLD_MS
_BELIEVE: Final = "if that is meant, reload the daemon (kill -HUP)"
_KIND: Final = "periodic"
_ROOT: Final = Caller(uid=0, name="root")
_EVERYBODY: Final = Caller(uid=0, name="root", all_owners=True)
_PATHS: Final = (ANACRONTAB, *FOLDERS)


class PeriodicJobs:
    """A service of root's daemon. `changed` is called when jobs change."""

    name = "periodic"
    pace_ms = 100

    def __init__(
        self,
        store: Store,
        clock: Clock,
        health: Health,
        places: TablePlaces,
        here: Callable[[], Circumstances],
        changed: Callable[[], None],
        tables: Tables,
    ) -> None:
        self._store = store
        self._clock = clock
        self._health = health
        self._places = places
        self._here = here
        self._changed = changed
        self._tables = tables
        self._asides = Asides()
        self._absent: dict[str, int] = {}
        """Boot time at which something was missed first, by path on the host."""
        self._meant = Meant()
        self.wake = Wake()

    @property
    def watched(self) -> tuple[tuple[str, ...], tuple[str, ...]]:
        """The folders and files whose change may mean other jobs."""
        root = self._places.root
        folders = tuple(place(root, folder) for folder in FOLDERS)
        return (*folders, *((self._places.cron_d,) if self._places.cron_d else ())), (
            place(root, ANACRONTAB),
            *self._places.files,
        )

    def reload(self) -> None:
        """A folder that is gone is believed to be so."""
        self._meant.say()
        self.wake.set()

    async def run_once(self) -> Pass:
        if not await self._live():
            await self._let_go()
            return Pass()
        delay_ms = await self._follow()
        return Pass(next_ms=self._clock.now_ms() + delay_ms if delay_ms else None)

    async def _live(self) -> bool:
        """Asked of the store itself: a wrong no would take all jobs away."""
        wanted = self._tables.wanted
        return wanted == "on" or (wanted == "auto" and (await self._store.meta()).get(LIVE) == "1")

    async def _follow(self) -> int:
        """0: jobs are as the host says; else in how many ms to look again."""
        meant = self._meant.begin()
        try:
            seen = await self._asides.ask("the folders of scripts", partial(look, self._places), _ANSWER_S)
        except Unavailable as error:
            self._meant.found({}, meant=False)
            self._publish({path: _kept(error.message) for path in _PATHS})
            return _AGAIN_MS
        self._meant.found(dict.fromkeys(seen.absent, GONE), meant=meant)
        age_ms = self._clock.now_ms() - seen.written_ms
        if 0 <= age_ms < _QUIET_MS:  # a package is being installed, or somebody writes
            return _QUIET_MS - age_ms
        return await self._take(seen)

    async def _take(self, seen: Seen) -> int:
        here = replace(self._here(), now_ms=self._clock.now_ms(), caller_uid=_ROOT.uid)
        found, _ = await asyncio.to_thread(contents, seen, self._places.root, here, await self._standing(seen))
        problems = {path: _kept(why) for path, why in seen.unreadable.items()}
        for path in FOLDERS:
            if path not in found and path not in problems:
                problems[path] = _kept(f"who runs it is not known, because {ANACRONTAB} is not read")
        jobs: dict[str, int] = {}
        delay_ms = 0
        failed: set[str] = set()
        missed = await self._missed(seen)
        for path, content in found.items():
            if path in missed:
                problems[path], wait_ms = missed[path]
                delay_ms = min(filter(None, (delay_ms, wait_ms)), default=0)
                continue
            try:
                jobs[path] = await self._declare(path, content)
                problems[path] = tuple(content.problems)
            except JobctlError as error:
                problems[path] = _kept(error.message)
                failed.add(path)
                delay_ms = _AGAIN_MS
        self._meant.keep(failed)
        self._publish(problems, jobs)
        return delay_ms

    async def _standing(self, seen: Seen) -> list[tuple[str, CrontabLine]]:
        """What the jobs of tables run whose files say otherwise, or nothing, by now."""
        return [
            (path, CrontabLine(line_of(job.spec.source) or 0, "", None, command_as_written(job), None))
            for path in self._tables.standing(seen.data)
            for job in await declared_jobs(self._store, path)
        ]

    async def _missed(self, seen: Seen) -> dict[str, tuple[tuple[Problem, ...], int]]:
        """What has jobs and is not there: why they stay, and in how many ms it is believed (0: when it is said)."""
        self._absent = {path: since for path, since in self._absent.items() if path in seen.absent}
        left = [path for path in seen.absent if path not in self._meant]
        if not left:
            return {}
        owning = set(await self._store.declared_paths())
        missed: dict[str, tuple[tuple[Problem, ...], int]] = {}
        for path in left:
            if place(self._places.root, path) not in owning:
                continue
            boot_ms = self._clock.boot_ms()
            left_ms = self._absent.setdefault(path, boot_ms) + GONE_MS - boot_ms
            if path in FOLDERS:
                missed[path] = _kept(f"the folder is gone: {_BELIEVE}"), 0
            elif left_ms > 0:
                missed[path] = (), left_ms
        return missed

    async def _declare(self, path: str, content: Content) -> int:
        now_ms = self._clock.now_ms()
        where = place(self._places.root, path)
        if content.wanted and path in FOLDERS:
            await self._one_at_a_time(queue_of(path), now_ms)
        declared = await declare(self._store, _ROOT, where, content.wanted, now_ms)
        if declared.created or declared.changed or declared.removed:
            self._changed()
            structlog.get_logger().info(
                "periodic.loaded", path=where, jobs=declared.jobs, created=len(declared.created),
                changed=len(declared.changed), removed=len(declared.removed),
            )  # fmt: skip
        return declared.jobs

    async def _one_at_a_time(self, queue: str, now_ms: int) -> None:
        """As run-parts has it; a queue that somebody has set, or that has jobs, stays as it is."""
        if await self._store.queue(_EVERYBODY, queue) is None:
            await self._store.set_queue(queue, 1, now_ms)

    async def _let_go(self) -> None:
        """The host is not ours (any more): no job of it stays."""
        ours = {place(self._places.root, path) for path in _PATHS}
        for path in await self._store.declared_paths():
            if path in ours:
                await declare(self._store, _ROOT, path, (), self._clock.now_ms())
                self._changed()
        self._publish({})

    def _publish(self, problems: dict[str, tuple[Problem, ...]], jobs: dict[str, int] | None = None) -> None:
        """What has jobs, or what something is wrong with."""
        now_ms = self._clock.now_ms()
        told = {
            where: FileState(path=where, kind=_KIND, owner_uid=_ROOT.uid, jobs=(jobs or {}).get(path, 0),
                             loaded_ms=now_ms if jobs is not None else None, problems=problems.get(path, ()))
            for path in _PATHS
            if (problems.get(path) or (jobs or {}).get(path)) and (where := place(self._places.root, path))
        }  # fmt: skip
        others = {path: state for path, state in self._health.tables.items() if state.kind != _KIND}
        self._health.tables = {**others, **told}


def _kept(why: str) -> tuple[Problem, ...]:
    return (Problem(line=None, text="", reason=f"{why}; its jobs stay as they are"),)
