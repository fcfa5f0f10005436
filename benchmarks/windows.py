"""Windows onto long lists: `python benchmarks/windows.py --jobs 100000 --runs 1000000`.

Makes a database of so many jobs, two in a hundred of them failing, with a history, and asks for windows as a screen
does: each way of sorting, the top and the bottom, filters, the page around a job. Beside each stands a bare SELECT of
the same rows by their ids, in the same process in turns, and the ratio of the two. At the end: how long the loop was
held up while windows were read without a pause, and how long a write took meanwhile.
"""

import argparse
import asyncio
import os
import sqlite3
import statistics
import sys
import tempfile
import time
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parent.parent
sys.path[:0] = [str(ROOT / "jobctl"), str(ROOT / "daemon")]

from rig import quantile  # noqa: E402

from jobctl.filters import parse  # noqa: E402
from jobctl.model import Execution, JobSpec, Policies, ScheduleSpec  # noqa: E402
from jobctl_daemon.rows import Caller  # noqa: E402
from jobctl_daemon.store.sqlite import SqliteStore  # noqa: E402
from jobctl_daemon.windows import JobWindow, RunWindow  # noqa: E402

NOW_MS = 1_800_000_000_000
ME = Caller(uid=os.getuid(), name="me")
ROWS = 100
BATCH = 5_000
LAST = """
INSERT INTO last_runs (job_id, run_id, failing, state, finished_ms, outcome, exit_code)
SELECT id, id, id % 50 = 0, CASE WHEN id % 50 = 0 THEN 'failed' ELSE 'succeeded' END, :now - id * 7 % 86400000,
       CASE WHEN id % 50 = 0 THEN 'exit_code' ELSE 'ok' END, id % 50 = 0
FROM jobs WHERE id % 10 <> 0 OR id % 50 = 0
"""
HISTORY = """
WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < :runs)
INSERT INTO history (id, job_id, owner_id, version, key, slot_ms, due_ms, trigger, coalesced, state, outcome,
                     failure_class, reason, fence, attempt, node, started_ms, finished_ms, exit_code, late)
SELECT i, 1 + i % :jobs, 1, 1, 's:' || i, :now - (:runs - i) * 100, :now - (:runs - i) * 100, 'schedule', 0,
       CASE WHEN i % 50 = 0 THEN 'failed' ELSE 'succeeded' END, CASE WHEN i % 50 = 0 THEN 'exit_code' ELSE 'ok' END,
       CASE WHEN i % 50 = 0 THEN 'exit_code' END, CASE WHEN i % 50 = 0 THEN 'exit 1' END, i, 1, 'bench',
       :now - (:runs - i) * 100, :now - (:runs - i) * 100 + i % 977, i % 50 = 0, 0
FROM n
"""


def definition(number: int) -> JobSpec:
    return JobSpec(
        name=f"{'backup' if number % 7 else 'report'}-{number:06d}",
        schedule=ScheduleSpec(timezone="Europe/Berlin", cron="*/5 * * * *", words="every 5 minutes"),
        execution=Execution(shell=f"/opt/bin/work --number {number} --to s3://bucket/{number % 97}"),
        policies=Policies(tags=["prod" if number % 3 else "test", f"team-{number % 13}"]),
        queue="default",
        priority=0,
        source="api",
    )


async def made(store: SqliteStore, path: Path, jobs: int, runs: int) -> None:
    for first in range(0, jobs, BATCH):
        numbers = range(first, min(first + BATCH, jobs))
        specs = [(definition(n), NOW_MS + (n * 7919) % 300_000 if n % 100 else None) for n in numbers]
        await store.create_jobs(ME, specs, NOW_MS)
    with sqlite3.connect(path) as connection:
        connection.execute("PRAGMA synchronous = OFF")
        connection.execute(HISTORY, {"runs": runs, "jobs": jobs, "now": NOW_MS})
        connection.execute(LAST, {"now": NOW_MS})
    connection.close()


async def median_ms(ask: Callable[[], Awaitable[Any]], times: int) -> float:
    taken = []
    for _ in range(times):
        began = time.perf_counter()
        await ask()
        taken.append((time.perf_counter() - began) * 1000)
    return statistics.median(taken)


async def bare_ms(store: SqliteStore, view: str, ids: list[int], times: int) -> float:
    statement = f"SELECT * FROM {view} WHERE id IN ({','.join(map(str, ids))})"
    return await median_ms(lambda: store._browse(lambda con: con.execute(statement).fetchall()), times)


