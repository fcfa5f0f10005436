"""A small model of the store, in plain Python: what each call should do to jobs and runs, from the design alone.

`Model.told` hears of every call of the real store, checks its answer, and does the same to its own rows. Decisions that
services make between two calls are judged by rules of its own. What it leaves open: when a run that waits for its gate
is looked at again (never too late is a law of the machine), ids, words, and everything that is only shown.
"""

import math
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from typing import Any, Final

from jobctl.model import JobSpec, Policies, ScheduleSpec
from jobctl.states import After, FailureClass, Misfire, OnFailure, Overlap, RunState, SkipReason, Trigger
from jobctl_daemon.rows import (
    Admission,
    Amendment,
    Caller,
    Claim,
    DeadFilter,
    DueJob,
    Edit,
    Expansion,
    Finish,
    LedgerRow,
    NewRun,
    Pause,
    Pending,
    Replay,
    Request,
    Resumption,
    Unskip,
)

UNSTARTED: Final = frozenset({RunState.SCHEDULED, RunState.READY})
ACTIVE: Final = UNSTARTED | {RunState.RUNNING}
HOPELESS: Final = {64, 65, 66, 67, 68, 77, 78, 126, 127}
DEATHS_IN_A_ROW: Final = 5
#: Which ends of a run start a job that comes after it.
STARTS: Final = {
    RunState.SUCCEEDED: {After.SUCCESS, After.ANY},
    RunState.FAILED: {After.FAILURE, After.ANY},
    RunState.DEAD: {After.FAILURE, After.ANY},
    RunState.CANCELLED: {After.ANY},
}
#: Calls that change nothing that is modelled.
READS: Final = frozenset(
    {
        "open", "close", "meta", "set_meta", "take_epoch", "clock", "seen", "job", "spec", "jobs", "queues", "run",
        "runs", "attempts", "events", "counts", "daemon_pause", "running", "covered", "dead", "ledger", "left_out",
    }
)  # fmt: skip


class Refused(Exception):
    """The store must refuse this call."""


class _Whatever:
    """An answer that the model has no opinion about."""


ANY: Final = _Whatever()


@dataclass(slots=True)
class Job:
    """A job as far as it decides about runs."""

    id: int
    owner: int
    name: str
    schedule: ScheduleSpec
    policies: Policies
    queue: str
    priority: int
    created: int
    hidden: bool = False
    one_shot: bool = False
    version: int = 1
    changes: int = 0
    """Grows with every change that an editor must have seen."""
    aimed: bool = False
    """It has a cursor."""
    moves: int = 0
    """Grows with every change of the cursor."""
    next: int | None = None
    handled: int = 0
    skip_until: int | None = None
    paused: bool = False
    until: int | None = None
    suspended: bool = False
    resuming: str | None = None
    quarantined: bool = False
    deleted: bool = False
    done: bool = False
    deaths: int = 0
    spans: list[tuple[ScheduleSpec, int, int | None]] = field(default_factory=list)
    """(schedule, from when, until when) it is answerable for every instant."""

    @property
    def room(self) -> int | None:
        """How many runs may be active at once; None: any number."""
        return self.policies.limit or (None if self.policies.overlap is Overlap.ALLOW else 1)


@dataclass(slots=True)
class Run:
    """A run, from its making to its end."""

    job: int
    key: str
    slot: int
    due: int
    start_by: int | None
    version: int
    queue: str
    priority: int
    trigger: Trigger = Trigger.MANUAL
    id: int = 0
    state: RunState = RunState.SCHEDULED
    held: bool = False
    waits: int = 0
    by_hand: bool = False
    gate: bool = False
    fence: int = 0
    attempt: int = 0
    failures: int = 0
    losses: int = 0
    returns: int = 0
    replays: int = 0
    batch: int | None = None
    probe: bool = False
    stop: str | None = None
    retry_of: int | None = None
    died: int = 0
    fingerprint: str | None = None
    failure: FailureClass | None = None
    efforts: int = 0
    """Attempts since it was made or replayed."""
    started: bool = False
    """Its attempt of now has begun."""
    ran: bool = False
    """The last of its attempts that are over had begun."""

    @property
    def begun(self) -> bool:
        return self.attempt > 0 or self.replays > 0


@dataclass(slots=True)
class Queue:
    concurrency: int | None = None
    paused: bool = False
    until: int | None = None


@dataclass(frozen=True, slots=True)
class Budget:
    """What a decision about a failure was made from."""

    fence: int
    failures: int
    losses: int
    probe: bool
    policies: Policies


