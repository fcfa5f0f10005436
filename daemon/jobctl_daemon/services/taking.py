"""One table is taken over: its jobs become what it says, and what of it was refused is kept to be told."""

import asyncio
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import replace
from typing import Final

import structlog

from jobctl.clock import Clock
from jobctl.drafts import Circumstances
from jobctl.errors import Conflict
from jobctl_daemon.decide.declared import Matching, inherited, key_of
from jobctl_daemon.decide.tables import Kind, spared
from jobctl_daemon.files import Problem
from jobctl_daemon.rows import Caller, DeclaredJob
from jobctl_daemon.services.declaring import Declared, declare, declared_jobs
from jobctl_daemon.store import Store
from jobctl_daemon.tables.drafting import Content, content_of
from jobctl_daemon.tables.places import Table
from jobctl_daemon.tables.reading import Reading
from jobctl_daemon.tables.state import State

#: What is refused may be right by itself after a while: its user is made, its file system is there again.
_REFUSED_MS: Final = 60_000
_NONE: Final[Mapping[str, int]] = {}


class Taking:
    """`changed` is called when jobs have changed, `lives` whenever a part of something long is done."""

    def __init__(
        self,
        store: Store,
        clock: Clock,
        here: Callable[[], Circumstances],
        changed: Callable[[], None],
        lives: Callable[[], None],
    ) -> None:
        self._store = store
        self._clock = clock
        self._here = here
        self._changed = changed
        self._lives = lives
        self._leaving: Mapping[str, int] = _NONE
        self._heirlooms_by_key: dict[str, list[DeclaredJob]] = {}
        self.reloaded: Callable[[Table], None] = _nobody
        """Called when a table that was known is another one."""
        self.owner_jobs = 1_000_000
        """How many jobs an owner may have (jobd.toml); root's files are root's to write."""

    async def take(
        self, state: State, reading: Reading, since_ms: int | None, leaving: Mapping[str, int] = _NONE
    ) -> int:
        """0, or in how many ms to read it again. What is refused, and what raises, leaves its jobs as they are.

        `since_ms`: new jobs count from there, not from now. `leaving`: tables that are gone, and in how many ms they
        are believed to be: lines of theirs that stand here keep their jobs.
        """
        _hand_over(state, reading)
        state.taken, state.waiting = reading.mark, None
        state.again_ms = self._clock.boot_ms() + _REFUSED_MS
        if reading.data is None:
            if state.refused != reading.refused:
                structlog.get_logger().warning("crontab.refused", path=state.table.path, why=reading.refused)
            state.refused = state.trouble = reading.refused
            return _REFUSED_MS
        try:
            wait_ms = await self._follow(state, reading.data, since_ms, leaving)
        except BaseException:
            state.taken = None
            raise
        if wait_ms:
            state.taken, state.waiting = None, reading.mark
            return wait_ms
        if state.table.kind is Kind.SYSTEM and state.problems:  # a user may be made after the file, by a package
            return _REFUSED_MS
        state.again_ms = None
        return 0

    async def remove(self, state: State) -> None:
        """The table is gone, and so are its jobs; their history stays."""
        declared = await declare(
            self._store, _owner(state), state.table.path, (), self._clock.now_ms(), step=self._lives
        )
        self._tell("removed", state, declared)

    async def _follow(self, state: State, data: bytes, since_ms: int | None, leaving: Mapping[str, int]) -> int:
        now_ms = self._clock.now_ms()
        here = replace(self._here(), now_ms=now_ms, caller_uid=state.owner_uid)
        content = await asyncio.to_thread(content_of, state.table, data, here)
        self._lives()
        heirlooms = await self._heirlooms(state, content, leaving)
        wait_ms = max((leaving[str(job.spec.declared)] for job in heirlooms), default=0)
        if wait_ms:
            return wait_ms
        before = state.problems
        await self._must_fit(state, len(content.wanted), now_ms)
        owner = _owner(state)
        adopt = [job.spec.name for job in heirlooms if (job.owner_uid, job.owner_name) == (owner.uid, owner.name)]
        declared = await self._declare(state, content, now_ms, since_ms, adopt, leaving)
        self._taken(heirlooms)
        if state.data is not None and data != state.data:
            self.reloaded(state.table)
        if data != state.data or declared.created or declared.changed or declared.removed:
            state.loaded_ms = now_ms
        state.jobs, state.data, state.trouble, state.refused = declared.jobs, data, None, None
        self._tell("loaded", state, declared, news=bool(adopt) or state.problems != before)
        return 0

    async def _heirlooms(self, state: State, content: Content, leaving: Mapping[str, int]) -> list[DeclaredJob]:
        """Jobs of tables that are gone, of lines that stand here now and have no job here: a table was renamed."""
        if not leaving:
            self._leaving, self._heirlooms_by_key = _NONE, {}
            return []
        if leaving is not self._leaving:  # of another look: read once for all tables of this one
            self._leaving, self._heirlooms_by_key = leaving, {}
            for path in leaving:
                for job in await declared_jobs(self._store, path):
                    self._heirlooms_by_key.setdefault(key_of(job.spec), []).append(job)
        there = await declared_jobs(self._store, state.table.path)
        return inherited(content.wanted, there, self._heirlooms_by_key)

    def _taken(self, heirlooms: Sequence[DeclaredJob]) -> None:
        """Nobody else gets them."""
        for job in heirlooms:
            self._heirlooms_by_key[key_of(job.spec)].remove(job)

    async def _must_fit(self, state: State, wanted: int, now_ms: int) -> None:
        more = wanted - (state.jobs or 0)
        if more <= 0 or state.table.kind is not Kind.USER:
            return
        owner = _owner(state)
        if (await self._store.counts(owner, now_ms)).jobs + more > self.owner_jobs:
            raise Conflict(
                f"{owner.name} may have {self.owner_jobs} jobs, and no more",
                "take lines out, or remove jobs; `owner_jobs` is set in jobd.toml",
            )

    async def _declare(
        self,
        state: State,
        content: Content,
        now_ms: int,
        since_ms: int | None,
        adopt: Sequence[str],
        gone: Collection[str],
    ) -> Declared:
        kept: dict[int, str] = {}

        def sparing(matching: Matching) -> set[int]:
            found = spared(matching, content.broken)
            names = {job.job_id: job.spec.name for job in matching.gone}
            kept.clear()
            for job_id, line in found.items():
                kept[line.line] = ", ".join(filter(None, [kept.get(line.line), names[job_id]]))
            return set(found)

        path = state.table.path
        declared = await declare(
            self._store,
            _owner(state),
            path,
            content.wanted,
            now_ms,
            spare=sparing,
            since_ms=since_ms,
            adopt=adopt,
            lets_go=lambda path, _: path in gone,
            step=self._lives,
        )
        state.problems = tuple(_with_kept(one, kept) for one in content.problems)
        state.kept = bool(kept)
        return declared

    def _tell(self, what: str, state: State, declared: Declared, *, news: bool = False) -> None:
        changes = {"created": declared.created, "changed": declared.changed, "removed": declared.removed}
        if any(changes.values()):
            self._changed()
        elif not news:
            return
        counts = {name: len(names) for name, names in changes.items()}
        structlog.get_logger().info(
            f"crontab.{what}", path=state.table.path, jobs=declared.jobs, refused=len(state.problems), **counts
        )


def _nobody(_: Table) -> None:
    return


def _hand_over(state: State, reading: Reading) -> None:
    """What is known of a table is its owner's until it is read for another one, who then sees nothing of that."""
    known = state.data is not None or bool(state.jobs)
    if state.owner_uid == reading.owner_uid or (known and reading.data is None):
        return
    state.owner_uid, state.problems, state.loaded_ms = reading.owner_uid, (), None


def _owner(state: State) -> Caller:
    return Caller(uid=state.owner_uid, name=state.table.user or "root")


def _with_kept(problem: Problem, kept: dict[int, str]) -> Problem:
    name = kept.get(problem.line or 0)
    reason = problem.reason if name is None else f"{problem.reason} (its job goes on as it was: {name})"
    return Problem(line=problem.line, text=problem.text, reason=reason, column=problem.column)
