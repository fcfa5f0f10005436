"""Stores for tests: every backend behind one name, and a rig that brings jobs and runs to where a test begins."""

import itertools
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path
from typing import Any

from jobctl.model import Event, Execution, Job, JobSpec, Policies, ScheduleSpec
from jobctl.states import FailureClass, Misfire, Overlap, RunState, SkipReason, Trigger
from jobctl_daemon.rows import (
    Admission,
    Caller,
    Claim,
    DueJob,
    Expansion,
    Finish,
    LedgerRow,
    NewRun,
    Request,
    RunFilter,
    StartedAttempt,
    Verdict,
)
from jobctl_daemon.store import Store
from jobctl_daemon.store.sqlite import SqliteStore

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
) -> JobSpec:
    """A checked definition; a minutely job unless it says otherwise."""
    timed = None if at_ms is not None or on_boot or on_start else cron
    schedule = ScheduleSpec(
        timezone="UTC", cron=timed, at_ms=at_ms, on_boot=on_boot, on_start=on_start, words="every minute"
    )
    policies = Policies(overlap=overlap, misfire=Misfire.ONCE, late_after_ms=late_after_ms, tags=list(tags))
    return JobSpec(
        name=name,
        schedule=schedule,
        execution=Execution(shell=shell, env={"A": "b"}),
        policies=policies,
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
    """A store whose epoch is taken, with short words for the way of a run. `now_ms` is moved by the test."""

    def __init__(self, store: Store) -> None:
        self.store = store
        self.now_ms = T0
        self.epoch = 0
        self.events: list[Event] = []

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
        admissions = [Admission(run_id=run_id, reason=reason, detail=reason and "why") for run_id in run_ids]
        return await self.store.admit(admissions, self.now_ms)

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

    async def runs(self, **wanted: Any) -> list[Any]:
        return (await self.store.runs(ROOT, RunFilter(limit=1000, **wanted)))[0]

    async def state(self, run_id: int) -> str:
        return str((await self.store.run(ROOT, run_id)).state)

    def kinds(self, run_id: int | None = None) -> list[str]:
        """The kinds of the events so far, of one run or of all."""
        return [event.kind for event in self.events if run_id is None or event.run_id == run_id]
