"""Which due runs may go to the ready queue: the overlap policy, and the last instant to start."""

from collections.abc import Iterable

from jobctl.states import Overlap, SkipReason
from jobctl_daemon.rows import Admission, Pending


def admit(pending: Iterable[Pending], now_ms: int) -> list[Admission]:
    """An answer for each, in their order: of two due runs of one job under *skip* the earlier one goes."""
    active: dict[int, int] = {}
    return [_one(run, active, now_ms) for run in pending]


def _one(run: Pending, active: dict[int, int], now_ms: int) -> Admission:
    if run.start_by_ms is not None and now_ms > run.start_by_ms:
        return too_late(run)
    blocking = run.active_run_id or active.get(run.job_id)
    if blocking is not None and run.policies.overlap is Overlap.SKIP:
        return Admission(run_id=run.run_id, reason=SkipReason.OVERLAP, detail=f"run {blocking} was still active")
    active[run.job_id] = run.run_id
    return Admission(run_id=run.run_id)


def too_late(run: Pending) -> Admission:
    """A run that could not start inside its window is a misfire, whatever held it up."""
    return Admission(
        run_id=run.run_id,
        reason=SkipReason.MISFIRE,
        detail=f"it could not start in time; misfire {run.policies.misfire}",
    )
