"""The declared jobs of jobs.d: each file is one transaction of jobs that follow it.

A look compares stat(2) of every file with that of what was taken over. What has changed is read when it is whole; what
cannot be read, is not trusted or has a mistake leaves its jobs as they are. A file that is removed takes its jobs with
it; a folder that is gone, or is another one than before, does so when it is said that it is meant. An empty file has no
jobs.
"""

import asyncio
import os
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from typing import Final

import structlog

from jobctl.clock import Clock
from jobctl.drafts import Circumstances
from jobctl.errors import JobctlError, Unavailable
from jobctl.jobfiles import JobFile, read
from jobctl.jobfiles.folder import SUFFIX
from jobctl_daemon.asides import Asides
from jobctl_daemon.decide.meant import GONE, Meant
from jobctl_daemon.decide.tables import GONE_MS, QUIET_MS, believed
from jobctl_daemon.files import FileState, Problem
from jobctl_daemon.health import Health
from jobctl_daemon.jobsdir import Look, Reading, Trust, look_into, read_file
from jobctl_daemon.loop import Pass
from jobctl_daemon.marks import Mark
from jobctl_daemon.rows import Caller
from jobctl_daemon.services.applying import Prepared, prepared
from jobctl_daemon.services.declaring import Declared, declare, declared_jobs
from jobctl_daemon.store import Store
from jobctl_daemon.wake import Wake

#: In `meta`: the folder in which no file was missed.
FOLDER: Final = "jobs.d.folder"
#: So long a file system may take for one look, and for one file.
_ANSWER_S: Final = 5.0
#: What could not be taken over because of other jobs is tried again after so long.
_AGAIN_MS: Final = 5_000
#: So long a start waits for all of it.
_BEGIN_S: Final = 20.0
#: The first look, and one that was asked for, wait so long for files that are being written.
_SETTLE_MS: Final = 5_000
#: Mistakes of one file that are kept and shown.
_TOLD_MAX: Final = 100
_KIND: Final = "jobs"
_BELIEVE: Final = "if that is meant, say so: jobctl apply"


@dataclass(slots=True)
class _State:
    """What is known of one file."""

    path: str
    taken: Mark | None = None
    """Of the content that its jobs follow, or that was refused; None: not looked at yet."""
    data: bytes | None = None
    """That content."""
    waiting: Mark | None = None
    since_ms: int = 0
    """Boot time since when `waiting` is as it is, or the file is gone."""
    gone: bool = False
    again: bool = False
    """What is wrong with it may be mended elsewhere."""
    jobs: int = 0
    loaded_ms: int | None = None
    problems: tuple[Problem, ...] = ()
    notes: tuple[tuple[str, str], ...] = ()


@dataclass(frozen=True, slots=True)
class Loaded:
    """What a look that was asked for found of one file."""

    path: str
    jobs: int
    problems: tuple[Problem, ...]
    declared: Declared | None
    """None: it was as before, or is refused."""
    notes: tuple[tuple[str, str], ...] = ()
    adopted: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Foreseen:
    """What a file would mean if it were taken over now."""

    path: str
    prepared: Prepared | None
    """None: it has mistakes."""
    problems: tuple[Problem, ...] = ()


@dataclass(slots=True)
class _Done:
    """Of one look that was asked for, by path."""

    declared: dict[str, Declared] = field(default_factory=dict)
    adopted: dict[str, tuple[str, ...]] = field(default_factory=dict)


