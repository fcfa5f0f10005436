"""Retention at work beside the daemon's work: `python benchmarks/retention.py --runs 2000000 --logs 100000`.

Makes a database of expired runs, part of them with a log on disk, lets ten jobs run each second, and waits until
retention has removed all that is old. Prints the longest write transaction, the start delay of the jobs meanwhile, how
long requests took, and what was lost; the same jobs without anything to remove stand beside it.
"""

import argparse
import asyncio
import contextlib
import json
import os
import shutil
import sqlite3
import statistics
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parent.parent
sys.path[:0] = [str(ROOT / "jobctl"), str(ROOT / "daemon")]

from rig import Rig, quantile  # noqa: E402

from jobctl.model import Execution, JobSpec, Policies, ScheduleSpec  # noqa: E402
from jobctl_daemon.rows import Caller  # noqa: E402
from jobctl_daemon.store.sqlite import SqliteStore  # noqa: E402

DAY_MS = 86_400_000
JOBS = 2_000
LOG = b"a line of a log that somebody will never read again\n" * 40
#: jobd that writes down how long each transaction and each checkpoint took.
MEASURED = """
import json, sys, time
from jobctl_daemon.__main__ import main
from jobctl_daemon.store.sqlite import writer

file = open(sys.argv.pop(1), "a", buffering=1)

def measured(name, function):
    def call(*arguments):
        began = time.perf_counter()
        try:
            return function(*arguments)
        finally:
            took = time.perf_counter() - began
            if took > 0.005:
                file.write(json.dumps([name, time.time(), round(took * 1000, 1)]) + "\\n")
    return call

writer.commit = measured("commit", writer.commit)
writer._checkpoint = measured("checkpoint", writer._checkpoint)
raise SystemExit(main())
"""
OLD = """
WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < :runs)
INSERT INTO {table} SELECT {columns} FROM n
"""
HISTORY = OLD.format(
    table="history (id, job_id, owner_id, version, key, slot_ms, due_ms, trigger, coalesced, state, outcome, fence, "
    "attempt, node, started_ms, finished_ms, exit_code, late)",
    columns="i, :first_job + i % :jobs, 1, 1, 's:' || (:from_ms + i * :step), :from_ms + i * :step, "
    ":from_ms + i * :step, 'schedule', 0, 'succeeded', 'ok', i, 1, 'bench', :from_ms + i * :step + 5, "
    ":from_ms + i * :step + 900, 0, 0",
)
ATTEMPTS = OLD.format(
    table="attempts (run_id, attempt, fence, node, boot_id, pid, pid_start, claimed_ms, started_ms, ended_ms, "
    "exit_code, log_size)",
    columns="i, 1, i, 'bench', 'boot', 1, 1, :from_ms + i * :step, :from_ms + i * :step + 5, "
    ":from_ms + i * :step + 900, 0, CASE WHEN i > :runs - :logs THEN :log_size ELSE 0 END",
)
OCCURRENCES = OLD.format(
    table="occurrences (job_id, key, from_ms, to_ms, count, run_id, at_ms)",
    columns=":first_job + i % :jobs, 's:' || (:from_ms + i * :step), :from_ms + i * :step, :from_ms + i * :step, 1, i, "
    ":from_ms + i * :step",
)


async def jobs(path: Path, now_ms: int) -> int:
    """The jobs of the old runs, which are due once a year; the id of the first."""
    store = SqliteStore(path)
    await store.open()
    specs = [
        JobSpec(
            name=f"old-{number:05}",
            schedule=ScheduleSpec(timezone="UTC", cron="0 0 1 1 *", words="every year"),
            execution=Execution(command=["true"]),
            policies=Policies(),
        )
        for number in range(JOBS)
    ]
    made = await store.create_jobs(
        Caller(os.getuid(), "bench"), [(one, now_ms + 300 * DAY_MS) for one in specs], now_ms
    )
    await store.close()
    return made[0].id


