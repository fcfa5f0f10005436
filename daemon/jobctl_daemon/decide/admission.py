"""Which due runs may go to the ready queue: the overlap policy, the job's limit, and the last instant to start."""

from collections.abc import Iterable
from dataclasses import dataclass, field

from jobctl.defaults import JOB_RUNS_MAX
from jobctl.states import Misfire, Overlap, SkipReason, Trigger
from jobctl_daemon.rows import Admission, Pending


@dataclass(slots=True)
class _Job:
    """What of a job is active and waits, as it will be once the answers so far are carried out."""

    active: list[int]
    waiting: list[int] = field(default_factory=list)
    unended: int = 0


def admit(pending: Iterable[Pending], now_ms: int) -> list[Admission]:
    """An answer for each, in their order: of two due runs of one job the earlier one goes first."""
    jobs: dict[int, _Job] = {}
    return [_one(run, jobs, now_ms) for run in pending]


def _one(run: Pending, jobs: dict[int, _Job], now_ms: int) -> Admission:
    if run.start_by_ms is not None and now_ms > run.start_by_ms:
        return too_late(run)
    job = jobs.get(run.job_id)
    if job is None:
        job = jobs[run.job_id] = _Job(list(run.active), list(run.waiting), run.unended)
    most = run.policies.active_max
    if most is None and job.unended > JOB_RUNS_MAX and not run.begun and not run.by_hand:
        job.unended -= 1
        detail = f"{job.unended} runs of its job have not ended"
        return Admission(run_id=run.run_id, reason=SkipReason.LIMIT, detail=detail)
    if most is None or len(job.active) < most:
        job.active.append(run.run_id)
        return Admission(run_id=run.run_id)
    answer = _at_the_limit(run, job)
    if answer.waits:
        job.waiting.append(run.run_id)
    return answer


def _at_the_limit(run: Pending, job: _Job) -> Admission:
    """What its overlap policy does with a run that has no room. What has begun once, or was asked for, waits."""
    rules = run.policies
    if run.begun or _made_up_one_by_one(run):
        return Admission(run_id=run.run_id, waits=True)
    if rules.overlap is Overlap.REPLACE:
        replaced = (*job.active, *job.waiting)
        job.waiting.clear()  # what is active is so until it is gone, also for the next one
        return Admission(run_id=run.run_id, waits=True, replaces=replaced)
    if rules.overlap is Overlap.QUEUE and (run.by_hand or len(job.waiting) < rules.overlap_queue):
        return Admission(run_id=run.run_id, waits=True)
    return _skipped(run, job)


def _made_up_one_by_one(run: Pending) -> bool:
    """Misfire *all* asks for every one of a backlog: they must not skip each other."""
    rules = run.policies
    in_turn = rules.overlap in (Overlap.SKIP, Overlap.QUEUE)
    return run.trigger is Trigger.CATCH_UP and rules.misfire is Misfire.ALL and in_turn


def _skipped(run: Pending, job: _Job) -> Admission:
    blocking = f"run {job.active[0]} was still active"
    if len(job.active) > 1:
        blocking = f"{len(job.active)} runs were still active, the oldest is {job.active[0]}"
    if run.policies.overlap is Overlap.QUEUE:
        waiting = len(job.waiting)
        detail = f"{blocking}, and {waiting} {'run waits' if waiting == 1 else 'runs wait'} for it already"
        return Admission(run_id=run.run_id, reason=SkipReason.OVERLAP, detail=detail)
    reason = SkipReason.LIMIT if run.policies.overlap is Overlap.ALLOW else SkipReason.OVERLAP
    return Admission(run_id=run.run_id, reason=reason, detail=blocking)


def too_late(run: Pending) -> Admission:
    """A run that could not start inside its window is a misfire, whatever held it up."""
    return Admission(
        run_id=run.run_id,
        reason=SkipReason.MISFIRE,
        detail=f"it could not start in time; misfire {run.policies.misfire}",
    )
