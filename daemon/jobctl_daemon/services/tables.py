"""The live crontabs: each file that cron would run is one transaction of jobs that follow it.

A look compares stat(2) of every table with that of what was taken over. What has changed is read when it is whole; what
cannot be read, or is refused, leaves its jobs as they are; a line that makes no job is refused alone. A file that is
removed takes its jobs with it; a folder that is gone, or is another one than before, does so when a reload says that it
is meant.
"""

import asyncio
from collections.abc import Awaitable, Callable, Mapping, Sequence
from functools import partial
from typing import Final

import structlog

from jobctl.clock import Clock
from jobctl.drafts import Circumstances
from jobctl.errors import Conflict, JobctlError, Unavailable
from jobctl_daemon.asides import Asides
from jobctl_daemon.decide.meant import Meant
from jobctl_daemon.decide.tables import GONE_MS, QUIET_MS, Kind, believed
from jobctl_daemon.files import FileState
from jobctl_daemon.health import Health
from jobctl_daemon.loop import Pass
from jobctl_daemon.marks import Mark
from jobctl_daemon.rows import CRONTABS_LIVE
from jobctl_daemon.services.declaring import declared_jobs
from jobctl_daemon.services.taking import Taking
from jobctl_daemon.store import Store
from jobctl_daemon.tables.folders import Folders
from jobctl_daemon.tables.places import Table, TablePlaces
from jobctl_daemon.tables.reading import read_table, written_ms
from jobctl_daemon.tables.scan import Found, Look, look_everywhere
from jobctl_daemon.tables.state import KIND, State, about_all
from jobctl_daemon.wake import Wake

LIVE: Final = CRONTABS_LIVE
#: So long a file system may take for one look, and for one file.
ANSWER_S: Final = 2.0
#: So long a start waits for all of it.
_BEGIN_S: Final = 20.0
#: What could not be taken over is tried again after so long.
_AGAIN_MS: Final = 5_000
#: The first look, and that of a takeover, wait so long for files that are being written.
_SETTLE_MS: Final = 5_000
_BELIEVE: Final = "if that is meant, reload the daemon (kill -HUP)"


