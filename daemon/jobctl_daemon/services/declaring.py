"""What a file declares becomes the jobs it owns: new ones are made, changed ones edited, those that are gone removed.

An entry that did not change is not touched: it keeps its job, its history and its place in time. A changed one counts
from now.
"""

import asyncio
from collections.abc import Callable, Container, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Final

import msgspec

from jobctl.errors import Conflict
from jobctl_daemon.decide.declared import Matching, Wanted, becomes, match, unchanged, upstream_first
from jobctl_daemon.decide.edit import edit
from jobctl_daemon.decide.said import LetsGo, holds_all
from jobctl_daemon.rows import Caller, Declaration, DeclaredJob, DueJob, Edit, LedgerRow, NewDeclared
from jobctl_daemon.schedules import expandable
from jobctl_daemon.services.resuming import counted_from_its_rows
from jobctl_daemon.store import Store

__all__ = ["Declared", "Wanted", "declare"]

#: A job may become due between the look and the write.
_TRIES: Final = 16
_PAGE: Final = 500
#: More would keep others waiting for the writer: what is larger is written in several transactions, of so many each,
#: which take some tens of milliseconds.
PIECE: Final = 500
_AT_ONCE: Final = {"adopted": 1_000, "removed": 150, "moved": 2_000, "edits": 50, "created": 150}


@dataclass(frozen=True, slots=True)
class Declared:
    """The names of the jobs of a file, by what became of them."""

    created: tuple[str, ...] = ()
    changed: tuple[str, ...] = ()
    removed: tuple[str, ...] = ()
    unchanged: tuple[str, ...] = ()
    kept: tuple[str, ...] = ()
    """They are declared no more, and stay."""

    @property
    def jobs(self) -> int:
        """How many the file owns now."""
        return len(self.created) + len(self.changed) + len(self.unchanged) + len(self.kept)

    def then(self, later: "Declared") -> "Declared":
        """What became of them in two goes."""
        created, changed = dict.fromkeys(self.created + later.created), dict.fromkeys(self.changed + later.changed)
        left = tuple(name for name in later.unchanged if name not in created and name not in changed)
        return Declared(tuple(created), tuple(changed), self.removed + later.removed, left, later.kept)


@dataclass(frozen=True, slots=True)
class _Change:
    """An entry that differs from its job."""

    job: DeclaredJob
    cursor: DueJob
    asked: Sequence[LedgerRow]
    entry: Wanted


async def declare(
    store: Store,
    owner: Caller,
    path: str,
    wanted: Sequence[Wanted],
    now_ms: int,
    *,
    prune: bool = True,
    dry_run: bool = False,
    since_ms: int | None = None,
    of_others: bool = True,
    spare: Callable[[Matching], Container[int]] | None = None,
    adopt: Sequence[str] = (),
    lets_go: LetsGo = holds_all,
    whole: bool = False,
    step: Callable[[], None] = lambda: None,
) -> Declared:
    """Makes the jobs that `path` owns what it declares, in one transaction (up to `PIECE` changes; `whole`: always).

    `prune=False` leaves jobs that it declares no more, `spare` tells the ids of those that stay. `since_ms`: new jobs
    count from there, not from now. `Conflict` when another job has a name that was given, `InvalidInput` when a changed
    time has passed; then nothing is changed.
    `of_others=False` leaves jobs of other owners alone: who asks names the path. `adopt` names jobs of the owner that
    are the file's from now on: made by hand, or of a file that `lets_go` of the name. `step` is called whenever a part
    is done.
    """
    seen = None if of_others else owner
    for _ in range(_TRIES):
        adopted = [await adoptable(store, owner, name, lets_go) for name in adopt]
        jobs = [*await declared_jobs(store, path, seen), *adopted]
        matching, differing = await asyncio.to_thread(_compared, jobs, wanted, owner.uid)
        staying: Container[int] = {job.job_id for job in matching.gone} if not prune else ()
        if prune and spare is not None and matching.gone:
            staying = await asyncio.to_thread(spare, matching)
        kept = tuple(job.spec.name for job in matching.gone if job.job_id in staying)
        matching = replace(matching, gone=tuple(job for job in matching.gone if job.job_id not in staying))
        step()
        changes = [await _looked_up(store, job, entry, now_ms) for job, entry in differing]
        step()
        decided = await asyncio.to_thread(_decided, path, matching, changes, now_ms, since_ms)
        taken = tuple((job.job_id, job.rev, job.spec.declared) for job in adopted)
        decided = msgspec.structs.replace(decided, adopted=taken)
        told = replace(_told(matching, decided), kept=kept)
        if dry_run:
            return told
        names: list[str] = []
        try:
            for piece in _pieces(decided, whole=whole):
                step()
                names += await store.declare(owner, piece, now_ms)
        except Conflict:
            again = [await adoptable(store, owner, name, lets_go) for name in adopt]
            if await _stands(store, path, jobs, seen, again):
                raise
            continue
        return replace(told, created=tuple(names))
    raise Conflict(f"the jobs of {path} are changed by others all the time", "it is read again")


async def adoptable(store: Store, owner: Caller, name: str, lets_go: LetsGo) -> DeclaredJob:
    """A job of the owner's that was made by hand, or by a file that lets it go; `Conflict` when another one owns it."""
    own = msgspec.structs.replace(owner, all_owners=False)
    job = await store.job(own, name)
    if job.declared is not None and not lets_go(job.declared, name):
        raise Conflict(f"{job.declared} declares {name}", "remove it there first")
    spec, cursor = await store.spec(own, job.id), await store.cursor(own, job.id)
    return DeclaredJob(job_id=job.id, owner_uid=owner.uid, owner_name=owner.name, rev=job.rev, spec=spec, cursor=cursor)