def fill(state: Path, runs: int, logs: int) -> None:
    """A database with so many old runs: all but the ledger of the newest are over their time."""
    now_ms = int(time.time() * 1000)
    state.mkdir(parents=True, exist_ok=True, mode=0o700)
    first_job = asyncio.run(jobs(state / "jobctl.db", now_ms))
    facts = {
        "runs": runs,
        "logs": logs,
        "jobs": JOBS,
        "first_job": first_job,
        "from_ms": now_ms - 450 * DAY_MS,
        "step": 350 * DAY_MS // runs,
        "log_size": len(LOG),
    }
    connection = sqlite3.connect(state / "jobctl.db", isolation_level=None)
    connection.execute("PRAGMA synchronous = OFF")
    connection.execute("PRAGMA cache_size = -400000")
    connection.execute("BEGIN")
    for statement in (HISTORY, ATTEMPTS, OCCURRENCES):
        connection.execute(statement, facts)
    connection.execute("UPDATE sqlite_sequence SET seq = ? WHERE name = 'runs'", (runs,))
    if connection.execute("SELECT changes()").fetchone()[0] == 0:
        connection.execute("INSERT INTO sqlite_sequence (name, seq) VALUES ('runs', ?)", (runs,))
    connection.execute("COMMIT")
    connection.execute("PRAGMA wal_checkpoint(TRUNCATE)")
    connection.close()
    for run in range(runs - logs + 1, runs + 1):
        folder = state / "runs" / str(run // 1000)
        if run % 1000 == 0 or not folder.exists():
            folder.mkdir(parents=True, exist_ok=True, mode=0o700)
        (folder / f"{run}-{run}.log").write_bytes(LOG)


class Left:
    """What is still there, read beside the daemon."""

    def __init__(self, state: Path, last_run: int) -> None:
        self._connection = sqlite3.connect(f"file:{state / 'jobctl.db'}?mode=ro", uri=True, isolation_level=None)
        self._last_run = last_run
        self._runs = state / "runs"

    def rows(self) -> int:
        """Old runs, by the first and the last that are left: retention goes in the order of their ids."""
        first = self._connection.execute("SELECT min(id) FROM history WHERE id <= ?", (self._last_run,)).fetchone()[0]
        return 0 if first is None else self._last_run - first + 1

    def ledger(self, before_ms: int) -> bool:
        """Whether the ledger has a row that is over its time."""
        row = self._connection.execute("SELECT min(from_ms) FROM occurrences").fetchone()[0]
        return row is not None and row < before_ms

    def files(self) -> int:
        return sum(1 for _, _, names in os.walk(self._runs) for name in names)

    def close(self) -> None:
        self._connection.close()


def beside(rig: Rig, seconds: float, left: Left | None) -> dict[str, Any]:
    """Ten jobs each second until nothing old is left, or so long."""
    drafts = [
        {"name": f"tick-{n}", "schedule": {"every": 1}, "target": {"command": ["/bin/true"]}, "misfire": "all"}
        for n in range(10)
    ]
    began_s = time.time()
    rig.add(drafts)
    for _ in range(1_000):  # retention looks after so many runs
        rig.request("POST", "/v1/runs", {"target": {"command": ["/bin/true"]}})
    answers: list[float] = []
    began = time.perf_counter()
    while time.perf_counter() - began < seconds:
        before = time.perf_counter()
        rig.request("GET", "/v1/status")
        rig.request("GET", "/v1/runs?limit=100")
        answers.append((time.perf_counter() - before) * 1000)
        if left is not None and not left.rows() and not left.ledger(int((time.time() - 400 * 86_400) * 1000)):
            break
        time.sleep(0.1)
    took = time.perf_counter() - began
    lags: list[float] = []
    bad = 0
    for draft in drafts:
        runs = rig.request("GET", f"/v1/jobs/{draft['name']}/runs?limit=1000")[1]["items"]
        ended = [run for run in runs if run["state"] not in ("scheduled", "ready", "running")]
        bad += sum(run["state"] != "succeeded" for run in ended)
        lags += [_lag(run) for run in ended if run["started_at"]]
        rig.request("DELETE", f"/v1/jobs/{draft['name']}")
    return {"took": took, "lags": lags, "answers": answers, "bad": bad, "began_s": began_s}


def _lag(run: dict[str, Any]) -> float:
    from jobctl.reading.times import milliseconds

    return milliseconds(run["started_at"]) - milliseconds(run["due_at"])


def told(path: Path, after_s: float) -> dict[str, list[float]]:
    found: dict[str, list[float]] = {"commit": [0.0], "checkpoint": [0.0]}
    with contextlib.suppress(FileNotFoundError):
        for line in path.read_text().splitlines():
            name, at_s, took_ms = json.loads(line)
            if at_s >= after_s:
                found[name].append(took_ms)
    return found


def measure(name: str, state: Path | None, last_run: int, seconds: float) -> None:
    rig = Rig()
    times = rig.home / "times"
    rig.program = ["-c", MEASURED, str(times)]
    try:
        if state is not None:
            shutil.move(state, rig.home / "state")
        ready_s = rig.start()
        left = None if state is None else Left(rig.home / "state", last_run)
        found = beside(rig, seconds, left)
        spans = told(times, found["began_s"])
        lags, answers = found["lags"], found["answers"]
        print(f"{name}: ready after {ready_s:.2f} s; {found['took']:.0f} s, {len(lags)} runs, {found['bad']} not well")
        print(f"  longest transaction {max(spans['commit']):.0f} ms, checkpoint {max(spans['checkpoint']):.0f} ms")
        print(f"  start delay: median {statistics.median(lags):.0f}, p99 {quantile(lags, 0.99):.0f}, "
              f"most {max(lags):.0f} ms")  # fmt: skip
        print(f"  status and runs: median {statistics.median(answers):.0f}, most {max(answers):.0f} ms")
        if left is not None:
            size = (rig.home / "state" / "jobctl.db").stat().st_size / 1e6
            print(f"  left: {left.rows()} old runs, {left.files()} log files; the database has {size:.0f} MB")
            left.close()
    finally:
        rig.close()


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--runs", type=int, default=2_000_000)
    parser.add_argument("--logs", type=int, default=100_000)
    parser.add_argument("--seconds", type=float, default=1_800, help="how long at most")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="jobctl-bench-") as folder:
        state = Path(folder, "state")
        began = time.perf_counter()
        fill(state, options.runs, options.logs)
        print(f"{options.runs} runs and {options.logs} logs made in {time.perf_counter() - began:.0f} s")
        measure("nothing to remove", None, 0, 20)
        measure("retention", state, options.runs, options.seconds)


if __name__ == "__main__":
    main()