class Tables:
    """A service, and what the API asks about crontabs. `changed` is called when jobs have changed."""

    name = "crontabs"
    pace_ms = 100

    def __init__(
        self,
        store: Store,
        clock: Clock,
        health: Health,
        places: TablePlaces,
        here: Callable[[], Circumstances],
        changed: Callable[[], None],
    ) -> None:
        self._store = store
        self._clock = clock
        self._health = health
        self._places = places
        self.taking = Taking(store, clock, here, changed, self._lives)
        self._asides = Asides()
        self._folders = Folders(store)
        self._lock = asyncio.Lock()
        self._states: dict[str, State] = {}
        self._taken_over = False
        self._known = False
        self._meant = Meant()
        self._silent: set[str] = set()
        """Folders in which a table did not answer at this look."""
        self._since_ms: int | None = None
        self.wanted = "auto"
        """auto, on or off: `crontabs` of jobd.toml."""
        self.wake = Wake()
        self.aimed: Callable[[Sequence[str], Sequence[str]], None] = _nowhere
        """Called with the folders and files to be watched when those have changed."""
        self.followed: Callable[[], None] = lambda: None
        """Called when what is known of a table has changed."""
        self._aimed_live = False

    @property
    def live(self) -> bool:
        """Whether tables are run. A user's daemon runs its own unless it is told not to."""
        if self.wanted == "off":
            return False
        return self.wanted == "on" or self._places.only is not None or self._taken_over

    @property
    def places(self) -> TablePlaces:
        return self._places

    @property
    def spool(self) -> str:
        return self._places.spool

    @property
    def root(self) -> str:
        return self._places.root

    def owns(self, path: str) -> bool:
        """Whether a path is that of a table, or of scripts, there or not: nothing else declares jobs under it."""
        return self._places.is_followed(path)

    def standing(self, read: Mapping[str, bytes]) -> list[str]:
        """The tables with a user column whose jobs are other ones than these contents say: what was read before
        holds while a file or a line is refused, is not whole, or is just gone."""
        return [
            path
            for path, state in self._states.items()
            if state.table.kind is Kind.SYSTEM
            and state.jobs != 0
            and (state.kept or state.data is None or state.data != read.get(path))
        ]

    # ── what others ask ──────────────────────────────────────────────
    async def begin(self) -> None:
        """Before anything is due: the jobs are what the files say, as far as those can be read soon."""
        try:
            async with asyncio.timeout(_BEGIN_S), self._lock:
                await self._settled()
        except TimeoutError:
            self.wake.set()  # the service goes on with it
        except Exception as error:  # noqa: BLE001 - the service tries again; the daemon must answer meanwhile
            structlog.get_logger().exception("crontabs.failed", error=str(error))
            self.wake.set()

    async def run_once(self) -> Pass:
        async with self._lock:
            delay_ms = await self._pass()
        return Pass(next_ms=None if delay_ms is None else self._clock.now_ms() + delay_ms)

    async def load_now(self, path: str) -> None:
        """Reads this table without waiting whether it is whole; what is gone goes. Raises why that cannot be."""
        async with self._lock:
            table = self._places.table(path)
            if table is None or not self.live:
                raise Conflict(f"{path} is no crontab that this daemon runs", "see `crontabs` in jobd.toml")
            await self._remember()
            state = self._state(table)
            reading = await self._asides.ask(path, partial(read_table, table), ANSWER_S)
            if reading.mark:
                await self.taking.take(state, reading, self._since_ms)
            else:
                await self._remove(state)
            self._publish()
            self.wake.set()  # what was seen of it before is past
            if reading.mark and state.trouble is not None:
                raise Conflict(f"{path}: {state.trouble}", "mend that; it is looked at again by itself")

    async def set_live(self, on: bool, since_ms: int | None) -> None:
        """Takes all tables over, counting from an instant, or lets all go; their history stays."""
        async with self._lock:
            await self._store.set_meta({LIVE: "1" if on else "0"})
            self._known, self._since_ms = False, since_ms
            try:
                await self._settled()
            finally:
                self._since_ms = None
        self.wake.set()

    def on_reload(self, told: Callable[[Table], None]) -> None:
        """Who is told of tables that are read again, because they have changed."""
        self.taking.reloaded = told

    def reload(self) -> None:
        """Every table is read again, and a folder is believed to be what it is now."""
        self._meant.say()
        for state in self._states.values():
            state.taken = None
        self.wake.set()

    # ── a look at everything ─────────────────────────────────────────
    async def _settled(self) -> None:
        """Files that are being written set no event, so it looks again and again, for a while."""
        until_ms = self._clock.boot_ms() + _SETTLE_MS
        while True:
            delay_ms = await self._pass()
            if delay_ms is None or self._clock.boot_ms() + delay_ms > until_ms:
                return
            await asyncio.sleep(delay_ms / 1000)  # noqa: TID251 - see above

    async def _pass(self) -> int | None:
        """In how many ms to look again; None: when something changes."""
        await self._remember()
        self._aim()
        if not self.live:
            await self._let_go()
            return None
        self._silent.clear()
        meant = self._meant.begin()
        found = await look_everywhere(self._places, self._asides, ANSWER_S)
        self._meant.found(found.identities, meant=meant)
        delays = [_AGAIN_MS] if found.silent else []
        going = [(state, ms) for state in self._states.values() if (ms := self._goes_in(state, found)) is not None]
        leaving = {state.table.path: ms for state, ms in going}
        for look in found.looks.values():
            for table, seen in look.tables.values():
                delays.append(await self._considered(self._state(table), seen, leaving))
        delays += [ms or await self._tried(state, self._remove(state)) for state, ms in going]
        await self._folders.note(found.whole(self._places, self._states))
        self._meant.keep({self._looked_at(path) for path in self._states if path not in found.paths})
        self._publish(found)
        return min((delay for delay in delays if delay), default=None)

    def _aim(self) -> None:
        if self.live != self._aimed_live:
            self._aimed_live = self.live
            self.aimed(*(self._places.folders, self._places.files) if self.live else ((), ()))

    async def _remember(self) -> None:
        """What the store knows of tables: once, and after a change of it."""
        if self._known:
            return
        meta = await self._store.meta()
        self._taken_over = meta.get(LIVE) == "1"
        self._folders.recall(meta)
        for path in await self._store.declared_paths():
            table = self._places.table(path)
            if table is not None:
                await self._count(self._state(table))
        self._known = True

    def _state(self, table: Table) -> State:
        return self._states.setdefault(table.path, State(table))

    async def _count(self, state: State) -> None:
        """Of a table that has not been read yet: what it owns from before."""
        jobs = await declared_jobs(self._store, state.table.path)
        state.jobs = len(jobs)
        state.owner_uid = jobs[0].owner_uid if jobs else state.owner_uid

    def _lives(self) -> None:
        """A pass over much is long, and gets on."""
        self._health.begin(self._health.register(self.name))

    # ── one table ────────────────────────────────────────────────────
    async def _considered(self, state: State, seen: Mark, leaving: Mapping[str, int]) -> int:
        """0: its jobs follow it; else in how many ms to look again. `leaving`: tables that go, and in how many ms."""
        state.gone = False
        boot_ms = self._clock.boot_ms()
        if seen == state.taken and (state.again_ms is None or boot_ms < state.again_ms):
            state.waiting, state.trouble = None, state.refused
            return 0 if state.again_ms is None else state.again_ms - boot_ms
        if state.waiting != seen:
            state.waiting, state.since_ms = seen, boot_ms
        path, folder = state.table.path, self._places.holder(state.table.path)
        if folder in self._silent:
            state.trouble = f"the file system of {folder} does not answer"
            return _AGAIN_MS
        try:
            reading = await self._asides.ask(path, partial(read_table, state.table), ANSWER_S)
        except Unavailable as error:
            state.trouble = error.message
            self._silent.add(folder)  # the others of it would take as long
            return _AGAIN_MS
        if reading.mark != seen:
            state.waiting, state.since_ms = reading.mark, boot_ms
            return QUIET_MS
        age_ms = self._clock.now_ms() - written_ms(seen)
        delay_ms = believed(reading.data, state.data, age_ms, boot_ms - state.since_ms)
        return delay_ms or await self._tried(state, self.taking.take(state, reading, self._since_ms, leaving))

    async def _tried(self, state: State, doing: Awaitable[int]) -> int:
        try:
            return await doing
        except JobctlError as error:
            state.trouble = f"{error.message} ({error.hint})" if error.hint else error.message
            return _AGAIN_MS

    def _goes_in(self, state: State, found: Found) -> int | None:
        """In how many ms a table that was there and is not is taken for removed; None: it is there, or stays."""
        path = state.table.path
        folder, key = self._places.holder(path), self._looked_at(path)
        look = found.looks.get(key)
        if look is None:
            state.trouble = found.silent[key]
            return None
        if path in look.tables:
            return None
        if key not in self._meant and (why := self._lost(folder, look)) is not None:
            state.trouble = why
            return None
        boot_ms = self._clock.boot_ms()
        if not state.gone:
            state.gone, state.since_ms = True, boot_ms
        return max(0, state.since_ms + GONE_MS - boot_ms)

    def _lost(self, folder: str, look: Look) -> str | None:
        """Why what is missing in a folder was not removed there; None: the folder is the one that it was."""
        if not look.there:
            return f"the folder {folder} is not there: {_BELIEVE}"
        if look.identity is None:
            return f"{folder}: {look.why}"
        if self._folders.is_other(folder, look.identity):
            return f"it is gone, and {folder} is another folder than before: {_BELIEVE}"
        return None

    def _looked_at(self, path: str) -> str:
        """By what a look knows the place of a table: its folder, or the file itself where that stands alone."""
        return path if path in self._places.files else self._places.holder(path)

    async def _remove(self, state: State) -> int:
        await self.taking.remove(state)
        self._states.pop(state.table.path, None)
        return 0

    async def _let_go(self) -> None:
        for state in list(self._states.values()):
            await self._remove(state)
        self._publish()

    # ── what is told ─────────────────────────────────────────────────
    def _publish(self, found: Found | None = None) -> None:
        told = {path: state.told() for path, state in self._states.items()}
        for look in found.looks.values() if found is not None else ():
            for path, why in look.passed_over.items():
                told[path] = FileState(path=path, kind=KIND, owner_uid=0, problems=(about_all(why),))
        others = {path: state for path, state in self._health.tables.items() if state.kind != KIND}
        was = {path: state for path, state in self._health.tables.items() if state.kind == KIND}
        self._health.tables = {**others, **told}
        if was != told:
            self.followed()


def _nowhere(folders: Sequence[str], files: Sequence[str]) -> None:
    """Nobody watches."""