class JobFiles:
    """A service, and what the API asks about jobs.d. `owner` owns the jobs; `changed` is called when they change."""

    name = "jobs.d"
    pace_ms = 100

    def __init__(
        self,
        store: Store,
        clock: Clock,
        health: Health,
        folder: str,
        owner: Caller,
        here: Callable[[], Circumstances],
        changed: Callable[[], None],
    ) -> None:
        self._store = store
        self._clock = clock
        self._health = health
        self._here = here
        self._changed = changed
        self._trust = Trust(owner.uid)
        self._asides = Asides()
        self._lock = asyncio.Lock()
        self._states: dict[str, _State] = {}
        self._identity: str | None = None
        self._known = False
        self._meant = Meant()
        self._adopt = False
        self._gone: frozenset[str] = frozenset()
        self._done = _Done()
        self.owner = owner
        self.folder = folder
        self.wake = Wake()

    # ── what others ask ──────────────────────────────────────────────
    def follows(self, path: str) -> bool:
        """Whether a path is that of a file of the folder, there or not: its jobs are the owner's, and no one else's."""
        return os.path.dirname(path) == self.folder and path.endswith(SUFFIX)

    async def begin(self) -> None:
        """Before anything is due: the jobs are what the files say, as far as those can be read soon."""
        try:
            async with asyncio.timeout(_BEGIN_S), self._lock:
                await self._settled()
        except TimeoutError:
            self.wake.set()  # the service goes on with it
        except Exception as error:  # noqa: BLE001 - the service tries again; the daemon must answer meanwhile
            structlog.get_logger().exception("jobs.d.failed", error=str(error))
            self.wake.set()

    async def run_once(self) -> Pass:
        async with self._lock:
            delay_ms = await self._pass()
        return Pass(next_ms=None if delay_ms is None else self._clock.now_ms() + delay_ms)

    async def load_now(self, *, adopt: bool = False) -> list[Loaded]:
        """Reads every file again, and believes the folder to be what it is; returns when that is done. `adopt`: jobs
        that were made by hand and have a name of a file are the file's."""
        async with self._lock:
            self._done = _Done()
            self._forget()
            known = set(self._states)
            self._adopt = adopt
            try:
                await self._settled()
            finally:
                self._adopt = False
            gone = [self._loaded(_State(path)) for path in known - set(self._states)]
            found = [self._loaded(state) for state in self._states.values()]
        return sorted([*found, *gone], key=lambda one: one.path)

    def _loaded(self, state: _State) -> Loaded:
        path, done = state.path, self._done
        declared, adopted = done.declared.get(path), done.adopted.get(path, ())
        return Loaded(path, state.jobs, state.problems, declared, state.notes, adopted)

    async def foresee(self, *, adopt: bool = False) -> list[Foreseen]:
        """What would come of `load_now`, for each file; those that are gone want nothing."""
        async with self._lock:
            self._adopt = adopt
            try:
                return await self._foreseen_all()
            finally:
                self._adopt = False

    async def _foreseen_all(self) -> list[Foreseen]:
        await self._remember()
        look = await self._look()
        if look.identity is None and look.there:
            return [Foreseen(self.folder, None, (_whole(look.why),))] if self._states else []
        self._gone = frozenset(self._states.keys() - look.files.keys())
        found = [await self._foreseen(path) for path in sorted(look.files)]
        gone = sorted(set(self._states) - set(look.files))
        return [*found, *[Foreseen(path, await self._prepared(path, read(path, b""))) for path in gone]]

    def reload(self) -> None:
        """The next look reads every file again, and believes the folder to be what it is."""
        self._forget()
        self.wake.set()

    def _forget(self) -> None:
        self._meant.say()
        for state in self._states.values():
            state.taken = None

    # ── a look at everything ─────────────────────────────────────────
    async def _settled(self) -> None:
        until_ms = self._clock.boot_ms() + _SETTLE_MS
        while (delay_ms := await self._pass()) is not None and self._clock.boot_ms() + delay_ms < until_ms:
            if not self._is_moving():
                return
            await asyncio.sleep(delay_ms / 1000)  # noqa: TID251 - a file that is being written sets no event

    def _is_moving(self) -> bool:
        """Whether waiting helps: a file is being written, or is just gone."""
        return any(state.waiting is not None or state.gone for state in self._states.values())

    async def _pass(self) -> int | None:
        """In how many ms to look again; None: when something changes."""
        await self._remember()
        meant = self._meant.begin()
        look = await self._look()
        self._meant.found(self._seen(look), meant=meant)
        if look.identity is None and self.folder not in self._meant:
            self._stay_without(look)
            return None if look.why != _SILENT else _AGAIN_MS
        self._tell_unnamed(look.unnamed)
        self._gone = frozenset(self._states.keys() - look.files.keys())
        delays = [await self._consider(self._state(path), seen) for path, seen in sorted(look.files.items())]
        delays += [await self._missed(state, look) for state in list(self._states.values())]
        if any(state.again for state in self._states.values()):  # what one file lets go another may take
            delays += [await self._take_again(state) for state in list(self._states.values()) if state.again]
        if not self._states.keys() - look.files.keys():
            self._meant.keep(())
            await self._note(look.identity)
        self._publish()
        return min((delay for delay in delays if delay), default=None)

    def _seen(self, look: Look) -> dict[str, str]:
        """By the folder, what may be meant: which one is there, or that none is."""
        return {self.folder: look.identity or GONE} if look.identity is not None or not look.there else {}

    def _tell_unnamed(self, names: Sequence[str]) -> None:
        if not names:
            self._health.warnings.pop("jobs.d", None)
            return
        more = f" and {len(names) - 1} more" if len(names) > 1 else ""
        self._health.warnings["jobs.d"] = (
            f"{self.folder}/{names[0]}{more}: no file whose name is not UTF-8 is read: rename it"
        )

    async def _look(self) -> Look:
        try:
            return await self._asides.ask(self.folder, partial(look_into, self.folder, self._trust), _ANSWER_S)
        except Unavailable:
            return Look(None, _SILENT)

    def _stay_without(self, look: Look) -> None:
        """Nothing goes because a folder is gone, or is not to be trusted."""
        why = f"{self.folder}: {look.why}" if look.there else f"the folder {self.folder} is not there: {_BELIEVE}"
        for state in self._states.values():
            state.gone, state.problems = False, (_whole(_kept(why)),)
        if self._states or look.there:
            self._health.warnings["jobs.d"] = f"no file is read in {self.folder}: {look.why}"
        else:
            self._health.warnings.pop("jobs.d", None)
        self._publish()

    async def _remember(self) -> None:
        """What the store knows of files: once."""
        if self._known:
            return
        self._identity = (await self._store.meta()).get(FOLDER)
        for path in await self._store.declared_paths():
            if self.follows(path):
                self._state(path)
        self._known = True

    def _state(self, path: str) -> _State:
        return self._states.setdefault(path, _State(path))

    # ── one file ────────────────────────────────────────────────────
    async def _consider(self, state: _State, seen: Mark) -> int:
        """0: its jobs follow it, or it is refused; else in how many ms to look again."""
        state.gone = False
        if seen == state.taken:
            state.waiting = None
            return _AGAIN_MS if state.again else 0
        boot_ms = self._clock.boot_ms()
        if state.waiting != seen:
            state.waiting, state.since_ms = seen, boot_ms
        try:
            reading = await self._read(state.path)
        except Unavailable as error:
            state.problems = (_whole(_kept(error.message)),)
            return _AGAIN_MS
        if reading.mark != seen:
            state.waiting, state.since_ms = reading.mark, boot_ms
            return QUIET_MS
        age_ms = self._clock.now_ms() - _written_ms(seen)
        delay_ms = believed(reading.data or b"", state.data, age_ms, boot_ms - state.since_ms)
        if delay_ms:
            return delay_ms
        return await self._take(state, reading)

    async def _read(self, path: str) -> Reading:
        return await self._asides.ask(path, partial(read_file, path, self._trust), _ANSWER_S)

    async def _take(self, state: _State, reading: Reading) -> int:
        """Its jobs become what it says, all of them or none."""
        state.taken, state.waiting, state.again = reading.mark, None, False
        if state.loaded_ms is None:
            state.jobs = len(await declared_jobs(self._store, state.path, self.owner))
        if reading.data is None:
            self._refuse(state, (_whole(_kept(str(reading.refused))),))
            return 0
        state.data = reading.data
        try:
            return await self._follow(state, reading.data)
        except BaseException:
            state.taken = None
            raise

    async def _take_again(self, state: _State) -> int:
        """What stood in its way may have gone."""
        return await self._follow(state, state.data or b"")

    async def _follow(self, state: _State, data: bytes) -> int:
        file = await asyncio.to_thread(read, state.path, data)
        try:
            found = None if file.problems else await self._prepared(state.path, file)
            if found is None or found.wrong:
                state.again = found is not None and any(one.field in _OF_OTHERS for _, one in found.wrong)
                self._refuse(state, _problems(file, found))
                return _AGAIN_MS if state.again else 0
            now_ms = self._clock.now_ms()
            declared = await declare(
                self._store,
                self.owner,
                state.path,
                found.wanted,
                now_ms,
                adopt=found.adopted,
                gone=self._gone,
                whole=True,
            )
        except JobctlError as error:
            state.again = True
            self._refuse(state, (_whole(_kept(str(error))),))
            return _AGAIN_MS
        state.jobs, state.loaded_ms = declared.jobs, self._clock.now_ms()
        state.problems, state.notes, state.again = (), found.notes, False
        self._tell(state.path, declared, found.adopted)
        return 0

    async def _prepared(self, path: str, file: JobFile) -> Prepared:
        here = replace(self._here(), now_ms=self._clock.now_ms(), caller_uid=self.owner.uid)
        return await prepared(self._store, self.owner, path, file.jobs, here, adopt=self._adopt, gone=self._gone)

    async def _foreseen(self, path: str) -> Foreseen:
        try:
            reading = await self._read(path)
            if reading.data is None:
                return Foreseen(path, None, (_whole(str(reading.refused)),))
            file = await asyncio.to_thread(read, path, reading.data)
            found = None if file.problems else await self._prepared(path, file)
        except JobctlError as error:
            return Foreseen(path, None, (_whole(str(error)),))
        if found is None or found.wrong:
            return Foreseen(path, None, _problems(file, found))
        return Foreseen(path, found)

    async def _missed(self, state: _State, look: Look) -> int:
        """A file that was there and is not: 0, or in how many ms to look again."""
        if state.path in look.files:
            return 0
        if self._identity not in (None, look.identity) and self.folder not in self._meant:
            reason = f"it is gone, and {self.folder} is another folder than before: {_BELIEVE}"
            state.problems = (_whole(_kept(reason)),)
            return 0
        boot_ms = self._clock.boot_ms()
        if not state.gone:
            state.gone, state.since_ms = True, boot_ms
        if boot_ms - state.since_ms < GONE_MS:
            return GONE_MS - (boot_ms - state.since_ms)
        try:
            declared = await declare(self._store, self.owner, state.path, (), self._clock.now_ms(), whole=True)
        except JobctlError as error:
            state.problems = (_whole(_kept(str(error))),)
            return _AGAIN_MS
        self._states.pop(state.path, None)
        self._tell(state.path, declared)
        return 0

    # ── what is told ─────────────────────────────────────────────────
    def _refuse(self, state: _State, problems: tuple[Problem, ...]) -> None:
        if problems != state.problems:
            first = problems[0]
            structlog.get_logger().warning("jobs.refused", path=state.path, mistakes=len(problems), line=first.line,
                                           error=first.reason)  # fmt: skip
        state.problems = problems

    def _tell(self, path: str, declared: Declared, adopted: tuple[str, ...] = ()) -> None:
        counts = {name: len(getattr(declared, name)) for name in ("created", "changed", "removed")}
        if any(counts.values()) or adopted:
            self._done.declared[path], self._done.adopted[path] = declared, adopted
            self._changed()
        structlog.get_logger().info("jobs.loaded", path=path, jobs=declared.jobs, **counts)

    async def _note(self, identity: str | None) -> None:
        if identity is not None and identity != self._identity and self._states:
            self._identity = identity
            await self._store.set_meta({FOLDER: identity})

    def _publish(self) -> None:
        told = {
            path: FileState(path=path, kind=_KIND, owner_uid=self.owner.uid, jobs=state.jobs, loaded_ms=state.loaded_ms,
                            problems=state.problems)
            for path, state in self._states.items()
        }  # fmt: skip
        others = {path: state for path, state in self._health.tables.items() if state.kind != _KIND}
        self._health.tables = {**others, **told}


_SILENT: Final = "its file system does not answer"
#: What may be mended in another file, or by hand.
_OF_OTHERS: Final = ("name", "schedule.after", "user")


def _problems(file: JobFile, found: Prepared | None) -> tuple[Problem, ...]:
    """With the words and places of the file."""
    jobs = file.jobs
    for number, wrong in found.wrong if found is not None else ():
        file.tell_of(jobs[number], wrong.field, wrong.reason, wrong.hint)
    every = file.problems
    told = [Problem(line=one.line, column=one.column, text=one.text, reason=_kept(one.words)) for one in every]
    more = len(told) - _TOLD_MAX
    if more > 0:
        told[_TOLD_MAX:] = [_whole(_kept(f"{more:,} more mistakes: jobctl validate {file.path} shows them"))]
    return tuple(told)


def _whole(reason: str) -> Problem:
    """About the file as a whole."""
    return Problem(line=None, text="", reason=reason)


def _kept(reason: str) -> str:
    return f"{reason}; its jobs stay as they are"


def _written_ms(seen: Mark) -> int:
    """When the file was last written to, through a link as well."""
    return max(seen[7::9], default=0) // 1_000_000
