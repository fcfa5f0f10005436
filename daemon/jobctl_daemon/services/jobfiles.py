"""The declared jobs of jobs.d: each file is one transaction of jobs that follow it.

A look compares stat(2) of every file with that of what was taken over. What has changed is read when it is whole; what
cannot be read, is not trusted or has a mistake leaves its jobs as they are. All are read before any is taken over: a
job follows its name to the file that declares it now. A file that is removed takes its jobs with
it; a folder that is gone, or is another one than before, does so when it is said that it is meant. An empty file has no
jobs.
"""

import asyncio
import os
from collections.abc import Callable, Collection, Mapping, Sequence
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
from jobctl_daemon.decide.declared import Matching
from jobctl_daemon.decide.meant import GONE, Meant
from jobctl_daemon.decide.said import Names, Said
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
    fresh: bool = False
    """That content is still to be taken over."""
    parsed: JobFile | None = None
    """It, until that is tried."""
    names: Names | None = None
    """Which it declares; None: it is not known, or something is wrong with the file itself."""
    again: bool = False
    """What is wrong with it may be mended elsewhere."""
    stuck: bool = False
    """Nothing is wrong with it: the store did not take it."""
    lending: bool = False
    """It has jobs that it does not declare any more, until the file that does has taken them."""
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
        self._said = Said()
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
            self._done = _Done()
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
        gone = dict.fromkeys(self._states.keys() - look.files.keys(), b"")
        read_now = {path: await self._content(path) for path in look.files}
        plans = {path: Foreseen(path, None, (found,)) for path, found in read_now.items() if isinstance(found, Problem)}
        data = {**gone, **{path: found for path, found in read_now.items() if isinstance(found, bytes)}}
        files = {path: await asyncio.to_thread(read, path, of_file) for path, of_file in data.items()}
        names = {path: _names_in(file) for path, file in files.items()}
        self._said = Said({path: await self._relied_on(path, data[path], names) for path in data}, data.keys())
        promised: set[str] = set()
        left = sorted(data)
        while left:  # what one file makes another may come after
            for path in left:
                file = files.pop(path, None)
                if file is None:  # what was found to be wrong is noted in it
                    file = await asyncio.to_thread(read, path, data[path])
                plans[path] = await self._foreseen(path, file, promised)
            done = [path for path in left if not plans[path].problems]
            for path in done:
                promised |= self._said.declared[path] or frozenset()
            left = [path for path in left if path not in done] if done else []
        return _without_those_that_move([plans[path] for path in (*sorted(look.files), *sorted(gone))])

    async def _content(self, path: str) -> bytes | Problem:
        try:
            reading = await self._read(path)
        except JobctlError as error:
            return _whole(str(error))
        return reading.data if reading.data is not None else _whole(str(reading.refused))

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
        delays = [await self._consider(self._state(path), seen) for path, seen in sorted(look.files.items())]
        await self._take_over(look)
        delays += [await self._missed(state, look) for state in list(self._states.values())]
        await self._take_again(look)
        if any(self._states[path].again or self._states[path].lending for path in look.files):
            delays.append(_AGAIN_MS)
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

    # ── all files ────────────────────────────────────────────────────
    async def _take_over(self, look: Look) -> None:
        """All that were read, which is known of each before any is taken over: a name may have moved."""
        there = [self._states[path] for path in sorted(look.files)]
        fresh = [state for state in there if state.fresh]
        for state in fresh:
            state.parsed = await asyncio.to_thread(read, state.path, state.data or b"")
            state.names = _names_in(state.parsed)
        wanting = {state.path: state.names for state in there if state.fresh or state.again}
        for state in fresh:
            state.names = await self._relied_on(state.path, state.data or b"", wanting)
        for state in fresh:
            await self._follow(state, look)

    async def _take_again(self, look: Look) -> None:
        """What stood in their way may have gone; what nobody has taken goes then."""
        there = [self._states[path] for path in sorted(look.files)]
        left = [state for state in there if state.again]
        while left:
            for state in left:
                await self._follow(state, look)
            still = [state for state in left if state.again]
            left = still if len(still) < len(left) else []
        for state in [state for state in there if state.lending]:
            await self._follow(state, look, last=True)

    def _say(self, look: Look, *, last: bool) -> None:
        """What the files say as far as they are read. `last`: who could not take a job by now does not get it."""
        gone: dict[str, Names | None] = dict.fromkeys(self._states.keys() - look.files.keys(), frozenset())
        states = {path: self._states[path] for path in look.files if path in self._states}
        names = {path: state.names for path, state in states.items()}
        wanting = [path for path, one in states.items() if one.stuck or (not last and (one.fresh or one.again))]
        self._said = Said({**names, **gone}, wanting)

    async def _relied_on(self, path: str, data: bytes, declared: Mapping[str, Names | None]) -> Names | None:
        """What one of these files declares; None where it is wrong by itself. Its definitions are looked at only where
        it would let a job go to another one, as that takes time."""
        names = declared[path]
        others = {name for other, of_other in declared.items() if other != path for name in of_other or ()}
        if names is None or not others:
            return names
        held = {job.spec.name for job in await declared_jobs(self._store, path, self.owner)}
        if not (held - names) & others:
            return names
        return await asyncio.to_thread(_names_if_right, path, data, self._own_here())

    # ── one file ────────────────────────────────────────────────────
    async def _consider(self, state: _State, seen: Mark) -> int:
        """0: its jobs follow it, or it is refused; else in how many ms to look again."""
        state.gone = False
        if seen == state.taken:
            state.waiting = None
            return 0
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
        if not delay_ms:
            await self._take(state, reading)
        return delay_ms

    async def _read(self, path: str) -> Reading:
        return await self._asides.ask(path, partial(read_file, path, self._trust), _ANSWER_S)

    async def _take(self, state: _State, reading: Reading) -> None:
        """It is read: its jobs are to become what it says, all of them or none."""
        state.taken, state.waiting = reading.mark, None
        state.again = state.lending = state.stuck = False
        state.names = None
        if state.loaded_ms is None:
            state.jobs = len(await declared_jobs(self._store, state.path, self.owner))
        if reading.data is None:
            state.fresh = False
            self._refuse(state, (_whole(_kept(str(reading.refused))),))
            return
        state.data, state.fresh = reading.data, True

    async def _follow(self, state: _State, look: Look, *, last: bool = False) -> None:
        file, state.parsed = state.parsed, None
        if file is None:  # what was found to be wrong is noted in it
            file = await asyncio.to_thread(read, state.path, state.data or b"")
        self._say(look, last=last)
        try:
            found = None if file.problems else await self._prepared(state.path, file)
            if found is None or found.wrong:
                of_others = [one.field in _OF_OTHERS for _, one in found.wrong] if found is not None else []
                state.fresh, state.stuck, state.again = False, False, any(of_others)
                state.names = state.names if of_others and all(of_others) else None
                self._refuse(state, _problems(file, found))
                return
            declared = await declare(
                self._store,
                self.owner,
                state.path,
                found.wanted,
                self._clock.now_ms(),
                adopt=found.adopted,
                lets_go=self._said.lets_go,
                spare=partial(self._lent, state.path),
                whole=True,
            )
        except JobctlError as error:
            state.fresh, state.again, state.stuck = False, True, True
            self._refuse(state, (_whole(_kept(str(error))),))
            return
        state.jobs, state.loaded_ms = declared.jobs, self._clock.now_ms()
        state.problems, state.notes = (), found.notes
        state.names, state.lending = frozenset(job.name for job in file.jobs), bool(declared.kept)
        state.fresh = state.again = state.stuck = False
        self._tell(state.path, declared, found.adopted)

    def _lent(self, path: str, matching: Matching) -> set[int]:
        """Jobs that another file declares now: they stay until that has taken them."""
        return {job.job_id for job in matching.gone if self._said.is_wanted(path, job.spec.name)}

    def _own_here(self) -> Circumstances:
        return replace(self._here(), now_ms=self._clock.now_ms(), caller_uid=self.owner.uid)

    async def _prepared(self, path: str, file: JobFile, promised: Collection[str] = ()) -> Prepared:
        return await prepared(
            self._store, self.owner, path, file.jobs, self._own_here(),
            adopt=self._adopt, lets_go=self._said.lets_go, promised=promised,
            moves=partial(self._said.is_wanted, path),
        )  # fmt: skip

    async def _foreseen(self, path: str, file: JobFile, promised: Collection[str]) -> Foreseen:
        try:
            found = None if file.problems else await self._prepared(path, file, promised)
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
            done = self._done
            before = done.declared.get(path)
            done.declared[path] = declared if before is None else before.then(declared)
            done.adopted[path] = (*done.adopted.get(path, ()), *adopted)
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
#: Some job.
_ANY: Final = 0


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


def _names_in(file: JobFile) -> Names | None:
    return None if file.problems else frozenset(job.name for job in file.jobs)


def _names_if_right(path: str, data: bytes, here: Circumstances) -> Names | None:
    """Each definition is looked at, as if the jobs were there after which others come."""
    file = read(path, data)
    file.examine(lambda job: replace(here, upstream=(_ANY, job.after)) if job.after is not None else here)
    return _names_in(file)


def _without_those_that_move(plans: list[Foreseen]) -> list[Foreseen]:
    """A job that goes along to another file is told there alone."""
    to = {name: one.path for one in plans if one.prepared is not None for name in one.prepared.adopted}
    return [
        replace(one, prepared=replace(plan, existing=tuple(
            job for job in plan.existing if to.get(job.spec.name, one.path) == one.path)))
        if (plan := one.prepared) is not None else one
        for one in plans
    ]  # fmt: skip


def _whole(reason: str) -> Problem:
    """About the file as a whole."""
    return Problem(line=None, text="", reason=reason)


def _kept(reason: str) -> str:
    return f"{reason}; its jobs stay as they are"


def _written_ms(seen: Mark) -> int:
    """When the file was last written to, through a link as well."""
    return max(seen[7::9], default=0) // 1_000_000