class Model:
    """`kept` is how many dead letters a job keeps."""

    def __init__(self, kept: int) -> None:
        self.jobs: dict[int, Job] = {}
        self.runs: dict[tuple[int, str], Run] = {}
        self.by_id: dict[int, Run] = {}
        self.queues: dict[str, Queue] = {}
        self.ledger: set[tuple[int, str]] = set()
        self.after: dict[int, tuple[int, After]] = {}
        self.kept = kept
        self._answer: Any = None
        self._requests: dict[tuple[int, str, str], tuple[str, Any]] = {}
        self._batches: dict[int, Replay] = {}
        self._revisions: dict[tuple[int, int], int] = {}
        self._revs: dict[tuple[int, int], int] = {}
        self._decided: dict[int, Admission] = {}
        self._budgets: dict[int, Budget] = {}
        self._turn = 0
        self._deadly: set[int] = set()

    # ── hearing ──────────────────────────────────────────────
    def told(self, name: str, args: Sequence[Any], answer: Any, error: Exception | None) -> None:
        """A call of the store has come back."""
        rule: Callable[..., Any] | None = getattr(self, name, None)
        if rule is None:
            assert name in READS, f"the model knows nothing of {name}"
            return
        self._answer = answer
        try:
            expected = rule(*args)
        except Refused as refused:
            assert error is not None, f"{name} should have been refused: {refused}"  # noqa: PT017
            return
        assert error is None, f"{name} should not have been refused: {error!r}"
        assert expected is ANY or expected == answer, f"{name} answered {answer!r}, not {expected!r}"
        self._retire()

    def learn(self, found: Iterable[tuple[int, int, str]]) -> None:
        """(id, job id, key) of new runs."""
        for run_id, job_id, key in found:
            run = self.runs.get((job_id, key))
            assert run is not None, f"nobody asked for run {run_id} ({job_id}, {key})"
            assert run.id == 0, f"runs {run.id} and {run_id} have one key {key} of job {job_id}"
            run.id = run_id
            self.by_id[run_id] = run
        missing = [run for run in self.runs.values() if run.id == 0]
        assert not missing, f"runs were not made: {missing}"

    def restarted(self) -> None:
        """Another daemon: whose turn it is among the owners begins anew."""
        self._turn = 0
        self._decided.clear()
        self._budgets.clear()

    # ── jobs ──────────────────────────────────────────────
    def create_job(
        self, owner: Caller, spec: JobSpec, next_ms: int | None, now_ms: int, request: Request | None
    ) -> Any:
        known = self._asked(owner, request)
        if known is not None:
            if self.jobs[known].deleted:
                raise Refused("its job was deleted")
            assert (self._answer.job.id, self._answer.fresh) == (known, False)
            return ANY
        self._name_is_free(owner.uid, spec.name)
        job = self._new_job(owner, spec, next_ms, now_ms)
        self._remember(owner, request, job.id)
        return ANY

    def delete_job(self, owner: Caller, job_id: int, now_ms: int) -> None:
        job = self._owned(owner, job_id)
        if any(upstream == job_id and not self.jobs[one].deleted for one, (upstream, _) in self.after.items()):
            raise Refused("others come after it")
        self.after.pop(job_id, None)
        job.deleted, job.next, job.aimed, job.resuming = True, None, False, None
        job.changes += 1
        job.moves += 1
        self._end(self._of(job, UNSTARTED), RunState.CANCELLED, now_ms)

    def pause_job(self, owner: Caller, job_id: int, by: str, until_ms: int | None, why: str | None, now_ms: int) -> Any:
        job = self._owned(owner, job_id)
        self._pause(job, until_ms)
        return ANY

    def resume_job(self, owner: Caller, job_id: int, catch_up: bool, now_ms: int) -> bool:
        job = self._owned(owner, job_id)
        if not job.paused:
            raise Refused("it is not paused")
        self._resume(job)
        return self._let_go([job], "catch_up" if catch_up else "plain") > 0

    def edit_job(self, owner: Caller, edit: Edit, now_ms: int) -> Any:
        job = self._owned(owner, edit.job_id)
        if self._revs.get((job.id, edit.rev)) != job.changes:
            raise Refused("it was changed meanwhile")
        if edit.name != job.name or (job.done and edit.schedule_changed):
            self._name_is_free(job.owner, edit.name, but=job.id)
        if edit.schedule_changed:
            if self._revisions.get((job.id, edit.revision or 0)) != job.moves:
                raise Refused("its cursor has moved")
            self._no_circle(job.id, edit.schedule.after_job)
        moved = edit.queue != job.queue
        job.name, job.policies, job.queue, job.priority = edit.name, edit.policies, edit.queue, edit.priority
        job.changes += 1
        if edit.schedule_changed or edit.execution_changed:
            job.version += 1
        job.one_shot = job.hidden or edit.schedule.at_ms is not None
        if edit.schedule_changed:
            job.done = False
            self._new_schedule(job, edit, now_ms)
        for run in self._of(job, UNSTARTED):
            if not run.begun and (edit.schedule_changed or edit.execution_changed):
                run.version = job.version
            run.queue, run.priority = job.queue, job.priority
            run.start_by = None if run.start_by is None else run.due + job.policies.misfire_within_ms
        if moved and self._is_paused(job.queue):
            self._suspend([job])
        elif moved:
            self._let_go([job], "plain")
        return ANY

    def _new_schedule(self, job: Job, edit: Edit, now_ms: int) -> None:
        waiting = [run for run in self._of(job, UNSTARTED) if run.attempt == 0 and not run.by_hand]
        self._end(waiting, RunState.SUPERSEDED, now_ms)
        self._amend(job, edit.amended)
        self._rows(job, edit.rows)
        self.after.pop(job.id, None)
        if edit.schedule.after_job is not None:
            self.after[job.id] = (edit.schedule.after_job, edit.schedule.after_on)
        if job.spans:
            spec, from_ms, _ = job.spans[-1]
            job.spans[-1] = (spec, from_ms, now_ms)
        job.schedule = edit.schedule
        job.next = edit.next_ms if _is_timed(edit.schedule) and not job.suspended else None
        job.aimed = job.aimed or _is_timed(edit.schedule)
        job.handled, job.skip_until = edit.handled_ms, edit.skip_until_ms
        job.moves += 1
        job.spans.append((job.schedule, now_ms, None))

    def skip_next(self, owner: Caller, job_id: int, row: LedgerRow, revision: int, next_ms: int | None,
                  now_ms: int) -> Any:  # fmt: skip
        job = self._owned(owner, job_id)
        comes = job.next is not None or (job.suspended and job.aimed)
        if not comes or self._revisions.get((job_id, revision)) != job.moves:
            raise Refused("its cursor has moved")
        job.skip_until = row.to_ms
        if not job.suspended:  # what a job misses while it is held goes on being counted
            job.next, job.handled = next_ms, row.to_ms
        job.moves += 1
        self._rows(job, [row])
        return ANY

    def unskip(self, owner: Caller, wanted: Unskip, now_ms: int) -> Any:
        job = self._owned(owner, wanted.job_id)
        if job.done:
            self._name_is_free(job.owner, job.name)
        if not job.aimed or self._revisions.get((job.id, wanted.revision)) != job.moves:
            raise Refused("its cursor has moved")
        job.next = None if job.suspended else wanted.next_ms
        job.handled, job.skip_until = wanted.handled_ms, None
        job.moves += 1
        job.changes += job.done
        job.done = False
        self._amend(job, wanted.amended)
        return ANY

    # ── queues and pauses ──────────────────────────────────────────────
    def set_queue(self, name: str, concurrency: int | None, now_ms: int) -> None:
        self._queue(name).concurrency = concurrency

    def pause_queue(self, name: str, pause: Pause, now_ms: int) -> int:
        queue = self._queue(name)
        queue.paused, queue.until = True, pause.until_ms
        jobs = self._in_queue(name)
        self._suspend(jobs)
        return len(jobs)

    def resume_queue(self, name: str, catch_up: bool, now_ms: int) -> int:
        queue = self._queue(name)
        if not queue.paused:
            raise Refused("it is not paused")
        queue.paused, queue.until = False, None
        return self._let_go(self._in_queue(name), "catch_up" if catch_up else "plain")

    def end_pauses(self, now_ms: int) -> int:
        names = [name for name, queue in self.queues.items() if queue.paused and _over(queue.until, now_ms)]
        jobs = [job for job in self.jobs.values() if job.paused and not job.deleted and _over(job.until, now_ms)]
        for name in names:
            self.queues[name].paused, self.queues[name].until = False, None
        for job in jobs:
            self._resume(job)
        self._let_go([*jobs, *(job for name in names for job in self._in_queue(name))], "plain")
        return len(names) + len(jobs)

    def resumable(self, limit: int) -> Any:
        self._seen(self._answer)
        assert [job.job_id for job in self._answer] == [job.id for job in self.jobs.values() if job.resuming][:limit]
        return ANY

    def unsuspend(self, resumptions: Sequence[Resumption], now_ms: int, epoch: int) -> int:
        went_on = 0
        for resumption in resumptions:
            job = self.jobs[resumption.job_id]
            known = self._revisions[job.id, resumption.revision] == job.moves
            if job.resuming is None or job.deleted or not known:
                continue
            went_on += 1
            job.suspended, job.resuming, job.quarantined = False, None, False
            if job.aimed:
                job.next, job.handled = resumption.next_ms, max(job.handled, resumption.handled_ms)
                job.moves += 1
            self._rows(job, resumption.rows)
            self._make(job, resumption.runs)
            for run in self._of(job, UNSTARTED):
                if run.held:
                    run.held = False
                    run.state = RunState.READY if run.gate else RunState.SCHEDULED
        return went_on

    # ── from cursor to ready ──────────────────────────────────────────────
    def due(self, now_ms: int, after: tuple[int, int] | None, limit: int) -> Any:
        self._seen(self._answer)
        found = sorted((job.next, job.id) for job in self.jobs.values() if job.next is not None and job.next <= now_ms)
        assert [(job.next_ms, job.job_id) for job in self._answer] == found[:limit]
        return ANY

    def started_jobs(self, kind: str) -> Any:
        self._seen(self._answer)
        found = [job.id for job in self.jobs.values() if not (job.deleted or job.suspended) and _kind(job) == kind]
        assert [job.job_id for job in self._answer] == found
        return ANY

    def cursor(self, owner: Caller, job_id: int) -> Any:
        self._owned(owner, job_id)
        self._seen([self._answer])
        return ANY

    def next_wake(self, now_ms: int) -> int | None:
        jobs = [job for job in self.jobs.values() if not job.deleted]
        times = [job.next for job in jobs]
        times += [job.until for job in jobs if job.paused]
        times += [queue.until for queue in self.queues.values() if queue.paused]
        times += [run.due for run in self.runs.values() if run.state is RunState.READY]
        times += [
            run.due
            for run in self.runs.values()
            if run.state is RunState.SCHEDULED and not run.held and run.waits == 0
        ]  # fmt: skip
        return min((at_ms for at_ms in times if at_ms is not None and at_ms > now_ms), default=None)

    def expand(self, expansions: Sequence[Expansion], now_ms: int, epoch: int) -> int:
        made, done = 0, set()
        for expansion in expansions:
            job = self.jobs[expansion.job_id]
            known = self._revisions[job.id, expansion.revision] == job.moves and expansion.version == job.version
            if job.deleted or job.suspended or not job.aimed or not known or job.id in done:
                continue
            done.add(job.id)
            job.next, job.handled = expansion.next_ms, max(job.handled, expansion.handled_ms)
            job.skip_until = expansion.skip_until_ms
            job.moves += 1
            made += self._make(job, expansion.runs)
            self._rows(job, expansion.skips)
        return made

    def pending(self, now_ms: int, limit: int) -> Any:
        for one in self._answer:
            self.look_again(self.by_id[one.run_id])
        waiting = [run for run in self.runs.values() if run.state is RunState.SCHEDULED and not run.held]
        found = sorted((run.due, run.id) for run in waiting if run.waits == 0 and run.due <= now_ms)
        assert [(run.due_ms, run.run_id) for run in self._answer] == found[:limit]
        active = {job.id: [run.id for run in self._holders(job)] for job in self.jobs.values()}
        queued = {job.id: [run.id for run in self._of(job, UNSTARTED) if run.waits == 1] for job in self.jobs.values()}
        for one in self._answer:
            run = self.by_id[one.run_id]
            job = self.jobs[run.job]
            self._decided[run.id] = self._decide(run, job, one, active[job.id], queued[job.id], now_ms)
        return ANY

    def _decide(
        self, run: Run, job: Job, shown: Pending, active: list[int], queued: list[int], now_ms: int
    ) -> Admission:
        """The overlap policies. `active` and `queued` are brought to what they are after the answer."""
        rules, number = job.policies, shown.run_id
        if run.start_by is not None and now_ms > run.start_by:
            return Admission(run_id=number, reason=SkipReason.MISFIRE)
        if job.room is None or len(active) < job.room:
            active.append(number)
            return Admission(run_id=number)
        waits = Admission(run_id=number, waits=True)
        in_turn = rules.misfire is Misfire.ALL and rules.overlap in (Overlap.SKIP, Overlap.QUEUE)
        if in_turn and run.trigger is Trigger.CATCH_UP:
            pass  # all of a backlog are asked for: they wait for each other
        elif not run.begun and rules.overlap is Overlap.REPLACE:
            waits = Admission(run_id=number, waits=True, replaces=(*active, *queued))
            queued.clear()
        elif not run.begun and not (
            rules.overlap is Overlap.QUEUE and (run.by_hand or len(queued) < rules.overlap_queue)
        ):
            reason = SkipReason.LIMIT if rules.overlap is Overlap.ALLOW else SkipReason.OVERLAP
            return Admission(run_id=number, reason=reason)
        queued.append(number)
        return waits

    def too_late(self, now_ms: int, limit: int) -> Any:
        late = {
            run.id
            for run in self.runs.values()
            if run.start_by is not None and run.start_by < now_ms and not run.held
            and (run.state is RunState.READY or (run.state is RunState.SCHEDULED and run.due <= now_ms))
        }  # fmt: skip
        assert {run.run_id for run in self._answer} == late
        self._decided |= {number: Admission(run_id=number, reason=SkipReason.MISFIRE) for number in late}
        return ANY

    def admit(self, admissions: Sequence[Admission], now_ms: int) -> Any:
        for one in admissions:
            wanted = self._decided.pop(one.run_id)
            assert (one.reason, one.waits) == (wanted.reason, wanted.waits), f"{one} was decided, and not {wanted}"
            assert set(one.replaces) == set(wanted.replaces), f"{one} was decided, and not {wanted}"
        stops = [stop for one in admissions if one.replaces for stop in self._replace(one, now_ms)]
        assert set(self._answer.stops) == set(stops)
        for one in admissions:
            run = self.by_id[one.run_id]
            if run.state is RunState.SCHEDULED and not run.held and not one.waits and one.reason is None:
                run.state, run.gate, run.waits = RunState.READY, True, 0
        for one in admissions:
            run = self.by_id[one.run_id]
            free = run.state is RunState.SCHEDULED and not run.held and run.waits == 0
            if one.waits and free and self._is_full(self.jobs[run.job]):
                run.waits = 1
        skipped = [self.by_id[one.run_id] for one in admissions if one.reason is not None]
        self._end([run for run in skipped if run.state in UNSTARTED], RunState.SKIPPED, now_ms)
        return ANY

    def _replace(self, admission: Admission, now_ms: int) -> list[tuple[int, int]]:
        replaced = [self.by_id[number] for number in admission.replaces]
        running = [run for run in replaced if run.state is RunState.RUNNING]
        for run in running:
            run.stop = run.stop or "cancel"
        self._end([run for run in replaced if run.state in UNSTARTED], RunState.SUPERSEDED, now_ms)
        return [(run.id, run.fence) for run in running]

    def claim(self, now_ms: int, limit: int, node: str, boot_id: str, free: int | None = None) -> Any:
        assert free is None, "the model knows nothing of owners who share the slots"
        claims: Sequence[Claim] = self._answer
        could = [run for run in self.runs.values() if run.state is RunState.READY and run.due <= now_ms]
        could = [run for run in could if run.start_by is None or run.start_by >= now_ms]
        chosen = [self.by_id[claim.run_id] for claim in claims]
        assert {run.id for run in chosen} <= {run.id for run in could}, "something was claimed that is not ready"
        order = self._in_order(could, limit, self._turn)
        assert chosen == order, f"{[run.id for run in chosen]} are claimed, and not {[run.id for run in order]}"
        self._turn = self._owner(chosen[-1]) if chosen else self._turn
        for run, claim in zip(chosen, claims, strict=True):
            assert claim.fence > run.fence, f"the fence {claim.fence} of run {run.id} does not rise over {run.fence}"
            assert claim.fence >= now_ms
            assert (claim.attempt, claim.probe, claim.version) == (run.attempt + 1, run.probe, run.version)
            assert not self.jobs[run.job].suspended or run.by_hand, f"run {run.id} starts while its job is held"
            run.state, run.fence, run.started = RunState.RUNNING, claim.fence, False
            run.attempt += 1
            run.efforts += 1
        return ANY

    def _in_order(self, could: Sequence[Run], limit: int, turn: int) -> list[Run]:
        """Bands by priority; inside a band the owners take turns, each by (due, id); inside the room of each queue."""
        left, order = sorted(could, key=lambda run: (run.due, run.id)), []
        rooms = {name: self._room(name) for name in {run.queue for run in could}}
        while len(order) < limit and (open_ := [run for run in left if rooms[run.queue] > 0]):
            band = [run for run in open_ if run.priority == min(one.priority for one in open_)]
            owners = sorted({self._owner(run) for run in band})
            turn = next((owner for owner in owners if owner > turn), owners[0])
            run = next(one for one in band if self._owner(one) == turn)
            left.remove(run)
            order.append(run)
            rooms[run.queue] -= 1
        return order

    def _room(self, name: str) -> float:
        """How many more runs of a queue may be running."""
        most = self.queues.get(name, Queue()).concurrency
        running = sum(run.queue == name and run.state is RunState.RUNNING for run in self.runs.values())
        return math.inf if most is None else most - running

    def wake_waiting(self) -> Any:
        for run in self.runs.values():
            self.look_again(run)
        return ANY

    # ── attempts ──────────────────────────────────────────────
    def started(self, attempts: Sequence[Any]) -> None:
        for one in attempts:
            run = self.by_id.get(one.run_id)
            if run is not None and run.state is RunState.RUNNING and run.fence == one.fence:
                run.started = True

    def unclaim(self, claims: Sequence[tuple[int, int]], due_ms: int, now_ms: int, why: str) -> int:
        runs = self._claimed(claims)
        unwanted = [run for run in runs if self._unwanted(run)]
        self._give_back([run for run in runs if run not in unwanted], due_ms)
        self._cancelled([run for run in unwanted if run.attempt > 1], now_ms)
        self._end(unwanted, RunState.CANCELLED, now_ms)
        return len(runs)

    def returned(self, claims: Sequence[tuple[int, int]], most: int, now_ms: int, why: str) -> list[int]:
        runs = self._claimed(claims)
        unwanted = [run for run in runs if self._unwanted(run)]
        poison = [run for run in runs if run.returns + 1 >= most and run not in unwanted]
        again = [run for run in runs if run not in unwanted and run not in poison]
        for run in again:
            run.returns += 1
        self._give_back(again, now_ms)
        self._cancelled([run for run in unwanted if run.attempt > 1], now_ms)
        self._end(unwanted, RunState.CANCELLED, now_ms)
        self._deadly |= {run.id for run in poison}
        return [run.id for run in poison]

    def _give_back(self, runs: Iterable[Run], due_ms: int) -> None:
        for run in runs:
            run.attempt -= 1
            run.efforts -= 1
            run.due, run.held = due_ms, self._holds(run)
            run.state = RunState.SCHEDULED if run.held else RunState.READY
            run.gate = run.attempt > 0 or not run.held

    def efforts(self, run_ids: Sequence[int]) -> Any:
        shown = {one.run_id: one for one in self._answer}
        running = {run_id: self.by_id[run_id] for run_id in run_ids if run_id in self.by_id}
        running = {run_id: run for run_id, run in running.items() if run.state is RunState.RUNNING}
        assert shown.keys() == running.keys()
        for run_id, run in running.items():
            one = shown[run_id]
            assert (one.fence, one.attempt, one.failures, one.losses, one.probe) == (
                run.fence, run.attempt, run.failures, run.losses, run.probe
            )  # fmt: skip
            self._budgets[run_id] = Budget(
                run.fence, run.failures, run.losses, run.probe, self.jobs[run.job].policies
            )  # fmt: skip
        return ANY

    def finish(self, results: Sequence[Finish], now_ms: int) -> Any:
        ended: list[tuple[Run, RunState, Finish]] = []
        answers = []
        taken = set()
        for result in results:
            run = self.by_id.get(result.run_id)
            if run is None:
                answers.append("missing")
            elif run.state is not RunState.RUNNING or run.fence != result.fence or run.id in taken:
                answers.append("stale")
            else:
                taken.add(run.id)
                self._judge(run, result, now_ms)
                ended.append((run, self._overtaken(run, result), result))
                answers.append("ok")
        assert [verdict.answer for verdict in self._answer] == answers
        for run, state, result in ended:
            run.ran = run.started or result.started_ms is not None
            if state is RunState.READY:
                self._retry(run, result)
        final = [(run, state, result) for run, state, result in ended if state is not RunState.READY]
        self._after_ends([(run, state, result.ended_ms) for run, state, result in final])
        self._finished(final, now_ms)
        return ANY

    def _judge(self, run: Run, result: Finish, now_ms: int) -> None:
        """Whether the retry rule was kept, from what was known when the decision was made."""
        what = result.failure_class
        if what is None:
            assert result.state is RunState.SUCCEEDED
            return
        if what is FailureClass.CANCELLED:
            assert result.state is RunState.CANCELLED
            return
        known = self._budgets[run.id]
        assert known.fence == result.fence
        rules = known.policies
        for_good = RunState.DEAD if rules.on_failure is OnFailure.DEAD else RunState.FAILED
        assert result.reason, "a failure says why"
        asks = False
        if run.id in self._deadly:  # its daemon died of it again and again
            again, at_once, nth = False, False, 0
        elif what in (FailureClass.LOST, FailureClass.INTERRUPTED):
            hopeless = rules.on_lost == "dead" or what.value in rules.no_retry_on
            again, nth = not hopeless and known.losses < rules.lost_retries, known.losses + 1
            at_once = asks = rules.on_lost.startswith("ask:")
            assert result.counted == "lost"
        elif known.probe:
            again, at_once, nth = what is FailureClass.EXIT_CODE and result.exit_code == 1, True, 0
            assert result.counted == ""
        else:
            hopeless = what is FailureClass.SPAWN_ERROR or what.value in rules.no_retry_on
            hopeless |= result.exit_code is not None and str(result.exit_code) in rules.no_retry_on
            hopeless |= what is FailureClass.EXIT_CODE and result.exit_code in HOPELESS
            again, at_once, nth = not hopeless and known.failures < rules.retries, False, known.failures + 1
            assert result.counted == "failed"
        assert result.state is (RunState.READY if again else for_good), f"{result} of {known}"
        if not again:
            assert result.fingerprint
            return
        assert result.retry_ms is not None
        assert result.probe == asks
        if at_once:
            assert result.retry_ms == now_ms
            return
        raw = min(rules.backoff_max_ms, rules.backoff_ms * 2 ** (nth - 1))
        wait = result.retry_ms - min(result.ended_ms, now_ms)
        assert raw * 0.8 - 1 <= wait <= min(rules.backoff_max_ms, raw * 1.2 + 1), f"{wait} ms before retry {nth}"

    def _overtaken(self, run: Run, result: Finish) -> RunState:
        job = self.jobs[run.job]
        if result.state is not RunState.READY:
            return result.state
        if run.stop is not None:
            return RunState.CANCELLED
        if job.deleted:
            return RunState.DEAD if job.policies.on_failure is OnFailure.DEAD else RunState.FAILED
        return RunState.READY

    def _retry(self, run: Run, result: Finish) -> None:
        assert result.retry_ms is not None
        run.failures += result.counted == "failed"
        run.losses += result.counted == "lost"
        run.probe, run.due, run.start_by, run.held = result.probe, result.retry_ms, None, self._holds(run)
        run.state = RunState.SCHEDULED if run.held else RunState.READY

    def _cancelled(self, runs: Iterable[Run], now_ms: int) -> None:
        """What was cancelled after it had begun has an end that others may come after."""
        self._after_ends([(run, RunState.CANCELLED, now_ms) for run in runs])

    def _after_ends(self, ended: Sequence[tuple[Run, RunState, int]]) -> None:
        """Jobs that come after these runs get one of their own, once for each."""
        for run, state, ended_ms in ended:
            for job_id, (upstream, on) in sorted(self.after.items()):
                job, key = self.jobs[job_id], f"a:{run.id}"
                if upstream != run.job or job.deleted or on not in STARTS.get(state, ()):
                    continue
                if job.suspended:
                    self.ledger.add((job_id, key))
                elif (job_id, key) not in self.ledger:
                    self._put(job, key, ended_ms, ended_ms)

    def _finished(self, ended: Sequence[tuple[Run, RunState, Finish]], now_ms: int) -> None:
        for run, state, result in ended:
            run.died, run.failure = result.ended_ms, result.failure_class
            run.fingerprint = result.fingerprint or "unknown"
            run.failures += state is RunState.DEAD and result.counted == "failed"
            run.losses += state is RunState.DEAD and result.counted == "lost"
            if state is RunState.DEAD:
                run.probe = False
        for state in {state for _, state, _ in ended}:
            self._end([run for run, its, _ in ended if its is state], state, now_ms)
        for job in [self.jobs[number] for number in {run.job for run, _, _ in ended}]:
            theirs = [(state, run.by_hand) for run, state, _ in ended if run.job == job.id]
            self._count_deaths(job, [state for state, by_hand in theirs if state is not RunState.DEAD or not by_hand])

    def _count_deaths(self, job: Job, states: list[RunState]) -> None:
        """In a row: what died before a success is not counted. Nor is what a person asked for."""
        if RunState.SUCCEEDED in states:
            job.deaths = 0
            states = states[len(states) - states[::-1].index(RunState.SUCCEEDED) :]
        died = states.count(RunState.DEAD)
        job.deaths += died
        if died and job.deaths >= DEATHS_IN_A_ROW and not job.deleted and not job.suspended:
            self._pause(job, None)
            job.quarantined = True

    # ── runs ──────────────────────────────────────────────
    def trigger(self, owner: Caller, job_id: int, due_ms: int, now_ms: int, request: Request | None) -> Any:
        known = self._asked(owner, request)
        if known is not None:
            assert (self._answer.run.id, self._answer.fresh) == (known.id, False)
            return ANY
        job = self._owned(owner, job_id)
        if due_ms <= now_ms:
            self._must_have_room(job, now_ms)
        self._remember(owner, request, self._by_hand(job, due_ms, due_ms, request))
        return ANY

    def run_adhoc(self, owner: Caller, spec: JobSpec, due_ms: int, now_ms: int, request: Request | None) -> Any:
        assert request is None, "the machine has no keys for these"
        job = self._new_job(owner, spec, None, now_ms, self._answer.run.job_id)
        self._by_hand(job, due_ms, due_ms, request)
        return ANY

    def cancel(self, owner: Caller, run_id: int, by: str, now_ms: int, how: str = "cancel") -> Any:
        run = self._visible(owner, run_id)
        if run.state not in ACTIVE:
            raise Refused("it has ended")
        if run.state is RunState.RUNNING:
            run.stop = "kill" if run.stop == "kill" else how
            assert self._answer.fence == run.fence
        else:
            self._cancelled([run] if run.ran else [], now_ms)
            self._end([run], RunState.CANCELLED, now_ms)
            assert self._answer.fence is None
        return ANY

    def retry(self, owner: Caller, run_id: int, by: str, now_ms: int, request: Request | None) -> Any:
        known = self._asked(owner, request)
        if known is not None:
            assert (self._answer.run.id, self._answer.how) == known
            return ANY
        run = self._visible(owner, run_id)
        job = self.jobs[run.job]
        if run.state is RunState.DEAD:
            self._replay([run], Replay(by=by), now_ms, batch=-run.id)
            how, number = "replayed", run_id
        elif run.state in ACTIVE:
            waits = run.held or (run.state is RunState.READY and run.due > now_ms)
            if run.attempt == 0 or not waits or run.state is RunState.RUNNING:
                raise Refused("there is nothing to retry")
            run.due, run.held, run.by_hand = now_ms, False, True
            run.state = RunState.READY if run.gate else RunState.SCHEDULED
            how, number = "now", run_id
        else:
            if job.deleted:
                raise Refused("its job was removed")
            self._must_have_room(job, now_ms)
            self._by_hand(job, run.slot, now_ms, request).retry_of = run_id
            how, number = "again", self._answer.run.id
        assert (self._answer.how, self._answer.run.id) == (how, number)
        self._remember(owner, request, (number, how))
        return ANY

    # ── dead letters ──────────────────────────────────────────────
    def replay(self, owner: Caller, wanted: DeadFilter, how: Replay, now_ms: int, request: Request | None) -> Any:
        known = self._asked(owner, request)
        if known is not None:
            return known
        runs = self._dead(owner, wanted)
        if len(runs) > 1 and not how.force:
            self._must_promise(owner, {run.fingerprint for run in runs})
        assert self._answer.replayed == [run.id for run in runs]
        asked = set(wanted.ids or ()) - {run.id for run in runs}
        assert {one["id"] for one in self._answer.skipped} == asked
        self._replay(runs, how, now_ms, self._answer.batch)
        self._remember(owner, request, self._answer)
        return ANY

    def _replay(self, runs: Sequence[Run], how: Replay, now_ms: int, batch: int) -> None:
        self._batches[batch] = how
        for place, run in enumerate(runs):
            job = self.jobs[run.job]
            run.state, run.by_hand, run.batch, run.probe = RunState.SCHEDULED, True, batch, False
            run.due = now_ms + place * (1 if how.stop_on_failure else how.pace_ms)
            run.waits = 2 if how.stop_on_failure and place else 0
            run.failures = run.losses = run.returns = run.efforts = 0
            run.replays += 1
            run.queue, run.priority = job.queue, job.priority
            run.version = job.version if how.current and run.waits == 0 else run.version

    def _must_promise(self, owner: Caller, failures: set[str | None]) -> None:
        for failure in failures:
            alike = [run for run in self.runs.values() if run.state is RunState.DEAD and run.fingerprint == failure]
            if sum(run.replays for run in alike if self._sees(owner, run)) >= 2:
                raise Refused("replays of this failure have died again")

    def discard(self, owner: Caller, wanted: DeadFilter, by: str, why: str | None, now_ms: int) -> list[int]:
        runs = self._dead(owner, wanted)
        for run in runs:
            run.state = RunState.DISCARDED
        return [run.id for run in runs]

    def _dead(self, owner: Caller, wanted: DeadFilter) -> list[Run]:
        found = [run for run in self.runs.values() if run.state is RunState.DEAD and self._sees(owner, run)]
        if wanted.ids is not None:
            found = [run for run in found if run.id in wanted.ids]
        if wanted.job_id is not None:
            found = [run for run in found if run.job == wanted.job_id]
        if wanted.fingerprint is not None:
            found = [run for run in found if run.fingerprint == wanted.fingerprint]
        return sorted(found, key=lambda run: (run.died, run.id))[: wanted.limit]

    # ── ends ──────────────────────────────────────────────
    def _end(self, runs: Sequence[Run], state: RunState, now_ms: int) -> None:
        """They leave their gates; the next of a replay has its turn, or the rest of it is dead again."""
        turns = [run for run in runs if run.waits != 2]
        for run in runs:
            run.state, run.gate, run.held, run.waits, run.stop = state, False, False, 0, None
            run.start_by = None if state is RunState.DEAD else run.start_by
        for batch in sorted({run.batch for run in turns if run.batch is not None}):
            how = self._batches[batch]
            members = [run for run in self.runs.values() if run.batch == batch]
            rest = sorted((run for run in members if run.waits == 2), key=lambda run: (run.due, run.id))
            if not how.stop_on_failure:
                continue
            if state in (RunState.DEAD, RunState.FAILED):
                for run in rest:
                    run.state, run.waits, run.batch = RunState.DEAD, 0, None
                    run.replays -= 1
            elif rest and not any(run.state in ACTIVE and run.waits != 2 for run in members):
                following = rest[0]
                following.waits, following.due = 0, now_ms + how.pace_ms
                following.version = self.jobs[following.job].version if how.current else following.version
        for job_id in {run.job for run in self.runs.values() if run.state is RunState.DEAD}:
            self._make_room(job_id)

    def _make_room(self, job_id: int) -> None:
        """The oldest of too many dead letters go."""
        dead = list(self._of(self.jobs[job_id], {RunState.DEAD}))
        for run in sorted(dead, key=lambda run: (run.died, run.id))[: -self.kept]:
            run.state = RunState.DISCARDED

    def _retire(self) -> None:
        """A one-shot with nothing to come is done."""
        for job in self.jobs.values():
            idle = job.one_shot and not (job.done or job.suspended or job.deleted) and job.next is None
            if idle and not self._of(job, ACTIVE | {RunState.DEAD}):
                job.done = True
                job.changes += 1

    # ── helpers ──────────────────────────────────────────────
    def look_again(self, run: Run) -> None:
        """A run that waited for its gate is looked at again, which is never wrong."""
        run.waits = 0 if run.waits == 1 else run.waits

    def saw(self, job: Any) -> None:
        """Somebody looked at a job as it is shown."""
        changes = self._revs.setdefault((job.id, job.rev), self.jobs[job.id].changes)
        assert changes == self.jobs[job.id].changes, f"job {job.id} was changed, and its rev {job.rev} was not"

    def _seen(self, jobs: Iterable[DueJob]) -> None:
        for shown in jobs:
            job = self.jobs[shown.job_id]
            moves = self._revisions.setdefault((job.id, shown.revision), job.moves)
            assert moves == job.moves, f"the cursor of job {job.id} moved, and its revision {shown.revision} did not"

    def _asked(self, owner: Caller, request: Request | None) -> Any:
        """What the key stands for."""
        if request is None:
            return None
        body, made = self._requests.get((owner.uid, request.key, request.verb), (request.body_hash, None))
        if body != request.body_hash:
            raise Refused("the key was used for something else")
        return made

    def _remember(self, owner: Caller, request: Request | None, made: Any) -> None:
        if request is not None:
            self._requests[owner.uid, request.key, request.verb] = (request.body_hash, made)

    def _new_job(
        self, owner: Caller, spec: JobSpec, next_ms: int | None, now_ms: int, job_id: int | None = None
    ) -> Job:
        number = self._answer.job.id if job_id is None else job_id
        held = spec.paused or self._is_paused(spec.queue)
        job = self.jobs[number] = Job(
            id=number,
            owner=owner.uid,
            name=spec.name,
            schedule=spec.schedule,
            policies=spec.policies,
            queue=spec.queue,
            priority=spec.priority,
            created=now_ms,
            hidden=spec.hidden,
            one_shot=spec.hidden or spec.schedule.at_ms is not None,
            aimed=_is_timed(spec.schedule),
            next=None if held else next_ms,
            handled=now_ms,
            paused=spec.paused,
            suspended=held,
        )
        job.spans.append((spec.schedule, now_ms, None))
        if spec.schedule.after_job is not None:
            self.after[number] = (spec.schedule.after_job, spec.schedule.after_on)
        return job

    def _put(self, job: Job, key: str, slot_ms: int, due_ms: int, start_by_ms: int | None = None) -> Run:
        self.ledger.add((job.id, key))
        run = self.runs[job.id, key] = Run(
            job=job.id,
            key=key,
            slot=slot_ms,
            due=due_ms,
            start_by=start_by_ms,
            version=job.version,
            queue=job.queue,
            priority=job.priority,
        )
        return run

    def _make(self, job: Job, runs: Iterable[NewRun]) -> int:
        fresh = [run for run in runs if (job.id, run.key) not in self.ledger]
        for run in fresh:
            made = self._put(job, run.key, run.slot_ms, run.due_ms, run.start_by_ms)
            made.trigger, made.priority = run.trigger, job.priority + run.gives_way
        return len(fresh)

    def _by_hand(self, job: Job, slot_ms: int, due_ms: int, request: Request | None) -> Run:
        key = f"m:{request.key}" if request else str(self._answer.run.key.partition("/")[2])
        if (job.id, key) in self.ledger:
            raise Refused("the key has made a run of the job before")
        run = self._put(job, key, slot_ms, due_ms)
        run.by_hand = True
        return run

    def _rows(self, job: Job, rows: Iterable[LedgerRow]) -> None:
        self.ledger |= {(job.id, row.key) for row in rows}

    def _amend(self, job: Job, amended: Iterable[Amendment]) -> None:
        self.ledger -= {(job.id, change.key) for change in amended if change.count == 0}

    def _must_have_room(self, job: Job, now_ms: int) -> None:
        if job.room is None or job.policies.overlap in (Overlap.QUEUE, Overlap.REPLACE):
            return
        soon = [
            run
            for run in self._of(job, {RunState.SCHEDULED})
            if not run.held and run.waits == 0 and run.due <= now_ms
        ]  # fmt: skip
        if len(self._holders(job)) + len(soon) >= job.room:
            raise Refused("as many as may be are active")

    def _name_is_free(self, owner: int, name: str, but: int | None = None) -> None:
        for job in self.jobs.values():
            taken = job.name == name and job.owner == owner and not (job.deleted or job.done or job.hidden)
            if taken and job.id != but:
                raise Refused("the name is taken")

    def _no_circle(self, job_id: int, upstream: int | None) -> None:
        while upstream is not None:
            if upstream == job_id:
                raise Refused("it would come after itself")
            upstream = self.after.get(upstream, (None, None))[0]

    def _pause(self, job: Job, until_ms: int | None) -> None:
        job.paused, job.until, job.quarantined = True, until_ms, False
        job.changes += 1
        self._suspend([job])

    def _resume(self, job: Job) -> None:
        job.paused, job.until, job.deaths = False, None, 0
        job.changes += 1

    def _suspend(self, jobs: Iterable[Job]) -> None:
        """What has not started is held, but for what was asked for by hand; a waiting retry keeps its gate."""
        for job in jobs:
            if job.suspended and job.resuming is None:
                continue
            job.suspended, job.resuming = True, None
            if job.aimed:
                job.next = None
                job.moves += 1
            for run in self._of(job, UNSTARTED):
                if not run.held and not run.by_hand:
                    run.state, run.held, run.waits = RunState.SCHEDULED, True, 0
                    run.gate = run.gate and run.attempt > 0

    def _let_go(self, jobs: Iterable[Job], how: str) -> int:
        free = {
            job.id: job
            for job in jobs
            if job.suspended and not job.paused and not job.deleted and not self._is_paused(job.queue)
        }
        for job in free.values():
            job.resuming = how
        return len(free)

    def _queue(self, name: str) -> Queue:
        return self.queues.setdefault(name, Queue())

    def _in_queue(self, name: str) -> list[Job]:
        return [job for job in self.jobs.values() if not job.deleted and name in ("", job.queue)]

    def _is_paused(self, queue: str) -> bool:
        return any(name in self.queues and self.queues[name].paused for name in ("", queue))

    def _of(self, job: Job, states: Iterable[RunState]) -> list[Run]:
        return [run for run in self.runs.values() if run.job == job.id and run.state in states]

    def _holders(self, job: Job) -> list[Run]:
        return sorted((run for run in self.runs.values() if run.job == job.id and run.gate), key=lambda run: run.id)

    def _is_full(self, job: Job) -> bool:
        return job.room is not None and len(self._holders(job)) >= job.room

    def _claimed(self, claims: Sequence[tuple[int, int]]) -> list[Run]:
        runs = [(self.by_id[number], fence) for number, fence in dict(claims).items() if number in self.by_id]
        return [run for run, fence in runs if run.state is RunState.RUNNING and run.fence == fence]

    def _unwanted(self, run: Run) -> bool:
        return run.stop is not None or (self.jobs[run.job].deleted and not run.replays)

    def _holds(self, run: Run) -> bool:
        return self.jobs[run.job].suspended and not run.by_hand

    def _owner(self, run: Run) -> int:
        return self.jobs[run.job].owner

    def _owned(self, caller: Caller, job_id: int) -> Job:
        job = self.jobs.get(job_id)
        if job is None or job.deleted or not (caller.all_owners or job.owner == caller.uid):
            raise Refused("there is no such job")
        return job

    def _sees(self, caller: Caller, run: Run) -> bool:
        return caller.all_owners or self._owner(run) == caller.uid

    def _visible(self, caller: Caller, run_id: int) -> Run:
        run = self.by_id.get(run_id)
        if run is None or not self._sees(caller, run):
            raise Refused("there is no such run")
        return run


def _is_timed(schedule: ScheduleSpec) -> bool:
    """Whether anything but a hand starts it."""
    timed = schedule.cron or schedule.every_ms or schedule.at_ms or schedule.after_job
    return bool(timed or schedule.on_boot or schedule.on_start)


def _kind(job: Job) -> str | None:
    return "boot" if job.schedule.on_boot else "start" if job.schedule.on_start else None


def _over(until_ms: int | None, now_ms: int) -> bool:
    return until_ms is not None and until_ms <= now_ms