async def declared_jobs(store: Store, path: str, owner: Caller | None = None) -> list[DeclaredJob]:
    """All jobs that a file owns, or those of one owner, which is a uid with its name."""
    jobs: list[DeclaredJob] = []
    last = 0
    while page := await store.declared(path, last, _PAGE):
        jobs += [job for job in page if owner is None or (job.owner_uid, job.owner_name) == (owner.uid, owner.name)]
        last = page[-1].job_id
    return jobs


def _compared(
    jobs: Sequence[DeclaredJob], wanted: Sequence[Wanted], owner_uid: int
) -> tuple[Matching, list[tuple[DeclaredJob, Wanted]]]:
    """Which job is which entry, and the pairs that differ."""
    found = match(jobs, wanted, owner_uid)
    differing = [pair for pair in found.pairs if _differs(*pair)]
    return found, differing


def _differs(job: DeclaredJob, entry: Wanted) -> bool:
    return not unchanged(job.spec, becomes(job, entry)) or job.cursor.unreadable is not None


async def _looked_up(store: Store, job: DeclaredJob, entry: Wanted, now_ms: int) -> _Change:
    everybody = Caller(uid=job.owner_uid, name="", all_owners=True)
    cursor = await counted_from_its_rows(store, job.cursor, now_ms)
    asked = await store.left_out(everybody, job.job_id, now_ms) if cursor.skips_after(now_ms) else []
    return _Change(job, cursor, asked, entry)


def _decided(
    path: str, matching: Matching, changes: Sequence[_Change], now_ms: int, since_ms: int | None
) -> Declaration:
    edited = {change.job.job_id for change in changes}
    return Declaration(
        path=path,
        created=tuple(_new(entry, path, now_ms, since_ms) for entry in upstream_first(matching.new)),
        edits=tuple(_edit(change, now_ms) for change in changes),
        removed=tuple(job.job_id for job in matching.gone),
        moved=tuple(
            (job.job_id, entry.definition.spec.source)
            for job, entry in matching.pairs
            if job.job_id not in edited and job.spec.source != entry.definition.spec.source
        ),
        awaiting=tuple(
            (entry.definition.spec.name, entry.after)
            for entry in (*matching.new, *(change.entry for change in changes))
            if entry.after is not None
        ),
    )


def _new(entry: Wanted, path: str, now_ms: int, since_ms: int | None) -> NewDeclared:
    definition = entry.definition
    spec = msgspec.structs.replace(definition.spec, declared=path)
    if since_ms is None or since_ms >= now_ms or spec.schedule.at_ms is not None:
        return NewDeclared(spec=spec, next_ms=definition.next_ms, handled_ms=now_ms, named=definition.named)
    schedule = expandable(spec.schedule)
    following = schedule.next_after(since_ms) if schedule is not None else None
    next_ms = following.at_ms if following is not None else None
    return NewDeclared(spec=spec, next_ms=next_ms, handled_ms=since_ms, named=definition.named)


def _edit(change: _Change, now_ms: int) -> Edit:
    old, new = change.job.spec, becomes(change.job, change.entry)
    was, will_be = expandable(old.schedule), expandable(new.schedule)
    decided = edit(change.cursor, old, new, change.job.rev, was, will_be, now_ms, change.asked)
    return msgspec.structs.replace(decided, source=new.source)


def _told(matching: Matching, decided: Declaration) -> Declared:
    edited = {change.job_id for change in decided.edits}
    return Declared(
        created=tuple(new.spec.name for new in decided.created),
        changed=tuple(change.name for change in decided.edits),
        removed=tuple(job.spec.name for job in matching.gone),
        unchanged=tuple(job.spec.name for job, _ in matching.pairs if job.job_id not in edited),
    )


def _pieces(decided: Declaration, *, whole: bool) -> Iterator[Declaration]:
    """The whole, or, where it is large, removals first, which leave their names to others, and new jobs last."""
    parts = (decided.adopted, decided.removed, decided.moved, decided.edits, decided.created)
    waits = {name for name, _ in decided.awaiting}
    if whole or sum(len(part) for part in parts) <= PIECE:
        if any(parts):
            yield decided
        return
    empty = Declaration(path=decided.path, awaiting=decided.awaiting)
    plain = tuple(change for change in decided.edits if change.name not in waits)
    later = tuple(change for change in decided.edits if change.name in waits)
    ordered: tuple[tuple[str, tuple[object, ...]], ...] = (
        ("adopted", decided.adopted),
        ("removed", decided.removed),
        ("moved", decided.moved),
        ("edits", plain),
        ("created", decided.created),
        ("edits", later),
    )
    for field, part in ordered:
        most = _AT_ONCE[field]
        for at in range(0, len(part), most):
            yield msgspec.structs.replace(empty, **{field: part[at : at + most]})


async def _stands(
    store: Store, path: str, jobs: Sequence[DeclaredJob], seen: Caller | None, adopted: Sequence[DeclaredJob]
) -> bool:
    """Whether what a decision was made from is still so: then the conflict is with something else."""
    again = [*await declared_jobs(store, path, seen), *adopted]
    return [(job.job_id, job.rev, job.cursor.revision) for job in again] == [
        (job.job_id, job.rev, job.cursor.revision) for job in jobs
    ]
