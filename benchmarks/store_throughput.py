"""How many no-op runs a second the store takes from cursor to history: `python benchmarks/store_throughput.py`.

The whole way without processes: due, expand, pending, admit, claim, finish, in batches of 500, with a listener as the
daemon has one. Beside it, in the same run, a bare `executemany` of as many rows into one table: the ratio says more
than the numbers on a shared machine. CPU is that of the whole process, all threads.
"""

import argparse
import asyncio
import resource
import sqlite3
import sys
import tempfile
import time
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
sys.path[:0] = [str(ROOT / "jobctl"), str(ROOT / "daemon")]

from jobctl.model import Execution, JobSpec, Policies, ScheduleSpec  # noqa: E402
from jobctl.states import Overlap, RunState, Trigger  # noqa: E402
from jobctl_daemon.rows import Admission, Caller, Claim, DueJob, Expansion, Finish, NewRun  # noqa: E402
from jobctl_daemon.store.sqlite import SqliteStore  # noqa: E402

BATCH = 500
MINUTE_MS = 60_000
START_MS = 1_800_000_000_000 - 1_800_000_000_000 % MINUTE_MS
ME = Caller(uid=0, name="root")


def spec(number: int) -> JobSpec:
    return JobSpec(
        name=f"job-{number:06}",
        schedule=ScheduleSpec(timezone="UTC", cron="* * * * *", words="every minute"),
        execution=Execution(command=["true"]),
        policies=Policies(overlap=Overlap.ALLOW),
    )


def expansion(job: DueJob) -> Expansion:
    at_ms = job.next_ms or 0
    run = NewRun(key=f"s:{at_ms}", slot_ms=at_ms, due_ms=at_ms, start_by_ms=at_ms + MINUTE_MS, trigger=Trigger.SCHEDULE)
    return Expansion(
        job_id=job.job_id,
        version=job.version,
        revision=job.revision,
        runs=(run,),
        skips=(),
        next_ms=at_ms + MINUTE_MS,
        handled_ms=at_ms,
    )


def ended(claim: Claim, now_ms: int) -> Finish:
    return Finish(
        run_id=claim.run_id,
        fence=claim.fence,
        state=RunState.SUCCEEDED,
        outcome="ok",
        failure_class=None,
        reason=None,
        started_ms=now_ms,
        ended_ms=now_ms,
        pid=1,
        pid_start=1,
        exit_code=0,
    )


async def minute(store: SqliteStore, now_ms: int, epoch: int) -> int:
    """Every job that is due runs once."""
    finished = 0
    while jobs := await store.due(now_ms, None, BATCH):
        await store.expand([expansion(job) for job in jobs], now_ms, epoch)
        pending = await store.pending(now_ms, BATCH)
        await store.admit([Admission(run_id=run.run_id) for run in pending], now_ms)
        claims = await store.claim(now_ms, BATCH, "bench", "boot")
        await store.finish([ended(claim, now_ms) for claim in claims], now_ms)
        finished += len(claims)
    return finished


async def measure(path: Path, jobs: int, minutes: int) -> tuple[int, float, float]:
    store = SqliteStore(path)
    heard = 0

    def listener(events: object) -> None:
        nonlocal heard
        heard += len(events)  # type: ignore[arg-type]

    store.listen(listener)
    await store.open()
    epoch = await store.take_epoch("bench", START_MS)
    await store.create_jobs(ME, [(spec(number), START_MS) for number in range(jobs)], START_MS - 1)
    wall, cpu, runs = time.monotonic(), cpu_s(), 0
    for number in range(minutes):
        runs += await minute(store, START_MS + number * MINUTE_MS, epoch)
    wall, cpu = time.monotonic() - wall, cpu_s() - cpu
    await store.close()
    return runs, wall, cpu


def bare(path: Path, rows: int) -> float:
    """Seconds of CPU for one bare insert a run, in the same batches and with the same durability."""
    connection = sqlite3.connect(path, isolation_level=None)
    connection.execute("PRAGMA journal_mode = WAL")
    connection.execute("PRAGMA synchronous = FULL")
    connection.execute("CREATE TABLE run (id INTEGER PRIMARY KEY, job INTEGER, slot INTEGER, state TEXT) STRICT")
    before = cpu_s()
    for first in range(0, rows, BATCH):
        connection.execute("BEGIN IMMEDIATE")
        batch = [(number, number % 997, START_MS + number, "succeeded") for number in range(first, first + BATCH)]
        connection.executemany("INSERT INTO run VALUES (?, ?, ?, ?)", batch)
        connection.execute("COMMIT")
    taken = cpu_s() - before
    connection.close()
    return taken


def cpu_s() -> float:
    usage = resource.getrusage(resource.RUSAGE_SELF)
    return usage.ru_utime + usage.ru_stime


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--jobs", type=int, default=1_000)
    parser.add_argument("--minutes", type=int, default=30)
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        runs, wall, cpu = asyncio.run(measure(Path(folder, "jobs.db"), options.jobs, options.minutes))
        reference = bare(Path(folder, "bare.db"), runs)
    print(f"{runs} runs of {options.jobs} jobs: {runs / wall:,.0f} runs/s, {cpu / runs * 1e6:.1f} us CPU a run")
    print(f"bare insert of one row each: {reference / runs * 1e6:.1f} us CPU; ratio {cpu / reference:.1f}")


if __name__ == "__main__":
    main()
