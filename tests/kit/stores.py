"""Stores for tests: every backend behind one name, and a rig that brings jobs and runs to where a test begins."""

import itertools
import sqlite3
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path
from typing import Any

import msgspec

from jobctl.model import Event, Execution, Job, JobSpec, Policies, Replayed, Run, ScheduleSpec
from jobctl.states import After, FailureClass, Misfire, Overlap, RunState, SkipReason, Trigger
from jobctl_daemon.decide import admission, edit
from jobctl_daemon.rows import (
    Admission,
    Admitted,
    Caller,
    Claim,
    DeadFilter,
    DueJob,
    Edit,
    Expansion,
    Finish,
    Keep,
    LedgerRow,
    NewRun,
    Pause,
    Replay,
    Request,
    RunFilter,
    StartedAttempt,
    Verdict,
)
from jobctl_daemon.schedules import schedule_of
from jobctl_daemon.services import resuming
from jobctl_daemon.store import Store
from jobctl_daemon.store.sqlite import SqliteStore
from kit.invariants import invariants

#: Every backend that must pass tests/contract: a name, and how to make one in an empty folder.
BACKENDS: dict[str, Callable[[Path], Store]] = {
    "sqlite": lambda folder: SqliteStore(folder / "jobctl.db", counted_uids()),
}

T0 = 1_800_000_000_000
MINUTE = 60_000
DAY = 86_400_000
ADA = Caller(uid=1000, name="ada")
BOB = Caller(uid=1001, name="bob")
ROOT = Caller(uid=0, name="root", all_owners=True)
NODE = "node-1"
BOOT = "boot-1"


def counted_uids() -> Callable[[], str]:
    """Uids that are the same in every run of a test."""
    numbers = itertools.count(0xABCD_0000_0000_0001)
    return lambda: f"{next(numbers):016x}"


def spec(
    name: str = "backup",
    *,
    cron: str | None = "* * * * *",
    at_ms: int | None = None,
    on_boot: bool = False,
    on_start: bool = False,
    overlap: Overlap = Overlap.ALLOW,
    paused: bool = False,
    hidden: bool = False,
    tags: Sequence[str] = (),
    source: str = "api",
    late_after_ms: int = 10_000,
    shell: str = "true",
    after: int | None = None,
    after_on: After = After.SUCCESS,
    queue: str = "default",
    priority: int = 0,
    **policies: Any,
) -> JobSpec:
    """A checked definition; a minutely job unless it says otherwise. `after` is the id of its upstream job."""
    timed = None if at_ms is not None or on_boot or on_start or after is not None else cron
    schedule = ScheduleSpec(
        timezone="UTC",
        cron=timed,
        at_ms=at_ms,
        after_job=after,
        after_on=after_on,
        on_boot=on_boot,
        on_start=on_start,
        words="every minute",
    )
    rules = {"misfire": Misfire.ONCE, "late_after_ms": late_after_ms, "tags": list(tags)} | policies
    return JobSpec(
        name=name,
        schedule=schedule,
        execution=Execution(shell=shell, env={"A": "b"}),
        policies=Policies(overlap=overlap, **rules),
        queue=queue,
        priority=priority,
        source=source,
        paused=paused,
        hidden=hidden,
    )


def request(key: str = "key-1", verb: str = "create", body: str = "body") -> Request:
    return Request(key=key, verb=verb, body_hash=body)


def new_run(slot_ms: int, **changes: Any) -> NewRun:
    facts = {"key": f"s:{slot_ms}", "due_ms": slot_ms, "start_by_ms": None, "trigger": Trigger.SCHEDULE} | changes
    return NewRun(slot_ms=slot_ms, **facts)


def skip_row(job_id: int, from_ms: int, to_ms: int, count: int = 1, **changes: Any) -> LedgerRow:
    facts = {"key": f"r:{from_ms}:{to_ms}", "run_id": None, "reason": SkipReason.MISFIRE, "detail": "missed"} | changes
    return LedgerRow(job_id=job_id, from_ms=from_ms, to_ms=to_ms, count=count, at_ms=to_ms, **facts)


