"""Jobs whose pause is over: their schedules are aimed again, a batch at a time."""

import msgspec
import structlog

from jobctl_daemon.decide import storm
from jobctl_daemon.decide.pause import from_its_rows, resumption
from jobctl_daemon.rows import DueJob, Resumption
from jobctl_daemon.schedules import stored_schedule
from jobctl_daemon.store import Store

BATCH = 500


async def settle(store: Store, now_ms: int, epoch: int) -> int:
    """Ends the pauses whose time has come and aims the jobs that nothing holds any more; returns how many."""
    await store.end_pauses(now_ms)
    settled = caught_up = 0
    while jobs := await store.resumable(BATCH):
        resumptions = []
        for job in jobs:
            found = await _resumed(store, job, now_ms)
            if found is not None:
                runs = storm.paced(found.runs, caught_up, now_ms)
                caught_up += storm.catch_ups(runs)
                resumptions.append(msgspec.structs.replace(found, runs=runs))
        went_on = await store.unsuspend(resumptions, now_ms, epoch)
        settled += went_on
        if resumptions and not went_on:  # overtaken: by a change, which wakes the due scan, or by another daemon
            break
    return settled


async def counted_from_its_rows(store: Store, job: DueJob, now_ms: int) -> DueJob:
    """The held job for whoever decides what its pause swallowed: where the clock was set back, the ledger knows more
    than the cursor."""
    since_ms = job.suspended_since_ms
    if not job.generation or since_ms is None or not job.handled_ms < since_ms <= now_ms:
        return job
    covered_ms = (await store.covered([job.job_id], since_ms)).get(job.job_id)
    if covered_ms is not None and covered_ms > since_ms:
        # What was left out in the moment of the pause says nothing of what was due before it.
        covered_ms = (await store.covered([job.job_id], since_ms - 1)).get(job.job_id)
    return from_its_rows(job, covered_ms)


async def _resumed(store: Store, job: DueJob, now_ms: int) -> Resumption | None:
    counted = await counted_from_its_rows(store, job, now_ms)  # a store that fails says nothing of the schedule
    try:
        return resumption(counted, stored_schedule(job), now_ms, catch_up=job.resuming == "catch_up")
    except Exception as error:  # noqa: BLE001 - one schedule that breaks must not hold the others
        structlog.get_logger().exception("job.parked", job_id=job.job_id)
        await store.park(job.job_id, job.revision, f"{type(error).__name__}: {error}", now_ms)
        return None