async def measure(store: SqliteStore, jobs: int, times: int) -> None:
    print(f"{'window':<46}{'ms':>9}{'bare SELECT ms':>16}{'ratio':>8}")
    middle = 1 + jobs // 2

    async def line(name: str, ask: Callable[[], Awaitable[Any]], view: str) -> None:
        window = await ask()
        ids = [item.id for item in window.items]
        taken, bare = await median_ms(ask, times), await bare_ms(store, view, ids or [0], times)
        print(f"{name:<46}{taken:>9.1f}{bare:>16.2f}{taken / bare:>8.1f}")

    def of_jobs(q: str = "", **asked: Any) -> Callable[[], Awaitable[Any]]:
        return lambda: store.job_window(ME, JobWindow(q=parse(q), limit=ROWS, **asked), NOW_MS)

    def of_runs(q: str = "", **asked: Any) -> Callable[[], Awaitable[Any]]:
        wanted = RunWindow(midnight_ms=NOW_MS - 43_200_000, q=parse(q), limit=ROWS, **asked)
        return lambda: store.run_window(ME, wanted, NOW_MS)

    for sort in ("attention", "name", "next", "last", "state", "duration"):
        await line(f"jobs by {sort}", of_jobs(sort=sort), "job_facts")
    await line("jobs by attention, the middle", of_jobs(offset=jobs // 2), "job_facts")
    await line("jobs by attention, the last page", of_jobs(offset=jobs - ROWS), "job_facts")
    await line("jobs by attention, around one", of_jobs(around=middle), "job_facts")
    await line("jobs by attention, upside down", of_jobs(reverse=True), "job_facts")
    for q in ("state:failed", "report", "tag:prod", "/^backup-0+[0-9]{2}$/", "next<1m state:ok", "command:bucket/96"):
        await line(f"jobs, {q}", of_jobs(q), "job_facts")
    await line("runs", of_runs(), "finished_facts")
    await line("runs, half a million down", of_runs(offset=500_000), "finished_facts")
    await line("runs around one", of_runs(around=1_000), "finished_facts")
    for q in ("state:failed", "report-000007", "report", "exit:1 dur>500ms"):
        await line(f"runs, {q}", of_runs(q), "finished_facts")


async def beside(store: SqliteStore, seconds: float) -> None:
    """How long the loop and the writer wait while windows are read without a pause."""
    asked = 0
    laps: list[float] = []
    writes: list[float] = []
    until = time.perf_counter() + seconds

    async def read() -> None:
        nonlocal asked
        while time.perf_counter() < until:
            await store.job_window(ME, JobWindow(q=parse("tag:prod"), limit=ROWS), NOW_MS)
            asked += 1

    async def lap() -> None:
        while time.perf_counter() < until:
            began = time.perf_counter()
            await asyncio.sleep(0.005)
            laps.append((time.perf_counter() - began - 0.005) * 1000)

    async def write() -> None:
        while time.perf_counter() < until:
            began = time.perf_counter()
            await store.set_meta({"bench": str(began)})
            writes.append((time.perf_counter() - began) * 1000)
            await asyncio.sleep(0.02)

    await asyncio.gather(read(), lap(), write())
    print(f"beside {asked / seconds:.1f} filtered windows a second: the loop was late by {quantile(laps, 0.5):.1f} ms "
          f"(p99 {quantile(laps, 0.99):.1f}), a write took {quantile(writes, 0.5):.1f} ms "
          f"(p99 {quantile(writes, 0.99):.1f})")  # fmt: skip


async def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--jobs", type=int, default=100_000)
    parser.add_argument("--runs", type=int, default=1_000_000)
    parser.add_argument("--times", type=int, default=9, help="of each window; the median is printed")
    parser.add_argument("--keep", type=Path, help="a folder for the database, which is used again")
    asked = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="jobctl-windows-") as folder:
        path = (asked.keep or Path(folder)) / "jobctl.db"
        there = path.exists()
        store = SqliteStore(path)
        await store.open()
        try:
            if not there:
                await made(store, path, asked.jobs, asked.runs)
            print(f"{asked.jobs} jobs, {asked.runs} runs, {ROWS} rows a window, SQLite {sqlite3.sqlite_version}")
            await measure(store, asked.jobs, asked.times)
            await beside(store, 5.0)
        finally:
            await store.close()


if __name__ == "__main__":
    asyncio.run(main())