def expansion(
    job: DueJob, slots: Iterable[int], *, next_ms: int | None = None, skips: Iterable[LedgerRow] = (), **changes: Any
) -> Expansion:
    """The decision that these slots run."""
    runs = tuple(new_run(slot_ms, **changes) for slot_ms in slots)
    handled_ms = max([run.slot_ms for run in runs] + [row.to_ms for row in skips], default=job.handled_ms)
    return Expansion(
        job_id=job.job_id,
        version=job.version,
        revision=job.revision,
        runs=runs,
        skips=tuple(skips),
        next_ms=next_ms,
        handled_ms=handled_ms,
    )


def ended(claim: Claim, now_ms: int, state: RunState = RunState.SUCCEEDED, **changes: Any) -> Finish:
    """The result of a claim."""
    failed = state is not RunState.SUCCEEDED
    facts: dict[str, Any] = {
        "outcome": "exit_code" if failed else "ok",
        "failure_class": FailureClass.EXIT_CODE if failed else None,
        "reason": "exit 3" if failed else None,
        "exit_code": 3 if failed else 0,
        "started_ms": now_ms,
    }
    return Finish(run_id=claim.run_id, fence=claim.fence, state=state, ended_ms=now_ms, **facts | changes)


class Rig:
    """A store whose epoch is taken, with short words for the way of a run. `now_ms` is moved by the test.

    `limits_lowered`: the test has lowered a limit under what runs, which no invariant forbids.
    """

    def __init__(self, store: Store) -> None:
        self.store = store
        self.now_ms = T0
        self.epoch = 0
        self.events: list[Event] = []
        self.limits_lowered = False

    # ── jobs and what becomes due ──────────────────────────────────────────────
    async def begin(self) -> None:
        self.store.listen(self.events.extend)
        await self.store.open()
        self.epoch = await self.store.take_epoch(NODE, self.now_ms)

    async def add(self, wanted: JobSpec | None = None, owner: Caller = ADA, next_ms: int | None = T0) -> Job:
        """A job that is due at `next_ms`."""
        return (await self.store.create_job(owner, wanted or spec(), next_ms, self.now_ms, None)).job

    async def cursor(self, job_id: int) -> DueJob:
        return await self.store.cursor(ROOT, job_id)

    async def scheduled(self, job_id: int, *slots: int, next_ms: int | None = None, **changes: Any) -> list[int]:
        """Runs of these slots, scheduled; their ids."""
        before = {run.id for run in await self.runs()}
        await self.expand(expansion(await self.cursor(job_id), slots or (self.now_ms,), next_ms=next_ms, **changes))
        return sorted({run.id for run in await self.runs()} - before)

    async def expand(self, *expansions: Expansion) -> int:
        return await self.store.expand(expansions, self.now_ms, self.epoch)

    async def ready(self, job_id: int, *slots: int, **changes: Any) -> list[int]:
        """Runs of these slots, admitted."""
        ids = await self.scheduled(job_id, *slots, **changes)
        await self.admit(*ids)
        return ids

    async def admit(self, *run_ids: int, reason: SkipReason | None = None) -> int:
        """Admitted, or skipped with a reason, whatever their policies say; how many moved."""
        admissions = [Admission(run_id=run_id, reason=reason, detail=reason and "why") for run_id in run_ids]
        return (await self.store.admit(admissions, self.now_ms)).moved

    async def look(self) -> Admitted:
        """What dispatch does with everything that is due, under the policies of the jobs, until it is settled."""
        stops: list[tuple[int, int]] = []
        moved = waiting = 0
        for _ in range(100):
            answers = admission.admit(await self.store.pending(self.now_ms, 1000), self.now_ms)
            admitted = await self.store.admit(answers, self.now_ms)
            moved, waiting = moved + admitted.moved, waiting + admitted.waiting
            stops += admitted.stops
            if admitted.waiting == sum(answer.waits for answer in answers):
                return Admitted(moved=moved, stops=tuple(stops), waiting=waiting)
        raise AssertionError("admission does not come to an end")

    async def by_hand(self, job_id: int, due_ms: int | None = None) -> int:
        """A run that somebody asks for; its id."""
        due_ms = self.now_ms if due_ms is None else due_ms
        return (await self.store.trigger(ROOT, job_id, due_ms, self.now_ms, None)).run.id

    # ── attempts ──────────────────────────────────────────────
    async def claim(self, limit: int = 100) -> list[Claim]:
        return await self.store.claim(self.now_ms, limit, NODE, BOOT)

    async def claimed(self, job_id: int, *slots: int, **changes: Any) -> list[Claim]:
        """Runs of these slots, claimed."""
        ids = await self.ready(job_id, *slots, **changes)
        claims = [claim for claim in await self.claim(1000) if claim.run_id in ids]
        assert len(claims) == len(ids), "a slot after now_ms is not due"
        return claims

    async def begun(self, claim: Claim, pid: int = 4711) -> None:
        attempt = StartedAttempt(
            run_id=claim.run_id, fence=claim.fence, pid=pid, pid_start=99, runner="a", started_ms=self.now_ms
        )
        await self.store.started([attempt])

    async def finish(self, *claims: Claim, state: RunState = RunState.SUCCEEDED, **changes: Any) -> list[Verdict]:
        return await self.store.finish([ended(claim, self.now_ms, state, **changes) for claim in claims], self.now_ms)

    async def finished(self, job_id: int, *slots: int, state: RunState = RunState.SUCCEEDED) -> list[int]:
        """Runs of these slots, all the way to history."""
        claims = await self.claimed(job_id, *slots)
        await self.finish(*claims, state=state)
        return [claim.run_id for claim in claims]

    async def retrying(self, claim: Claim, due_ms: int | None = None, **changes: Any) -> Verdict:
        """A failure that is tried again, in a minute unless it says otherwise."""
        due_ms = self.now_ms + MINUTE if due_ms is None else due_ms
        (verdict,) = await self.finish(claim, state=RunState.READY, retry_ms=due_ms, **changes)
        return verdict

    async def died(self, *claims: Claim, **changes: Any) -> list[Verdict]:
        """Failures for good of jobs that keep dead letters."""
        facts = {"fingerprint": "f00d", "error": "no space left"} | changes
        return await self.finish(*claims, state=RunState.DEAD, **facts)

    async def dead(self, job_id: int, *slots: int, **changes: Any) -> list[int]:
        """Runs of these slots, all the way to dead letters. A quarantine that comes of it is released."""
        ids = []
        for slot_ms in slots or (self.now_ms,):
            (claim,) = await self.claimed(job_id, slot_ms)
            await self.died(claim, **changes)
            ids.append(claim.run_id)
            if (await self.store.job(ROOT, str(job_id))).quarantined:
                await self.resume(job_id)
        return ids

    async def replay(self, *run_ids: int, owner: Caller = ADA, request: Request | None = None, **how: Any) -> Replayed:
        """Of these dead letters, or of all."""
        wanted = DeadFilter(ids=run_ids or None, limit=1000)
        return await self.store.replay(owner, wanted, Replay(**{"by": owner.name} | how), self.now_ms, request)

    # ── pauses and edits ──────────────────────────────────────────────
    async def pause(self, job_id: int, until_ms: int | None = None) -> Job:
        return await self.store.pause_job(ROOT, job_id, "ada", until_ms, None, self.now_ms)

    async def resume(self, job_id: int, *, catch_up: bool = False) -> bool:
        """The end of a job's own pause, and of its time on hold if nothing else holds it."""
        free = await self.store.resume_job(ROOT, job_id, catch_up, self.now_ms)
        await self.settle()
        return free

    async def hold(self, what: str, job_id: int, until_ms: int | None = None) -> None:
        """A pause of the job, of its queue or of the daemon."""
        if what == "job":
            await self.pause(job_id, until_ms)
        else:
            name = await self._queue_of(what, job_id)
            await self.store.pause_queue(name, Pause(by="root", until_ms=until_ms), self.now_ms)

    async def let_go(self, what: str, job_id: int, *, catch_up: bool = False) -> None:
        """Its end, with all that follows."""
        if what == "job":
            await self.resume(job_id, catch_up=catch_up)
        else:
            await self.store.resume_queue(await self._queue_of(what, job_id), catch_up, self.now_ms)
            await self.settle()

    async def _queue_of(self, what: str, job_id: int) -> str:
        return "" if what == "daemon" else (await self.store.job(ROOT, str(job_id))).queue

    async def settle(self) -> int:
        """Pauses whose time is over, and jobs that nothing holds any more, as the due scan does it."""
        return await resuming.settle(self.store, self.now_ms, self.epoch)

    async def edited(self, job_id: int, **changes: Any) -> Edit:
        """The decision about a changed definition; `changes` are those of its JobSpec."""
        cursor, old = await self.cursor(job_id), await self.store.spec(ROOT, job_id)
        new = msgspec.structs.replace(old, **changes)
        rev = (await self.store.job(ROOT, str(job_id))).rev
        asked = await self.store.left_out(ROOT, job_id, self.now_ms)
        was, becomes = schedule_of(old.schedule), schedule_of(new.schedule)
        return edit.edit(cursor, old, new, rev, was, becomes, self.now_ms, asked)

    async def edit(self, job_id: int, **changes: Any) -> Job:
        return await self.store.edit_job(ROOT, await self.edited(job_id, **changes), self.now_ms)

    async def policies(self, job_id: int, **changes: Any) -> Job:
        """An edit of nothing but policies."""
        rules = (await self.store.spec(ROOT, job_id)).policies
        return await self.edit(job_id, policies=msgspec.structs.replace(rules, **changes))

    # ── retention ──────────────────────────────────────────────
    async def prune(self, now_ms: int, limit: int = 100, keep: Keep | None = None) -> list[tuple[int, int]]:
        """One step of everything that retention does; (run id, fence) of the logs that go."""
        kept = keep or Keep()
        old = await self.store.aged(now_ms - kept.days * DAY, 0, limit)
        surplus = await self.store.surplus(await self.store.jobs_with_history(0, limit), kept.runs, limit)
        await self.store.forget(tuple(dict.fromkeys(old.runs + surplus.runs)))
        await self.store.prune(now_ms, limit, kept)
        return list(dict.fromkeys(old.logs + surplus.logs))

    async def prune_all(self, now_ms: int, keep: Keep | None = None, limit: int = 100) -> list[list[tuple[int, int]]]:
        """Steps until nothing more goes; the logs that went with each."""
        kept = keep or Keep()
        rounds: list[list[tuple[int, int]]] = []
        after: int | None = 0
        while after is not None:
            old = await self.store.aged(now_ms - kept.days * DAY, after, limit)
            rounds.append(list(old.logs))
            await self.store.forget(old.runs)
            after = old.after
        for job_id in await self.store.jobs_with_history(0, 1_000):
            while (surplus := await self.store.surplus([job_id], kept.runs, limit)).runs:
                rounds.append(list(surplus.logs))
                await self.store.forget(surplus.runs)
        more = True
        while more:
            more = await self.store.prune(now_ms, limit, kept)
            rounds.append([])
            assert len(rounds) < 1_000
        return rounds

    # ── looking ──────────────────────────────────────────────
    async def runs(self, **wanted: Any) -> list[Run]:
        return (await self.store.runs(ROOT, RunFilter(limit=1000, **wanted)))[0]

    async def state(self, run_id: int) -> str:
        return str((await self.store.run(ROOT, run_id)).state)

    def kinds(self, run_id: int | None = None) -> list[str]:
        """The kinds of the events so far, of one run or of all."""
        return [event.kind for event in self.events if run_id is None or event.run_id == run_id]

    async def states(self, *run_ids: int) -> list[str]:
        return [await self.state(run_id) for run_id in run_ids]

    async def rows(self, statement: str, *parameters: object) -> list[dict[str, Any]]:
        """Of the tables themselves, whose names are the same in every backend: what no answer of the store shows."""
        store = self.store
        assert isinstance(store, SqliteStore)

        def read(connection: sqlite3.Connection) -> list[dict[str, Any]]:
            cursor = connection.execute(statement, parameters)
            names = [column[0] for column in cursor.description]
            return [dict(zip(names, row, strict=True)) for row in cursor]

        return await store._read(read)

    async def row(self, run_id: int) -> dict[str, Any]:
        """The active row of a run."""
        (found,) = await self.rows("SELECT * FROM runs WHERE id = ?", run_id)
        return found

    async def check(self) -> None:
        """Everything that always holds, holds."""
        store = self.store
        assert isinstance(store, SqliteStore)
        await store._read(lambda connection: invariants(connection, limits=not self.limits_lowered))
